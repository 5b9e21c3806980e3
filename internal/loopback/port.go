package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Free ports are taken from below the range that Linux gives to outgoing
// connections (32768 and up), so that no client of a neighbour can hold the
// port by chance between the choice and the bind. They also fit the signed
// 16-bit columns in which Temporal keeps its members' ports.
const (
	firstFreePort = 20000
	lastFreePort  = 32000
)

// PortError reports a port that another process already listens on.
type PortError struct {
	Port int // the port on 127.0.0.1
	Err  error
}

func (e *PortError) Error() string {
	return fmt.Sprintf("port %d on 127.0.0.1 is taken by another process", e.Port)
}

func (e *PortError) Unwrap() error { return e.Err }

// Code returns "port_in_use".
func (e *PortError) Code() string { return "port_in_use" }

// Address returns "127.0.0.1:port".
func Address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// Claim reports whether port can be listened on at this moment. The error is a
// [*PortError] when another process has it, and the system's own error when
// the port cannot be had for another reason (a privileged port, for example).
func Claim(port int) error {
	listener, err := net.Listen("tcp4", Address(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return &PortError{Port: port, Err: err}
	}
	if err != nil {
		return fmt.Errorf("listen on port %d: %w", port, err)
	}
	return listener.Close()
}

// FreePort returns a port between 20000 and 32000 that nothing listens on at
// this moment.
func FreePort() (int, error) {
	const tries = 200
	var last error
	for range tries {
		port := firstFreePort + rand.IntN(lastFreePort-firstFreePort)
		if last = Claim(port); last == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 after %d tries: %w", tries, last)
}
