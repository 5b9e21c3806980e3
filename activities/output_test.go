package activities_test

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/tools"
)

func TestABadAnswerNeverHidesThatTheEffectHappened(t *testing.T) {
	t.Parallel()
	promise := json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"card":{"writeOnly":true,"type":"object"}}}`)
	cases := map[string]struct{ mediaType, body, problem string }{
		"what was promised":     {tools.MediaTypeJSON, `{"id":"ch_1"}`, ""},
		"promised, as text":     {"text/plain", `{"id":"ch_1"}`, ""},
		"a member of bad type":  {tools.MediaTypeJSON, `{"id":4711}`, "/id: must be a string"},
		"a member that lacks":   {tools.MediaTypeJSON, `{}`, `it must have the member "id"`},
		"a secret":              {tools.MediaTypeJSON, `{"id":"ch_1","card":"4711"}`, "/card: must satisfy its schema"},
		"no object":             {tools.MediaTypeJSON, `["4711"]`, "it must be an object"},
		"no JSON":               {"text/html", `<h1>4711</h1>`, "it is no JSON that can be checked (invalid_json)"},
		"no text":               {tools.MediaTypeBinary, "\xff4711", "it is no JSON that can be checked (invalid_utf8)"},
		"a member twice":        {tools.MediaTypeJSON, `{"id":"4711","id":"4711"}`, "it is no JSON that can be checked (duplicate_member)"},
		"nested without end":    {tools.MediaTypeJSON, strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "it is no JSON that can be checked (too_deep)"},
		"nothing":               {tools.MediaTypeJSON, "", "it is empty"},
		"a large one":           {tools.MediaTypeJSON, `{"id":"ch_1","note":"` + strings.Repeat("x", 100_000) + `"}`, ""},
		"a large one, and bad":  {tools.MediaTypeJSON, `{"note":"` + strings.Repeat("x", 100_000) + `"}`, `it must have the member "id"`},
		"many things are wrong": {tools.MediaTypeJSON, `{"id":1,"card":1}`, "/card: must satisfy its schema (and 1 more)"},
	}
	for _, spec := range []tools.Spec{keyed(), opaque(), read()} {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			spec.OutputSchema = promise
			var answer tools.Result
			b, _ := hosting(t, spec, func() (tools.Result, error) { return answer, nil })
			for name, tc := range cases {
				answer = tools.Result{MediaType: tc.mediaType, Body: []byte(tc.body)}
				in := ask(spec.Name, func(r *activities.Request) { r.RequestKey = intent.RequestKey(name) })
				if p, steps := b.drive(t, in); p.State != intent.Completed {
					t.Fatalf("%s: %+v after %v", name, p, steps)
				}
				a, code, message := b.row(t, in).Attempts[0], "", ""
				if tc.problem != "" {
					code, message = activities.CodeInvalidOutput, "the answer is not what the tool's spec promises: "+tc.problem
				}
				if a.Outcome != intent.Applied || a.Code != code || a.Message != message {
					t.Errorf("%s: %s %q %q", name, a.Outcome, a.Code, a.Message)
				}
				if _, kept, err := b.result(t, in.IntentID); err != nil || string(kept) != tc.body {
					t.Errorf("%s: %d bytes are kept, %v", name, len(kept), err)
				}
				if r := b.receipt(t, in); r.State != intent.Completed || len(r.Attempts) != 1 || r.Attempts[0].Code != code {
					t.Errorf("%s: the receipt says %+v", name, r)
				}
			}
		})
	}
}

func TestAPayloadThatItsSchemaRefusesLeavesNoTrace(t *testing.T) {
	t.Parallel()
	spec := keyed()
	spec.InputSchema = json.RawMessage(`{"type":"object","properties":{"amount":{"type":"string","pattern":"^[0-9]+$"}}}`)
	b, provider := hosting(t, spec, applied)
	p, _ := b.drive(t, ask(spec.Name))
	if p.Rejection == nil || p.Rejection.Code != intent.CodeInputSchema ||
		p.Rejection.Message != "payments.capture does not take this payload: /amount: must match ^[0-9]+$" {
		t.Errorf("%+v", p.Rejection)
	}
	if n := b.rows(t); n != 0 || len(provider.asked()) != 0 {
		t.Errorf("%d rows, the tool ran %d times", n, len(provider.asked()))
	}
}

func TestAPayloadThatWasTakenIsNotCheckedAgain(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), answering(tools.NotApplied(nil)), applied)
	in := ask("payments.capture")
	p := b.recorded(t, in)
	b.journal(t, activities.JournalInput{Input: in, Evidence: b.invoke(t, p, in).Evidence})
	// A worker with the same name and class, whose schema would refuse the payload.
	stricter := keyed()
	stricter.InputSchema = json.RawMessage(`false`)
	b = b.worker(t, nil, tools.New(stricter, provider.invoke))
	if p, steps := b.drive(t, in); p.State != intent.Completed {
		t.Errorf("%+v after %v", p, steps)
	}
}

func TestAnAnswerThatBrokeOffIsKeptAndSaidToBeBroken(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"some of it": `{"id":`, "nothing of it": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := hosting(t, keyed(), func() (tools.Result, error) {
				return tools.Result{MediaType: tools.MediaTypeBinary, Body: []byte(body), Broken: true}, nil
			})
			in := ask("payments.capture")
			p, _ := b.drive(t, in)
			attempt := b.row(t, in).Attempts[0]
			if p.State != intent.Completed || attempt.Outcome != intent.Applied || attempt.Code != activities.CodeResultBroken || attempt.Message == "" {
				t.Errorf("%s, attempt %+v", p.State, attempt)
			}
			if _, kept, err := b.result(t, in.IntentID); err != nil || string(kept) != body {
				t.Errorf("kept %q, %v", kept, err)
			}
		})
	}
}
