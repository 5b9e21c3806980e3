package writ

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/intent"
)

// parkRequest parks what is enqueued under the key, as a dispatcher does with what was rejected.
func (e engine) parkRequest(t *testing.T, enqueued Enqueued) {
	t.Helper()
	_, err := e.pool.Exec(t.Context(), `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), tries = 1,
		error_code = 'input_schema_violation', error = 'amount is missing' WHERE id = $1`, enqueued.ID[:])
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEnqueuedRequestIsShownAsTheIntentThatItWillBe(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	due := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
	enqueued := e.enqueued(t, capture, EnqueueOptions{NotBefore: due})
	v, err := e.Get(t.Context(), enqueued.ID)
	if err != nil {
		t.Fatal(err)
	}
	if v.State != intent.Submitted || v.Effect != intent.NotApplied || v.State.Ended() || string(v.Payload) != `{"amount":"12.90"}` || v.Tool != capture.Tool || v.RequestKey != enqueued.RequestKey {
		t.Errorf("%+v", v)
	}
	if s := v.Submission; s == nil || !s.NotBefore.Equal(due) || !s.DueAt.Equal(due) || s.Tries != 0 || !s.ParkedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	if want := (intent.Step{Kind: intent.Wait, At: due, Reason: intent.ReasonEnqueued}); v.Next != want {
		t.Errorf("next is %+v", v.Next)
	}
	e.parkRequest(t, enqueued)
	v, err = e.Get(t.Context(), enqueued.ID)
	if err != nil || v.Submission.ErrorCode != intent.CodeInputSchema || v.Submission.Tries != 1 || v.Next.Reason != intent.ReasonParked {
		t.Errorf("parked: %+v, %v", v.Submission, err)
	}
	// What became an intent is one, however long the request stays beside it.
	e.accept(t, capture)
	if v, err := e.Get(t.Context(), enqueued.ID); err != nil || v.State != intent.Recorded || v.Submission != nil {
		t.Errorf("as an intent: %+v, %v", v, err)
	}
}

func TestNobodyDecidesAboutARequestThatIsNoIntentYet(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	enqueued := e.enqueued(t, capture, EnqueueOptions{})
	ada := Decider{Principal: "ada", Note: "asked the bank"}
	decide := map[string]func() (Intent, error){
		"confirm":     func() (Intent, error) { return e.Confirm(t.Context(), enqueued.ID, ada) },
		"deny":        func() (Intent, error) { return e.Deny(t.Context(), enqueued.ID, ada) },
		"cancel":      func() (Intent, error) { return e.Cancel(t.Context(), enqueued.ID, ada) },
		"inquire":     func() (Intent, error) { return e.Inquire(t.Context(), enqueued.ID, ada) },
		"reissue":     func() (Intent, error) { return e.Reissue(t.Context(), enqueued.ID, ada) },
		"acknowledge": func() (Intent, error) { return e.Acknowledge(t.Context(), enqueued.ID, ada) },
		"resolve": func() (Intent, error) {
			return e.Resolve(t.Context(), enqueued.ID, Resolution{As: ResolveApplied, Result: []byte(`{}`)}, ada)
		},
	}
	for range 2 {
		for name, ask := range decide {
			_, err := ask()
			var refused *Error
			if !errors.As(err, &refused) || refused.Code != intent.CodeNotDispatched || refused.Effect != intent.NotApplied || !strings.Contains(refused.Message, enqueued.ID.String()) {
				t.Errorf("%s: %v", name, err)
			}
		}
		e.parkRequest(t, enqueued)
	}
	if _, err := e.Cancel(t.Context(), intent.IntentID("acme", "nobody"), ada); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("of nothing: %v", err)
	}
}

