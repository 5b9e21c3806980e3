package effecthttp

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"writ/intent"
	"writ/internal/invocation"
	"writ/tools"
)

func inquiryUntil(deadline time.Time) tools.Inquiry {
	return invocation.NewInquiry(invocation.Question{Tool: "transfers.create", Payload: []byte(`{}`), IdempotencyKey: testKey, Deadline: deadline})
}

func newInquiry() tools.Inquiry { return inquiryUntil(time.Now().Add(20 * time.Second)) }

func TestALookupAsksOnceWithoutAKeyOrABody(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, refusing(http.StatusOK, `[{"id":"eff_1"}]`, "Content-Type", "application/json"))
	traced := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	client := newClient(t, Config{BaseURL: server.URL + "/base", Header: http.Header{"authorization": {"Bearer secret"}}})
	answer, err := client.Lookup(traced, newInquiry(), "/v1/transfers?reference="+testKey)
	if err != nil || string(answer.Body) != `[{"id":"eff_1"}]` || answer.Status != http.StatusOK || answer.Truncated {
		t.Fatalf("the answer is %+v, %v", answer, err)
	}
	r := seen.all()[0]
	if len(seen.all()) != 1 || r.Method != http.MethodGet || r.URL.String() != "/base/v1/transfers?reference="+testKey || r.ContentLength != 0 {
		t.Errorf("the request is %s %s with %d bytes, of %d", r.Method, r.URL, r.ContentLength, len(seen.all()))
	}
	if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("User-Agent") != "writ" ||
		r.Header.Get("Traceparent") != "00-01000000000000000000000000000000-0200000000000000-01" || r.Header.Get(DefaultKeyHeader) != "" {
		t.Errorf("the headers are %v", r.Header)
	}
}

func TestAnAnswerThatIsNoSuccessLeavesALookupUnclear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   string
	}{
		{"nothing under the key", 404, `{"error":{"code":"effect_not_found","message":"none"}}`, "effect_not_found"},
		{"a wrong path", 404, `<html>`, "http_404"},
		{"no right to ask", 401, ``, "http_401"},
		{"too many", 429, `{"error":{"code":"rate_limited"}}`, "rate_limited"},
		{"a failing provider", 500, `{"error":{"code":"effect_not_found"}}`, "http_500"},
		{"a gateway", 504, ``, "http_504"},
		{"a redirect", 302, ``, "redirected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, seen := serve(t, refusing(c.status, c.body, "Retry-After", "7", "Location", "/elsewhere"))
			_, err := newClient(t, Config{BaseURL: server.URL}).Lookup(t.Context(), newInquiry(), "/v1/effects")
			f := failureOf(t, err)
			if f.Outcome != intent.Unknown || f.Code != c.code || f.RetryAfter != 7*time.Second {
				t.Errorf("the failure is %+v", f)
			}
			if len(seen.all()) != 1 {
				t.Errorf("the server received %d requests", len(seen.all()))
			}
		})
	}
}

func TestAnAnswerThatIsNotWholeSaysNothingOfTheEffect(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"it breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `[`)
		},
		"it is too long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, zeros{}, MaxBody+1)
		},
	} {
		server, _ := serve(t, handler)
		_, err := newClient(t, Config{BaseURL: server.URL}).Lookup(t.Context(), newInquiry(), "/")
		if f := failureOf(t, err); f.Outcome != intent.Unknown || f.Code != codePartialAnswer {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestALookupWithoutAnAnswerSaysWhy(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close()
	silent, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	dropping, _ := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, c := range []struct {
		base, path, code string
		deadline         time.Duration
	}{
		{closed, "/", codeConnectionRefused, time.Minute},
		{silent.URL, "/", codeTimeout, 100 * time.Millisecond},
		{dropping.URL, "/", codeConnectionLost, time.Minute},
		{dropping.URL, "v1", codeInvalidRequest, time.Minute},
		{dropping.URL, "/%zz", codeInvalidRequest, time.Minute},
	} {
		_, err := newClient(t, Config{BaseURL: c.base}).Lookup(t.Context(), inquiryUntil(time.Now().Add(c.deadline)), c.path)
		if f := failureOf(t, err); f.Outcome != intent.Unknown || f.Code != c.code {
			t.Errorf("%s: %+v, want %s", c.path, f, c.code)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = newClient(t, Config{BaseURL: silent.URL}).Lookup(ctx, inquiryUntil(time.Time{}), "/")
	if f := failureOf(t, err); f.Outcome != intent.Unknown || strings.Contains(f.Code, "not_sent") {
		t.Errorf("a lookup that nobody waits for: %+v", f)
	}
}

func TestALookupDoesNotRideOnAConnectionOfAnEffect(t *testing.T) {
	t.Parallel()
	server := startRudeServer(t) // it closes a connection under its second request
	client := newClient(t, Config{BaseURL: server.url()})
	t.Cleanup(client.via.reusing.CloseIdleConnections)
	t.Cleanup(client.via.asking.CloseIdleConnections)
	if _, err := client.Do(t.Context(), newInvocation(), post); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Lookup(t.Context(), newInquiry(), "/"); err != nil {
		t.Errorf("the lookup was lost with the connection: %v", err)
	}
}
