package writ

import (
	"errors"
	"strings"
	"testing"

	"writ/intent"
)

func TestNobodyIsToldThatNothingWasSentOfARequestThatMayHaveRun(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	enqueued := e.enqueued(t, capture, EnqueueOptions{})
	ada := Decider{Principal: "ada", Note: "asked the bank"}
	look := func(when string, code intent.Code) {
		t.Helper()
		v, err := e.Get(t.Context(), enqueued.ID)
		if err != nil || v.Effect != intent.Unknown {
			t.Errorf("%s: the effect is %q, %v", when, v.Effect, err)
		}
		_, cancelled := e.Cancel(t.Context(), enqueued.ID, ada)
		for what, err := range map[string]error{"its end": endError(v), "a decision": cancelled} {
			var told *Error
			if !errors.As(err, &told) || told.Code != code || told.Effect != intent.Unknown || strings.Contains(told.Message, "nothing was sent") {
				t.Errorf("%s: %s: %v", when, what, err)
			}
		}
	}
	_, err := e.pool.Exec(t.Context(), `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), error_code = 'outbox_restored', error = 'lost' WHERE id = $1`, enqueued.ID[:])
	if err != nil {
		t.Fatal(err)
	}
	look("parked", intent.CodeOutboxRestored)
	page, err := e.List(t.Context(), ListFilter{States: []intent.State{intent.Submitted}})
	if err != nil || len(page.Intents) != 1 || page.Intents[0].Effect != intent.Unknown {
		t.Errorf("listed: %+v, %v", page.Intents, err)
	}
	if _, err := e.DropEnqueued(t.Context(), enqueued.ID, ada); err != nil {
		t.Fatal(err)
	}
	look("dropped", intent.CodeDropped)
}
