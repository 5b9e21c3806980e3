package loopback

import (
	"errors"
	"net"
	"testing"
)

func TestAPortThatSomebodyListensOnIsReportedAsInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port

	var busy *PortError
	if err := Claim(taken); !errors.As(err, &busy) || busy.Port != taken || busy.Code() != "port_in_use" {
		t.Fatalf("Claim(%d) = %v, want a port_in_use error that names the port", taken, err)
	}
}

func TestAFreePortCanBeListenedOnAndFitsTemporalsColumn(t *testing.T) {
	t.Parallel()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if port <= 0 || port > 32767 {
		t.Fatalf("FreePort() = %d, outside a signed 16-bit column", port)
	}
	listener, err := net.Listen("tcp4", Address(port))
	if err != nil {
		t.Fatalf("listen on the free port: %v", err)
	}
	listener.Close()
}
