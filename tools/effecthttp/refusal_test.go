package effecthttp

import (
	"io"
	"net/http"
	"testing"
	"time"

	"writ/intent"
	"writ/tools"
)

// refusing answers everything with one refusal.
func refusing(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestARequestSaysWhichRefusalsMeanThatItIsTheCaseAlready(t *testing.T) {
	t.Parallel()
	captured := `{"error":{"code":"already_captured"}}`
	for _, c := range []struct {
		name    string
		status  int
		body    string
		already []string
		want    tools.Failure
	}{
		{"by its code", 409, captured, []string{"x", "already_captured"},
			tools.Failure{Outcome: intent.NotApplied, Code: "already_captured", Final: true, Already: true}},
		{"by its status, without a code", 410, ``, []string{"http_410"},
			tools.Failure{Outcome: intent.NotApplied, Code: "http_410", Final: true, Already: true}},
		{"by its status, with a code", 404, `{"error":{"code":"no_such_document"}}`, []string{"http_404"},
			tools.Failure{Outcome: intent.NotApplied, Code: "no_such_document", Final: true, Already: true}},
		{"by a code that it does not have", 404, ``, []string{"no_such_document"},
			tools.Failure{Outcome: intent.NotApplied, Code: "http_404", Final: true}},
		{"by nothing", 409, captured, nil, tools.Failure{Outcome: intent.NotApplied, Code: "already_captured", Final: true}},
		{"a refusal for now is none", 429, captured, []string{"already_captured", "http_429"},
			tools.Failure{Outcome: intent.NotApplied, Code: "already_captured"}},
		{"a server error is none", 500, captured, []string{"already_captured", "http_500"},
			tools.Failure{Outcome: intent.Unknown, Code: "http_500"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, _ := serve(t, refusing(c.status, c.body))
			_, err := newClient(t, Config{BaseURL: server.URL}).Do(t.Context(), newInvocation(), Request{Path: "/", Already: c.already})
			got := *failureOf(t, err)
			got.Err = nil
			if got != c.want {
				t.Errorf("the failure is %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestARequestSaysWhichConflictsMeanThatItIsInProgress(t *testing.T) {
	t.Parallel()
	const body = `{"error":{"code":"idempotency_request_in_progress"}}`
	req := Request{Path: "/", InProgress: []string{"idempotency_request_in_progress"}}
	conflict, _ := serve(t, refusing(http.StatusConflict, body))
	_, err := newClient(t, Config{BaseURL: conflict.URL}).Do(t.Context(), newInvocation(), req)
	if f := failureOf(t, err); f.Outcome != intent.NotApplied || !f.InProgress || f.Final || f.RetryAfter != time.Second || f.Code != req.InProgress[0] {
		t.Errorf("the failure is %+v", f)
	}
	other, _ := serve(t, refusing(http.StatusBadRequest, body))
	_, err = newClient(t, Config{BaseURL: other.URL}).Do(t.Context(), newInvocation(), req)
	if f := failureOf(t, err); f.InProgress || !f.Final {
		t.Errorf("another status is taken for a conflict: %+v", f)
	}
}

func TestAnAnswerThatTheProviderStoredIsMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		value   string
		outcome intent.Outcome
		stored  bool
	}{
		{402, "true", intent.NotApplied, true},
		{500, "true", intent.Unknown, true},
		{500, "false", intent.Unknown, false},
		{402, "", intent.NotApplied, false},
	} {
		server, _ := serve(t, refusing(c.status, "", "Idempotent-Replayed", c.value))
		_, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation())
		if f := failureOf(t, err); f.Stored != c.stored || f.Outcome != c.outcome {
			t.Errorf("%d with %q: %+v", c.status, c.value, f)
		}
	}
	server, _ := serve(t, refusing(http.StatusCreated, `{"id":"eff_1"}`, "Idempotent-Replayed", "true"))
	if _, err := do(t, newClient(t, Config{BaseURL: server.URL}), newInvocation()); err != nil {
		t.Errorf("a stored success is %v", err)
	}
}

func TestAnAnswerNamesItsEffectWhereTheRequestSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pointer, body, want string }{
		{"/id", `{"id":"eff_1"}`, "eff_1"},
		{"/data/0/id", `{"data":[{"id":"eff_2"}]}`, "eff_2"},
		{"/a~1b/m~0n", `{"a/b":{"m~n":"eff_3"}}`, "eff_3"},
		{"/", `{"":"eff_4"}`, "eff_4"},
		{"/id", `{"id":9007199254740993}`, "9007199254740993"},
		{"/id", `{"id":null}`, ""},
		{"/id", `{"id":{"id":"x"}}`, ""},
		{"/id", `{"id":true}`, ""},
		{"/data/1/id", `{"data":[{"id":"eff_2"}]}`, ""},
		{"/data/-1/id", `{"data":[{"id":"eff_2"}]}`, ""},
		{"/data/00/id", `{"data":[{"id":"eff_2"}]}`, ""},
		{"/data/+0/id", `{"data":[{"id":"eff_2"}]}`, ""},
		{"/id", `{"id":"eff_1"`, ""},
		{"/id", `{}`, ""},
		{"/id", ``, ""},
		{"", `{"id":"eff_1"}`, ""},
	} {
		server, _ := serve(t, refusing(http.StatusCreated, c.body, "Content-Type", "application/json"))
		answer, err := newClient(t, Config{BaseURL: server.URL}).Do(t.Context(), newInvocation(), Request{Path: "/", EffectID: c.pointer})
		if err != nil {
			t.Fatal(err)
		}
		if result, err := answer.Result(); err != nil || result.EffectID != c.want || string(result.Body) != c.body {
			t.Errorf("%q in %s: %+v, %v, want %q", c.pointer, c.body, result, err, c.want)
		}
	}
}