func TestTheBacklogIsListedByItselfNewestFirstAndWithoutWhatIsAnIntent(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	var ids []intent.ID
	for i := range 5 {
		r := capture
		r.RequestKey = fmt.Sprintf("order-%d", i)
		ids = append(ids, e.enqueued(t, r, EnqueueOptions{}).ID)
		if i == 4 {
			e.accept(t, r) // and stays enqueued until its dispatcher has seen that
		}
	}
	slices.Reverse(ids)
	ids = ids[1:]
	filter := ListFilter{States: []intent.State{intent.Submitted}, Tenant: DefaultTenant, Tool: capture.Tool, Limit: 3}
	var seen []intent.ID
	for pages := 1; ; pages++ {
		page, err := e.List(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Intents {
			seen = append(seen, v.ID)
			if v.State != intent.Submitted || v.Effect != intent.NotApplied || v.Next.Reason != intent.ReasonEnqueued {
				t.Errorf("%+v", v)
			}
		}
		if filter.After = page.Next; page.Next == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if !slices.Equal(seen, ids) {
		t.Errorf("listed %v, want %v", seen, ids)
	}
	all, err := e.List(t.Context(), ListFilter{})
	if err != nil || len(all.Intents) != 1 || all.Intents[0].State != intent.Recorded {
		t.Errorf("without a state: %+v, %v", all, err)
	}
	e.parkRequest(t, Enqueued{ID: ids[2]})
	parked, err := e.Enqueued(t.Context(), ListFilter{Parked: true, States: []intent.State{intent.Submitted}})
	if err != nil || len(parked.Requests) != 1 || parked.Requests[0].ID != ids[2] || parked.Requests[0].Error != "amount is missing" {
		t.Errorf("parked: %+v, %v", parked, err)
	}
}

func TestAListOfTheBacklogTakesOnlyWhatIsKnownOfARequest(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, f := range map[string]ListFilter{
		"two states": {States: []intent.State{intent.Submitted, intent.Recorded}},
		"a class":    {States: []intent.State{intent.Submitted}, Class: intent.Keyed},
		"repeats":    {States: []intent.State{intent.Submitted}, SuspectedDuplicates: true},
		"parked":     {Parked: true},
	} {
		if _, err := e.List(t.Context(), f); intent.CodeOf(err) != intent.CodeInvalidFilter {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAWatchFollowsAnEnqueuedRequestIntoItsIntent(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	enqueued := e.enqueued(t, capture, EnqueueOptions{})
	var states []intent.State
	done, err := e.Watch(t.Context(), enqueued.ID, func(v Intent) error {
		states = append(states, v.State)
		switch v.State {
		case intent.Submitted:
			e.accept(t, capture)
		case intent.Recorded:
			e.complete(t, capture)
		case intent.AwaitingConfirmation, intent.Invoking, intent.InDoubt, intent.Completed, intent.Failed, intent.Refused, intent.Cancelled:
		}
		return nil
	})
	if err != nil || done.Intent.State != intent.Completed || !slices.Equal(states, []intent.State{intent.Submitted, intent.Recorded, intent.Completed}) {
		t.Errorf("%v: %+v, %v", states, done.Intent, err)
	}
}

func TestAWatchOfAParkedRequestEndsWithWhatItWasRejectedWith(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	enqueued := e.enqueued(t, capture, EnqueueOptions{})
	_, err := e.Watch(t.Context(), enqueued.ID, func(v Intent) error {
		if v.Submission.ParkedAt.IsZero() {
			e.parkRequest(t, enqueued)
		}
		return nil
	})
	var parked *Error
	if !errors.As(err, &parked) || parked.Code != intent.CodeInputSchema || parked.Effect != intent.NotApplied || !strings.Contains(parked.Message, "amount is missing") {
		t.Errorf("%v", err)
	}
}

func TestWhoStopsWatchingAnEnqueuedRequestIsToldThatItWaits(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	enqueued := e.enqueued(t, capture, EnqueueOptions{})
	ctx, stop := context.WithCancel(t.Context())
	seen, err := e.Watch(ctx, enqueued.ID, func(Intent) error { stop(); return nil })
	if intent.CodeOf(err) != intent.CodeNotYetKnown || !strings.Contains(err.Error(), "submitted") || seen.Intent.State != intent.Submitted {
		t.Errorf("%+v, %v", seen.Intent, err)
	}
}
