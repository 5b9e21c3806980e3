package effecthttp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/invocation"
)

// rudeServer answers the first request on each connection, keeps the connection alive, and
// closes it as soon as it has read the second: the race that a keep-alive timeout causes.
type rudeServer struct {
	net.Listener
	mu       sync.Mutex
	received int
}

func startRudeServer(t *testing.T) *rudeServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rudeServer{Listener: listener}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return s
}

func (s *rudeServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 1; n <= 2; n++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.received++
		s.mu.Unlock()
		if n == 1 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	}
}

func (s *rudeServer) url() string { return "http://" + s.Addr().String() }

func (s *rudeServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

func TestAConnectionThatBreaksUnderARequestDoesNotSendItAgain(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{"with a body": []byte(`{"a":1}`), "without a body": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startRudeServer(t)
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			client := newClient(t, Config{BaseURL: server.url(), Transport: transport})
			t.Cleanup(client.via.reusing.CloseIdleConnections)
			req := Request{Path: "/", Body: body}
			if _, err := client.Do(t.Context(), newInvocation(), req); err != nil {
				t.Fatal(err)
			}
			_, err := client.Do(t.Context(), newInvocation(), req)
			wantFailure(t, err, intent.Unknown, codeConnectionLost)
			if n := server.count(); n != 2 {
				t.Errorf("two effects arrived as %d requests", n)
			}
		})
	}
}

// The control of the test above: it would notice a transport that sends again.
func TestGosOwnClientWouldHaveSentItAgain(t *testing.T) {
	t.Parallel()
	server := startRudeServer(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	for range 2 {
		req, err := http.NewRequest(http.MethodPost, server.url(), bytes.NewReader([]byte(`{"a":1}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(DefaultKeyHeader, testKey)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := server.count(); n != 3 {
		t.Errorf("two effects arrived as %d requests, expected the second one twice", n)
	}
}

func TestARequestWithoutAKeyNeverRidesOnAnOldConnection(t *testing.T) {
	t.Parallel()
	server := startRudeServer(t)
	client := newClient(t, Config{BaseURL: server.url()})
	for range 5 { // on a kept connection the second would be lost
		if _, err := client.Do(t.Context(), newInvocation(), Request{Path: "/", Body: []byte(`{}`), KeyHeader: NoKey}); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.count(); n != 5 {
		t.Errorf("five effects arrived as %d requests", n)
	}
}

func TestAReferenceCarriesTheKeyAndNeedsOne(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	req := Request{Path: "/", KeyHeader: NoKey, ReferenceHeader: "Client-Reference"}
	if _, err := client.Do(t.Context(), newInvocation(), req); err != nil {
		t.Fatal(err)
	}
	sent := seen.all()[0]
	if sent.Header.Get("Client-Reference") != testKey || sent.Header.Get(DefaultKeyHeader) != "" || !sent.Close {
		t.Errorf("the headers are %v, on a connection of its own: %v", sent.Header, sent.Close)
	}
	keyless := invocation.New(invocation.Fields{SendBy: time.Now().Add(time.Minute)})
	_, err := client.Do(t.Context(), keyless, req)
	wantFailure(t, err, intent.NotApplied, codeInvalidRequest)
	if n := len(seen.all()); n != 1 {
		t.Errorf("the server received %d requests", n)
	}
}

func TestManyRequestsAtOnceArriveAtMostOnceEach(t *testing.T) {
	t.Parallel()
	server := startRudeServer(t)
	client := newClient(t, Config{BaseURL: server.url()})
	t.Cleanup(client.via.reusing.CloseIdleConnections)
	const senders, each = 8, 25
	var mu sync.Mutex
	answered := 0
	var running sync.WaitGroup
	for range senders {
		running.Go(func() {
			for range each {
				_, err := client.Do(t.Context(), newInvocation(), post)
				mu.Lock()
				if err == nil {
					answered++
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if n := server.count(); n > senders*each || n < answered || answered == 0 {
		t.Errorf("%d effects, %d of them answered, arrived as %d requests", senders*each, answered, n)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	} {
		for _, req := range []Request{post, {Path: "/", Method: http.MethodDelete}, {Path: "/", Method: http.MethodPut, Body: []byte(`{}`), KeyHeader: NoKey}} {
			server, seen := serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", status)
			})
			_, err := newClient(t, Config{BaseURL: server.URL}).Do(t.Context(), newInvocation(), req)
			wantFailure(t, err, intent.Unknown, "redirected")
			if len(seen.all()) != 1 {
				t.Errorf("%d to %s: the server received %d requests", status, req.Method, len(seen.all()))
			}
		}
	}
}

func TestAWithdrawnPermitRefusesALateWriter(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	dial := gated(func(context.Context, string, string) (net.Conn, error) { return ours, nil })
	conn, err := dial(t.Context(), "tcp", "provider:80")
	if err != nil {
		t.Fatal(err)
	}
	p := newTestPermit()
	conn.(*gatedConn).setPermit(p)
	if p.withdraw() {
		t.Error("an unused permit says that the request may have been sent")
	}
	if _, err := conn.Write([]byte("POST")); err != errWithdrawn {
		t.Errorf("a late write ends with %v", err)
	}
}

func TestAPermitIsGoodForOneConnection(t *testing.T) {
	t.Parallel()
	p := newTestPermit()
	first, second := new(gatedConn), new(gatedConn)
	for _, step := range []struct {
		conn *gatedConn
		want error
	}{{first, nil}, {first, nil}, {second, errSecondSend}, {first, nil}} {
		if err := p.allow(step.conn); err != step.want {
			t.Errorf("allow says %v, want %v", err, step.want)
		}
	}
	if !p.withdraw() {
		t.Error("a used permit says that nothing was sent")
	}
}
