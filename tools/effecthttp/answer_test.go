package effecthttp

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"writ/intent"
	"writ/tools"
)

func TestEachStatusSaysWhatIsKnownOfTheEffect(t *testing.T) {
	t.Parallel()
	const inUse = `{"error":{"code":"idempotency_key_in_use","message":"wait"}}`
	for _, c := range []struct {
		name   string
		status int
		body   string
		header string // Retry-After
		want   tools.Failure
	}{
		{name: "bad request", status: 400, body: `{"error":{"code":"amount_too_large","message":"x"}}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "amount_too_large", Final: true}},
		{name: "no body", status: 401, want: tools.Failure{Outcome: intent.NotApplied, Code: "http_401", Final: true}},
		{name: "a page", status: 404, body: `<html>`, want: tools.Failure{Outcome: intent.NotApplied, Code: "http_404", Final: true}},
		{name: "a code that is not plain", status: 402, body: `{"error":{"code":"Card <declined>","message":"x"}}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "http_402", Final: true}},
		{name: "a code that is too long", status: 402, body: `{"error":{"code":"` + strings.Repeat("a", 65) + `"}}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "http_402", Final: true}},
		{name: "another form of error", status: 400, body: `{"error":"no"}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "http_400", Final: true}},
		{name: "request timeout", status: 408, want: tools.Failure{Outcome: intent.NotApplied, Code: "http_408"}},
		{name: "too early", status: 425, want: tools.Failure{Outcome: intent.NotApplied, Code: "http_425"}},
		{name: "rate limit", status: 429, header: "7", body: `{"error":{"code":"rate_limited","message":"x"}}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "rate_limited", RetryAfter: 7 * time.Second}},
		{name: "rate limit with a date", status: 429, header: "Mon, 02 Mar 2026 09:30:30 GMT",
			want: tools.Failure{Outcome: intent.NotApplied, Code: "http_429", RetryAfter: 30 * time.Second}},
		{name: "rate limit with a date that passed", status: 429, header: "Mon, 02 Mar 2026 09:29:30 GMT",
			want: tools.Failure{Outcome: intent.NotApplied, Code: "http_429"}},
		{name: "rate limit for longer than a year", status: 429, header: "9223372036854775807",
			want: tools.Failure{Outcome: intent.NotApplied, Code: "http_429", RetryAfter: 365 * 24 * time.Hour}},
		{name: "rate limit with nonsense", status: 429, header: "soon", want: tools.Failure{Outcome: intent.NotApplied, Code: "http_429"}},
		{name: "in progress", status: 409, body: inUse,
			want: tools.Failure{Outcome: intent.NotApplied, Code: CodeKeyInUse, InProgress: true, RetryAfter: time.Second}},
		{name: "in progress for longer", status: 409, body: inUse, header: "3",
			want: tools.Failure{Outcome: intent.NotApplied, Code: CodeKeyInUse, InProgress: true, RetryAfter: 3 * time.Second}},
		{name: "another conflict", status: 409, body: `{"error":{"code":"already_captured"}}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "already_captured", Final: true}},
		{name: "key reused", status: 422, body: `{"error":{"code":"idempotency_key_reused"}}`,
			want: tools.Failure{Outcome: intent.NotApplied, Code: "idempotency_key_reused", Final: true}},
		{name: "server error", status: 500, body: `{"error":{"code":"nothing_happened"}}`,
			want: tools.Failure{Outcome: intent.Unknown, Code: "http_500"}},
		{name: "not implemented", status: 501, want: tools.Failure{Outcome: intent.Unknown, Code: "http_501"}},
		{name: "unavailable", status: 503, header: "2",
			want: tools.Failure{Outcome: intent.Unknown, Code: "http_503", RetryAfter: 2 * time.Second}},
		{name: "gateway timeout", status: 504, want: tools.Failure{Outcome: intent.Unknown, Code: "http_504"}},
		{name: "not modified", status: 304, want: tools.Failure{Outcome: intent.Unknown, Code: "redirected"}},
		{name: "a status from elsewhere", status: 799, want: tools.Failure{Outcome: intent.Unknown, Code: "http_799"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, seen := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			client := newClient(t, Config{BaseURL: server.URL})
			client.now = func() time.Time { return time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC) }
			_, err := do(t, client, newInvocation())
			got := *failureOf(t, err)
			got.Err = nil
			if got != c.want {
				t.Errorf("the failure is %+v, want %+v", got, c.want)
			}
			if len(seen.all()) != 1 {
				t.Errorf("the server received %d requests", len(seen.all()))
			}
		})
	}
}

func TestAnAnswerThatSwitchesProtocolsLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		<-over
	})
	defer close(over)
	_, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation())
	wantFailure(t, err, intent.Unknown, "http_101")
}

func TestAProvidersMessageIsRepeatedInPart(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = io.WriteString(w, `{"error":{"code":"card_declined","message":"`+strings.Repeat("é", 300)+`"}}`)
	})
	_, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation())
	text := failureOf(t, err).Err.Error()
	if text != "402 Payment Required: "+strings.Repeat("é", 250) {
		t.Errorf("the text is %q", text)
	}
}

