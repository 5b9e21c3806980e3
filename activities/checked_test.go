package activities

import (
	"errors"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

func TestACheckChangesNothingButTheCodeOfAnAppliedAttempt(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	bad := func([]byte) error { return errors.New("it is bad") }
	hang := func([]byte) error { <-stuck; return nil }
	soon, over := time.Now().Add(20*time.Millisecond), time.Now().Add(-time.Minute)
	for name, tc := range map[string]struct {
		check         func([]byte) error
		lease         time.Time
		outcome       intent.Outcome
		code          string
		want, message string
	}{
		"nothing is promised":      {nil, time.Time{}, intent.Applied, "", "", ""},
		"it is good":               {func([]byte) error { return nil }, time.Time{}, intent.Applied, "", "", ""},
		"it is bad":                {bad, time.Time{}, intent.Applied, "", CodeInvalidOutput, "it is bad"},
		"it is bad and came late":  {bad, over, intent.Applied, "", CodeInvalidOutput, "it is bad"},
		"the check panics":         {func([]byte) error { panic("CANARY") }, time.Time{}, intent.Applied, "", CodeInvalidOutput, "checking it panicked"},
		"the check does not end":   {hang, soon, intent.Applied, "", CodeInvalidOutput, "it could not be checked in time"},
		"nor for one that is late": {hang, over, intent.Applied, "", CodeInvalidOutput, "it could not be checked in time"},
		"it was cut":               {bad, time.Time{}, intent.Applied, CodeResultCut, CodeResultCut, ""},
		"it broke off":             {bad, time.Time{}, intent.Applied, CodeResultBroken, CodeResultBroken, ""},
		"nothing was applied":      {bad, time.Time{}, intent.NotApplied, "card_declined", "card_declined", ""},
		"nobody knows":             {bad, time.Time{}, intent.Unknown, CodePanic, CodePanic, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := outbox.Evidence{Attempt: 3, Outcome: tc.outcome, Code: tc.code, MediaType: "application/json", Result: []byte(`{"a":1}`)}
			got := run{check: tc.check, lease: tc.lease}.checked(ev)
			message := tc.message
			if message != "" {
				message = "the answer is not what the tool's spec promises: " + message
			}
			if got.Outcome != tc.outcome || got.Code != tc.want || got.Message != message {
				t.Errorf("%s %q %q", got.Outcome, got.Code, got.Message)
			}
			if got.Attempt != ev.Attempt || got.MediaType != ev.MediaType || string(got.Result) != string(ev.Result) {
				t.Errorf("%+v", got)
			}
		})
	}
}
