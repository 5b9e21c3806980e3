package effecthttp

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/invocation"
	"writ/tools"
)

const testKey = "2f6c3d0e-6a55-8f7c-9d33-0f1b7a6f2c11"

// invocationUntil returns an invocation that may be sent until sendBy.
func invocationUntil(sendBy time.Time) tools.Invocation {
	return invocation.New(invocation.Fields{
		Tool: "payments.capture", Payload: []byte(`{}`), IdempotencyKey: testKey, Attempt: 1, SendBy: sendBy,
	})
}

func newInvocation() tools.Invocation { return invocationUntil(time.Now().Add(time.Minute)) }

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	client, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// counter counts the requests that a server received.
type counter struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (c *counter) add(r *http.Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	return len(c.requests)
}

func (c *counter) all() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// serve starts a server that counts its requests.
func serve(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *counter) {
	t.Helper()
	seen := new(counter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server, seen
}

func ok(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"id":"eff_1"}`))
}

var discardLog = log.New(io.Discard, "", 0)

func failureOf(t *testing.T, err error) *tools.Failure {
	t.Helper()
	var f *tools.Failure
	if !errors.As(err, &f) {
		t.Fatalf("the error is %v, not a failure", err)
	}
	return f
}

// wantFailure fails the test unless err says exactly this.
func wantFailure(t *testing.T, err error, outcome intent.Outcome, code string) *tools.Failure {
	t.Helper()
	f := failureOf(t, err)
	if f.Outcome != outcome || f.Code != code {
		t.Fatalf("the failure is %s (%s): %v, want %s (%s)", f.Outcome, f.Code, f.Err, outcome, code)
	}
	wantRow(t, f)
	return f
}

var post = Request{Path: "/v1/payments/capture", Body: []byte(`{"payment_id":"pay_1"}`)}

func do(t *testing.T, c *Client, inv tools.Invocation) (Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.Do(ctx, inv, post)
}