func TestARequestCarriesItsKeyItsTraceAndItsBodyByteForByte(t *testing.T) {
	t.Parallel()
	var body string
	server, seen := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(raw)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"eff_1"}`)
	})
	traced := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	client := newClient(t, Config{BaseURL: server.URL + "/base/", Header: http.Header{"authorization": {"Bearer secret"}}})
	resp, err := client.Do(traced, newInvocation(), Request{Method: http.MethodPut, Path: "/v1/x?y=1", Body: []byte(`{"a":"<&>"}`)})
	if err != nil {
		t.Fatal(err)
	}
	r := seen.all()[0]
	for name, want := range map[string]string{
		"Idempotency-Key": testKey,
		"Content-Type":    "application/json",
		"User-Agent":      "writ",
		"Authorization":   "Bearer secret",
		"Traceparent":     "00-01000000000000000000000000000000-0200000000000000-01",
	} {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPut || r.URL.String() != "/base/v1/x?y=1" || body != `{"a":"<&>"}` {
		t.Errorf("the request is %s %s %s", r.Method, r.URL, body)
	}
	result, err := resp.Result()
	if err != nil || resp.Status != http.StatusCreated || result.MediaType != "application/json" || string(result.Body) != `{"id":"eff_1"}` {
		t.Errorf("the answer is %d %+v, %v", resp.Status, result, err)
	}
}

func TestTheKeysHeaderCanBeNamedOrLeftOut(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	for _, header := range []string{"X-Request-Key", NoKey} {
		if _, err := client.Do(t.Context(), newInvocation(), Request{Path: "/", KeyHeader: header, ContentType: "text/plain"}); err != nil {
			t.Fatal(err)
		}
	}
	named, without := seen.all()[0].Header, seen.all()[1].Header
	if named.Get("X-Request-Key") != testKey || named.Get(DefaultKeyHeader) != "" || named.Get("Content-Type") != "text/plain" {
		t.Errorf("the headers are %v", named)
	}
	for name, values := range without {
		if values[0] == testKey {
			t.Errorf("%s carries the key", name)
		}
	}
}

func TestASuccessThatBreaksOffIsStillASuccess(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"id":`)
	})
	resp, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation())
	if err != nil {
		t.Fatal(err)
	}
	result, _ := resp.Result()
	if !resp.Truncated || !result.Broken || result.MediaType != "application/octet-stream" || string(result.Body) != `{"id":` {
		t.Errorf("the answer is %+v", resp)
	}
}

func TestALongAnswerIsCut(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, zeros{}, MaxBody+1)
	})
	resp, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation())
	if err != nil || len(resp.Body) != MaxBody || !resp.Truncated {
		t.Errorf("%d bytes, truncated %v, %v", len(resp.Body), resp.Truncated, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAResultIsWhatItSaysItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", `{}`, "application/json"},
		{"application/json; charset=utf-8", `{}`, "application/json; charset=utf-8"},
		{"application/json", `{`, "application/octet-stream"},
		{"application/problem+json", ``, "application/octet-stream"},
		{"text/plain", `{`, "text/plain"},
		{"", `{}`, "application/octet-stream"},
		{"/", `{}`, "application/octet-stream"},
	} {
		r := Response{Header: http.Header{"Content-Type": {c.contentType}}, Body: []byte(c.body)}
		if got, _ := r.Result(); got.MediaType != c.want {
			t.Errorf("%q with %q is kept as %q, want %q", c.contentType, c.body, got.MediaType, c.want)
		}
	}
}

func TestAClientOrRequestThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"", "127.0.0.1:80", "ftp://provider", "http://", "http://provider?x=1", "http://provider#x", "http://[", "/v1", "http://provider?",
		"http://me:secret@provider", "http://secret@provider", "http://me:secret@provider:x", "http://me:secret/1@provider",
		"http://me:secret%zz@provider", "http://me:%secret@provider", "http://me:secret @provider", "http:/me:secret@provider",
		"me:secret@provider", "ftp://secret@provider", "http://provider?key=secret", "http://provider#secret", "http://[secret",
	} {
		if _, err := New(Config{BaseURL: base}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	//lint:ignore SA1019 it must be refused
	deprecated := &http.Transport{Dial: new(net.Dialer).Dial}
	if _, err := New(Config{BaseURL: "http://provider", Transport: deprecated}); err == nil {
		t.Error("a transport with Dial is taken")
	}
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	for _, req := range []Request{{Path: "v1"}, {Path: ""}, {Path: "/%zz"}, {Path: "/", Method: "NOT A METHOD"}} {
		_, err := client.Do(t.Context(), newInvocation(), req)
		if f := wantFailure(t, err, intent.NotApplied, "invalid_request"); !f.Final {
			t.Errorf("%+v: trying again cannot help", req)
		}
	}
	if n := len(seen.all()); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
}
