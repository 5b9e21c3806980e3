package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/sandbox"
)

const (
	capture  = "/v1/payments/capture"
	refund   = "/v1/payments/refund"
	deletion = "/v1/documents/delete"
	notify   = "/v1/notifications/send"

	goodCapture = `{"payment_id":"pay_1","amount":"125.00","currency":"EUR","note":"<a & b>"}`

	// patience bounds what a healthy provider does in milliseconds.
	patience = 20 * time.Second
)

// provider is a running provider with a ledger of its own.
type provider struct {
	*sandbox.Client
	t      *testing.T
	server *sandbox.Server
	url    string
	ledger string
	log    *bytes.Buffer
}

func startProvider(t *testing.T) *provider {
	t.Helper()
	return startProviderOn(t, filepath.Join(t.TempDir(), "ledger.jsonl"))
}

func startProviderOn(t *testing.T, ledger string) *provider {
	t.Helper()
	log := new(bytes.Buffer)
	server, err := sandbox.New(sandbox.Config{LedgerPath: ledger, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	p := serveProvider(t, server)
	p.ledger, p.log = ledger, log
	return p
}

// serveProvider serves a provider that a test has made.
func serveProvider(t *testing.T, server *sandbox.Server) *provider {
	t.Helper()
	front := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		front.Close()
	})
	return &provider{Client: sandbox.NewClient(front.URL), t: t, server: server, url: front.URL}
}

// reply is an answer as the client got it.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // set if there was no answer
}

func (r reply) code() string {
	var body struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal([]byte(r.body), &body) != nil || body.Error.Message == "" {
		return ""
	}
	return body.Error.Code
}

func (r reply) replayed() bool { return r.header.Get("Idempotent-Replayed") == "true" }

// oneShot opens a connection for each request. On a reused one net/http sends a request with an Idempotency-Key again by
// itself when the connection breaks, and the test would not see the break.
var oneShot = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (p *provider) sendContext(ctx context.Context, endpoint, key, body string, header ...string) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+endpoint, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return reply{err: err}
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := oneShot.Do(req)
	if err != nil {
		return reply{err: err}
	}
	return readReply(resp)
}

func readReply(resp *http.Response) reply {
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(answer), err: err}
}

func (p *provider) send(endpoint, key, body string, header ...string) reply {
	p.t.Helper()
	return p.sendContext(p.t.Context(), endpoint, key, body, header...)
}

// sendAside sends in the background.
func (p *provider) sendAside(ctx context.Context, endpoint, key, body string, header ...string) <-chan reply {
	got := make(chan reply, 1)
	go func() { got <- p.sendContext(ctx, endpoint, key, body, header...) }()
	return got
}

// books returns the ledger.
func (p *provider) books() []sandbox.Entry {
	p.t.Helper()
	entries, err := p.Ledger(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return entries
}

// wantEffects fails the test unless the books have n effects in all.
func (p *provider) wantEffects(n int) {
	p.t.Helper()
	if got := p.books(); len(got) != n {
		p.t.Fatalf("the ledger has %d effects, want %d: %+v", len(got), n, got)
	}
}

func (p *provider) fault(f sandbox.Fault) sandbox.Fault {
	p.t.Helper()
	added, err := p.AddFault(p.t.Context(), f)
	if err != nil {
		p.t.Fatal(err)
	}
	return added
}

// await waits until a request with the key has reached the state.
func (p *provider) await(key, state string) sandbox.Request {
	p.t.Helper()
	found, err := p.AwaitRequests(p.t.Context(), sandbox.RequestFilter{Key: key, State: state}, 1, patience)
	if err != nil {
		p.t.Fatalf("waiting for a request with key %q to be %s: %v", key, state, err)
	}
	return found[0]
}

func want(t *testing.T, got reply, status int, code string) {
	t.Helper()
	if got.err != nil || got.status != status || got.code() != code {
		t.Fatalf("answer is %d %q (%s, error %v), want %d %q", got.status, got.code(), got.body, got.err, status, code)
	}
}

func wantNoAnswer(t *testing.T, got reply) {
	t.Helper()
	if got.err == nil {
		t.Fatalf("got the answer %d %s, want a broken connection", got.status, got.body)
	}
}
