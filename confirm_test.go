package writ

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/receipts"
	"writ/tools"
	"writ/workflows"
)

// unnamed is a capture without a key of the caller's.
func unnamed(t *testing.T) Request {
	t.Helper()
	r := capture
	key, err := NewRequestKey()
	if err != nil {
		t.Fatal(err)
	}
	r.RequestKey = string(key)
	return r
}

// drive takes the intent to its end or to its wait, as its workflow would.
func (e engine) drive(t *testing.T, in activities.Input) activities.Progress {
	t.Helper()
	p, err := e.steps.Authorize(t.Context(), in)
	for range 10 {
		if err != nil {
			t.Fatal(err)
		}
		switch p.Step.Kind {
		case activities.StepPersist:
			p, err = e.steps.Persist(t.Context(), activities.PersistInput{Input: in, Decision: p.Decision})
		case intent.Invoke:
			var out activities.InvokeOutput
			if out, err = e.steps.Invoke(t.Context(), activities.InvokeInput{IntentID: in.IntentID, Tool: p.Labels.Tool, Version: p.Version}); err == nil {
				p, err = e.steps.Journal(t.Context(), activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence})
			}
		case intent.Wait, intent.Reconcile, intent.Renew, intent.Settle, intent.Park, intent.Stop, activities.StepAnswer, activities.StepReject:
			return p
		}
	}
	t.Fatalf("it never comes to rest: %+v", p)
	return p
}

// held is an engine with a completed capture and a repeat of it that waits for a person.
func held(t *testing.T) (e engine, first, repeat Request, id intent.ID) {
	t.Helper()
	e = newEngineOver(t, pgtest.Schema(t), func(s *tools.Spec) { s.Duplicates.Action = intent.ConfirmDuplicates })
	first, repeat = unnamed(t), unnamed(t)
	e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
		in := e.temporal.inputs[len(e.temporal.inputs)-1]
		p := e.drive(t, in)
		return workflows.Result{IntentID: in.IntentID, State: p.State}, nil
	}}
	if done, err := e.Execute(t.Context(), first); err != nil || !done.Intent.SuspectedDuplicateOf.IsZero() {
		t.Fatalf("%+v, %v", done, err)
	}
	return e, first, repeat, intent.IntentID(DefaultTenant, intent.RequestKey(repeat.RequestKey))
}

var eve = Decider{Principal: "eve", Note: "two deliveries"}

func TestARepeatThatNeedsAConfirmationIsParkedAndSaysHowToConfirmIt(t *testing.T) {
	t.Parallel()
	e, first, repeat, id := held(t)
	done, err := e.Execute(t.Context(), repeat)
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != intent.CodeConfirmationRequired || failure.Effect != intent.NotApplied || !failure.TryAgain {
		t.Fatalf("%+v", err)
	}
	firstID := intent.IntentID(DefaultTenant, intent.RequestKey(first.RequestKey))
	for _, word := range []string{id.String(), "writ confirm", firstID.String(), "till-7"} {
		if !strings.Contains(failure.Message, word) {
			t.Errorf("%q does not say %q", failure.Message, word)
		}
	}
	v := done.Intent
	if v.State != intent.AwaitingConfirmation || v.SuspectedDuplicateOf != firstID || v.ConfirmBy.IsZero() || len(done.Receipt) != 0 || done.Answer != nil {
		t.Errorf("%+v", done)
	}
	accepted, err := e.Submit(t.Context(), repeat)
	if err != nil || accepted.State != intent.AwaitingConfirmation {
		t.Errorf("submitted: %+v, %v", accepted, err)
	}
}

func TestAConfirmedIntentRunsAndItsDecisionIsShown(t *testing.T) {
	t.Parallel()
	e, _, repeat, id := held(t)
	if _, err := e.Execute(t.Context(), repeat); intent.CodeOf(err) != intent.CodeConfirmationRequired {
		t.Fatal(err)
	}
	started := len(e.temporal.started)
	v, err := e.Confirm(t.Context(), id, eve)
	if err != nil || v.State != intent.Recorded || len(v.Decisions) != 1 || v.Decisions[0].Principal != "eve" || v.Decisions[0].Kind != intent.Confirm {
		t.Fatalf("%+v, %v", v, err)
	}
	if len(e.temporal.started) != started+1 || e.temporal.started[started].ID != workflows.ID(id) || e.temporal.inputs[started].Request != nil {
		t.Errorf("Temporal was asked to start %+v", e.temporal.started[started:])
	}
	done, err := e.Execute(t.Context(), repeat)
	if err != nil || done.Intent.State != intent.Completed {
		t.Fatalf("%+v, %v", done, err)
	}
	r, err := receipts.Parse(done.Receipt)
	if err != nil || len(r.Decisions) != 1 || r.Decisions[0].Note != "two deliveries" || r.Decisions[0].Commitment != r.Commitment {
		t.Errorf("%s, %v", done.Receipt, err)
	}
}

