package writ

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/tools"
)

func TestOnlyACompletedIntentIsNoError(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("acme", "order-4711")
	for name, tc := range map[string]struct {
		view   Intent
		code   intent.Code
		effect intent.Outcome
		says   []string
	}{
		"failed": {Intent{State: intent.Failed, Effect: intent.NotApplied, Attempts: []Attempt{{Code: "http_503"}, {Code: "card_declined"}}},
			intent.CodeFailed, intent.NotApplied, []string{id.String(), "card_declined", "provably", "new request key", "writ reissue"}},
		"failed without a code": {Intent{State: intent.Failed, Effect: intent.NotApplied}, intent.CodeFailed, intent.NotApplied, []string{id.String()}},
		"refused": {Intent{State: intent.Refused, Effect: intent.NotApplied, Decision: []byte(`{"allow":false,"code":"policy_denied","reason":"not on Sundays"}`)},
			intent.CodePolicyDenied, intent.NotApplied, []string{"not on Sundays", "nothing was sent"}},
		"in doubt": {Intent{State: intent.InDoubt, Class: intent.Keyed, IdempotencyKey: "5f0c8f6a", Attempts: []Attempt{{Code: "http_504"}}},
			intent.CodeInDoubt, intent.Unknown, []string{"5f0c8f6a", "may or may not", "http_504", "--not-applied"}},
		"in doubt, without a key that anybody knows": {Intent{State: intent.InDoubt, Class: intent.Opaque, FirstSentAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
			intent.CodeInDoubt, intent.Unknown, []string{"what it did at 2026-03-01T12:00:00Z", "may or may not"}},
		"not ended": {Intent{State: intent.Invoking, RequestKey: "order-1"}, intent.CodeNotYetKnown, intent.Unknown, []string{"order-1", "has not ended"}},
	} {
		tc.view.ID = id
		err := endError(tc.view)
		var e *Error
		if !errors.As(err, &e) || e.Code != tc.code || e.Effect != tc.effect || e.TryAgain != (tc.code == intent.CodeNotYetKnown) {
			t.Errorf("%s: %+v", name, err)
			continue
		}
		for _, word := range tc.says {
			if !strings.Contains(e.Message, word) {
				t.Errorf("%s: %q does not say %q", name, e.Message, word)
			}
		}
	}
	if err := endError(Intent{State: intent.Completed, Effect: intent.Applied}); err != nil {
		t.Errorf("completed: %v", err)
	}
	if err := endError(Intent{State: "paused"}); err == nil {
		t.Error("a state of a later release is taken for completed")
	}
}

func TestAnAnswerThatIsNotWhatWasPromisedIsNoErrorAndSaysSo(t *testing.T) {
	t.Parallel()
	promised := Request{Tool: "payments.capture", RequestKey: "order-1", Principal: "till-7"}
	for schema, problem := range map[string]string{
		`{"required":["captured"]}`: "",
		`{"required":["id"]}`:       `the answer is not what the tool's spec promises: it must have the member "id"`,
	} {
		e := newEngineOver(t, pgtest.Schema(t), func(s *tools.Spec) { s.OutputSchema = json.RawMessage(schema) })
		e.accept(t, promised)
		e.complete(t, promised)
		x, err := e.Execute(t.Context(), promised)
		if err != nil || x.Intent.State != intent.Completed || x.Answer == nil || string(x.Answer.JSON) != `{"captured":true}` || x.Answer.Problem != problem {
			t.Errorf("%s: %+v, %v", schema, x.Answer, err)
		}
	}
}

func TestAnAnswerIsShownAsJSONOnlyIfItIsJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mediaType, body string
		size            int64
		want            string
	}{
		{"application/json", `{"captured":true}`, 17, `{"media_type":"application/json","size":17,"json":{"captured":true}}`},
		{"application/json", `{`, 1, `{"media_type":"application/json","size":1,"body":"ew=="}`},
		{"application/json", `{}`, 9, `{"media_type":"application/json","size":9,"body":"e30="}`}, // the rest was cut off
		{"text/plain; charset=utf-8", "grün", 5, `{"media_type":"text/plain; charset=utf-8","size":5,"body":"Z3LDvG4="}`},
		{"application/octet-stream", "\x00\xff", 2, `{"media_type":"application/octet-stream","size":2,"body":"AP8="}`},
	} {
		shown, err := json.Marshal(answerOf(outbox.Answer{MediaType: tc.mediaType, Size: tc.size, Kept: int64(len(tc.body))}, []byte(tc.body)))
		if err != nil || string(shown) != tc.want {
			t.Errorf("%s %q: %s, %v", tc.mediaType, tc.body, shown, err)
		}
	}
}
