package effecthttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"writ/intent"
)

// clock is a clock that the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newTestPermit() *permit {
	c := &clock{at: time.Now()}
	return &permit{sendBy: c.now(), now: c.now, body: newCountedBody(nil)}
}

func TestNothingIsSentAfterTheTimeToSendBy(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	for name, sendBy := range map[string]time.Time{"just passed": time.Now(), "never given": {}} {
		f := wantFailure(t, errorOf(do(t, client, invocationUntil(sendBy))), intent.NotApplied, codeNotSent)
		if f.Final {
			t.Errorf("%s: a later attempt may well be in time", name)
		}
	}
	if n := len(seen.all()); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
}

func errorOf(_ Response, err error) error { return err }

func TestTheTimeSpentConnectingCounts(t *testing.T) {
	t.Parallel()
	plain, seen := serve(t, ok)
	tlsServer := httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(tlsServer.Close)
	for name, server := range map[string]*httptest.Server{"http": plain, "https": tlsServer} {
		t.Run(name, func(t *testing.T) {
			at := &clock{at: time.Now()}
			transport := &http.Transport{TLSClientConfig: trust(server)}
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				at.advance(2 * time.Minute)
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			client := newClient(t, Config{BaseURL: server.URL, Transport: transport})
			client.now = at.now
			_, err := do(t, client, invocationUntil(at.now().Add(time.Minute)))
			f := wantFailure(t, err, intent.NotApplied, codeNotSent)
			if !errors.Is(f, errTooLate) {
				t.Errorf("the reason is %v", f.Err)
			}
			if n := len(seen.all()); n != 0 {
				t.Errorf("the server received %d requests", n)
			}
		})
	}
}

func TestAContextThatEndsBeforeTheFirstByteMeansNotSent(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		cancel()
		return nil, context.Canceled
	}}
	_, err := newClient(t, Config{BaseURL: server.URL, Transport: transport}).Do(ctx, newInvocation(), post)
	wantFailure(t, err, intent.NotApplied, codeNotSent)
	if n := len(seen.all()); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
}

func TestAContextThatEndsWhenTheConnectionIsThereIsJudgedByWhatWasWritten(t *testing.T) {
	t.Parallel()
	// Whether the transport still writes is a race inside it; what is said must fit either way.
	for range 50 {
		server, seen := serve(t, ok)
		ctx, cancel := context.WithCancel(t.Context())
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { cancel() }})
		_, err := newClient(t, Config{BaseURL: server.URL}).Do(ctx, newInvocation(), Request{Path: "/", KeyHeader: NoKey})
		server.Close() // waits for requests under way
		if err != nil && failureOf(t, err).Outcome == intent.NotApplied && len(seen.all()) != 0 {
			t.Fatalf("%v, but the server received the request", err)
		}
	}
}

func TestAProviderThatDoesNotAnswerInTimeLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	server, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does net/http notice that the client is gone
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := newClient(t, Config{BaseURL: server.URL}).Do(ctx, newInvocation(), post)
	<-arrived
	wantFailure(t, err, intent.Unknown, codeTimeout)
}

func TestWithoutAConnectionNothingWasSent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close()
	_, err = do(t, newClient(t, Config{BaseURL: closed}), newInvocation())
	if wantFailure(t, err, intent.NotApplied, codeConnectionRefused).Final {
		t.Error("the provider may come back")
	}

	failing := func(err error) *http.Transport {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
	}
	_, err = do(t, newClient(t, Config{BaseURL: closed, Transport: failing(&net.DNSError{Err: "no such host", IsNotFound: true})}), newInvocation())
	wantFailure(t, err, intent.NotApplied, codeNameNotFound)
	_, err = do(t, newClient(t, Config{BaseURL: closed, Transport: failing(errors.New("no route to host"))}), newInvocation())
	wantFailure(t, err, intent.NotApplied, codeConnectionFailed)
}

func TestACertificateThatIsNotTrustedMeansNotSent(t *testing.T) {
	t.Parallel()
	seen := new(counter)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.add(r) }))
	server.Config.ErrorLog = discardLog
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation())
	wantFailure(t, err, intent.NotApplied, codeTLSFailed)
	if n := len(seen.all()); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
}

func TestHTTP2IsNotSpokenEvenWhenItIsOffered(t *testing.T) {
	t.Parallel()
	seen := new(counter)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r)
		ok(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	eager := &http.Transport{TLSClientConfig: trust(server), ForceAttemptHTTP2: true}
	dialing := &http.Transport{DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&tls.Dialer{Config: trust(server)}).DialContext(ctx, network, address)
	}}
	for name, transport := range map[string]*http.Transport{"the transport dials TLS": eager, "the host dials TLS": dialing} {
		if _, err := do(t, newClient(t, Config{BaseURL: server.URL, Transport: transport}), newInvocation()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range seen.all() {
		if r.ProtoMajor != 1 {
			t.Errorf("the request came over %s", r.Proto)
		}
	}
}

// trust is a TLS configuration that trusts the test server.
func trust(server *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	if certificate := server.Certificate(); certificate != nil {
		pool.AddCert(certificate)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