func TestADeniedIntentIsRefusedWithTheWordsOfWhoDeniedIt(t *testing.T) {
	t.Parallel()
	e, _, repeat, id := held(t)
	if _, err := e.Execute(t.Context(), repeat); intent.CodeOf(err) != intent.CodeConfirmationRequired {
		t.Fatal(err)
	}
	if v, err := e.Deny(t.Context(), id, eve); err != nil || v.State != intent.Refused {
		t.Fatalf("%+v, %v", v, err)
	}
	done, err := e.Execute(t.Context(), repeat)
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != intent.CodeConfirmationDenied || failure.Effect != intent.NotApplied || !strings.Contains(failure.Message, "eve denied it: two deliveries") {
		t.Errorf("%+v", err)
	}
	if len(done.Receipt) == 0 {
		t.Error("there is no receipt")
	}
}

func TestADecisionStandsAlsoIfTemporalDoesNotHearOfIt(t *testing.T) {
	t.Parallel()
	e, _, repeat, id := held(t)
	if _, err := e.Execute(t.Context(), repeat); intent.CodeOf(err) != intent.CodeConfirmationRequired {
		t.Fatal(err)
	}
	e.temporal.refuse = errors.New("connection refused")
	if v, err := e.Confirm(t.Context(), id, eve); err != nil || v.State != intent.Recorded {
		t.Fatalf("%+v, %v", v, err)
	}
	if stalled, err := e.store.TakeStalled(t.Context(), 10); err != nil || len(stalled) != 1 || stalled[0].ID != id {
		t.Errorf("recovery finds %+v, %v", stalled, err)
	}
}

func TestADecisionIsCheckedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	var offline Client // it would panic
	for name, tc := range map[string]struct {
		by   Decider
		code intent.Code
	}{
		"nobody":             {Decider{}, intent.CodeUnauthenticated},
		"a name with a tab":  {Decider{Principal: "eve\t"}, intent.CodeInvalidName},
		"a note too long":    {Decider{Principal: "eve", Note: strings.Repeat("x", 1001)}, intent.CodeInvalidNote},
		"a note of no text":  {Decider{Principal: "eve", Note: "\xff"}, intent.CodeInvalidNote},
		"a note with a NUL":  {Decider{Principal: "eve", Note: "a\x00b"}, intent.CodeInvalidNote},
		"a note of two rows": {Decider{Principal: "eve", Note: "a\nb"}, intent.CodeInvalidNote},
	} {
		for _, decide := range []func(context.Context, intent.ID, Decider) (Intent, error){offline.Confirm, offline.Deny} {
			if _, err := decide(t.Context(), intent.ID{1}, tc.by); intent.CodeOf(err) != tc.code {
				t.Errorf("%s: %v, want %s", name, err, tc.code)
			}
		}
	}
	if err := (Decider{Principal: "eve", Note: strings.Repeat("ü", 500)}).check(); err != nil {
		t.Errorf("a note of 1,000 bytes: %v", err)
	}
}

func TestAnIntentShowsItsWaitAndItsRepeatOnlyIfItHasThem(t *testing.T) {
	t.Parallel()
	shown, err := json.Marshal(Intent{})
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"suspected_duplicate_of", "confirm_by", "decisions"} {
		if strings.Contains(string(shown), member) {
			t.Errorf("%s is in %s", member, shown)
		}
	}
}

func TestAWorkersWaitForAPersonIsBounded(t *testing.T) {
	t.Parallel()
	for wait, ok := range map[time.Duration]bool{-1: false, 0: true, time.Minute: true, 30 * 24 * time.Hour: true, 30*24*time.Hour + 1: false} {
		cfg := WorkerConfig{Config: Config{DatabaseURL: "postgres://127.0.0.1:1/writ"}, ConfirmWithin: wait}
		w, err := NewWorker(t.Context(), cfg)
		if (err == nil) != ok || !ok && intent.CodeOf(err) != intent.CodeInvalidConfig {
			t.Errorf("%s: %v", wait, err)
		}
		if w != nil {
			w.close()
		}
	}
}
