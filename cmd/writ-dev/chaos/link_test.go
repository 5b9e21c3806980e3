package chaos

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// startEcho returns the address of a server that sends back what it is sent.
func startEcho(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = io.Copy(connection, connection)
			}()
		}
	}()
	return listener.Addr().String()
}

// exchange sends a few bytes and waits for them.
func exchange(connection net.Conn) error {
	const sent = "are you there"
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, sent); err != nil {
		return err
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(connection, got); err != nil {
		return err
	}
	if string(got) != sent {
		return errors.New("other bytes came back: " + string(got))
	}
	return nil
}

// ask makes a connection of its own.
func ask(address string) error {
	connection, err := net.Dial("tcp4", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	return exchange(connection)
}

// openEcho puts a link before an echo and returns it with a connection through it.
func openEcho(t *testing.T) (*link, net.Conn) {
	t.Helper()
	l, err := openLink("echo", startEcho(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.close(t.Context()) })
	connection, err := net.Dial("tcp4", l.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	if err := exchange(connection); err != nil {
		t.Fatal(err)
	}
	return l, connection
}

func TestALinkThatIsCutLosesItsConnectionsAndComesBackAtTheSameAddress(t *testing.T) {
	t.Parallel()
	l, connection := openEcho(t)
	if err := l.cut(t.Context(), time.Millisecond, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := exchange(connection); err == nil {
		t.Error("the connection outlived the cut")
	}
	if err := ask(l.address()); err != nil {
		t.Errorf("the link did not come back: %v", err)
	}
}

func TestALinkResetsOnlyForAsLongAsItWasTold(t *testing.T) {
	t.Parallel()
	l, _ := openEcho(t)
	resetting := make(chan error, 1)
	go func() { resetting <- l.reset(t.Context(), 500*time.Millisecond, func() {}) }()
	wasReset := false
	for going := true; going; {
		select {
		case err := <-resetting:
			if err != nil {
				t.Fatal(err)
			}
			going = false
		default:
			wasReset = wasReset || ask(l.address()) != nil
		}
	}
	if !wasReset {
		t.Error("no connection was reset")
	}
	if err := ask(l.address()); err != nil {
		t.Errorf("the link still resets: %v", err)
	}
}

func TestASlowLinkDelaysAndIsQuickAgain(t *testing.T) {
	t.Parallel()
	l, connection := openEcho(t)
	const latency = 400 * time.Millisecond
	slowing := make(chan error, 1)
	go func() { slowing <- l.slow(t.Context(), 2*time.Second, latency, func() {}) }()
	slowest := time.Duration(0)
	for going := true; going; {
		select {
		case err := <-slowing:
			if err != nil {
				t.Fatal(err)
			}
			going = false
		default:
			began := time.Now()
			if err := exchange(connection); err != nil {
				t.Fatal(err)
			}
			slowest = max(slowest, time.Since(began))
		}
	}
	if slowest < latency/2 {
		t.Errorf("the slowest exchange took %s, want about %s", slowest, latency)
	}
	if err := exchange(connection); err != nil {
		t.Error(err)
	}
}
