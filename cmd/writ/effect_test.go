package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"writ"
	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// late records what the first attempt of the intent answers after its end.
func (r records) late(t *testing.T, id intent.ID, outcome intent.Outcome) {
	t.Helper()
	row, err := r.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	ev := outbox.Evidence{Attempt: 1, Token: row.Attempts[0].Token, Outcome: outcome}
	if _, err := r.RecordEvidence(t.Context(), id, ev, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAPersonSaidIsNotCalledProven(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id := store.doubtful(t, "order-1").String()
	store.writ(t, "resolve", id, "--not-applied", "--principal", "eve", "--note", "nope")
	r := command(t, "intent", "watch", id, "--database-url", store.url)
	if r.status != 4 || !strings.Contains(r.stdout, "did not happen, as said by eve at ") || !strings.Contains(r.stderr, "writ reissue "+id) ||
		strings.Contains(r.stdout+r.stderr, "provably") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestAFailureThatHappenedAfterAllIsNoFailureToAnyReader(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id := store.doubtful(t, "order-1")
	store.writ(t, "resolve", id.String(), "--not-applied", "--note", "nope")
	store.late(t, id, intent.Applied)
	watched := command(t, "intent", "watch", id.String(), "--database-url", store.url)
	if watched.status != 5 || !strings.Contains(watched.stderr, "the effect happened") {
		t.Errorf("status %d\n%s%s", watched.status, watched.stdout, watched.stderr)
	}
	got := command(t, "intent", "get", id.String(), "--database-url", store.url)
	for _, text := range []string{watched.stdout + watched.stderr, got.stdout} {
		if !strings.Contains(text, "happened after all") || !strings.Contains(text, "do not ask for it again") || strings.Contains(text, "provably") ||
			strings.Contains(text, "new request key") {
			t.Errorf("%s", text)
		}
	}
	if r := command(t, "intent", "list", "--database-url", store.url); !strings.Contains(r.stdout, "failed, applied_after_all") {
		t.Errorf("the list is\n%s", r.stdout)
	}
	store.writ(t, "doubt", "acknowledge", id.String(), "--note", "paid back")
	got = command(t, "intent", "get", id.String(), "--database-url", store.url)
	if !strings.Contains(got.stdout, "applied_after_all, acknowledged") {
		t.Errorf("after the acknowledgement:\n%s", got.stdout)
	}
}

func TestACompletionThatDidNotHappenIsNoSuccess(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id := store.doubtful(t, "order-1")
	store.writ(t, "resolve", id.String(), "--applied", "--note", "seen", "--principal", "eve")
	r := command(t, "intent", "watch", id.String(), "--database-url", store.url)
	if r.status != 0 || !strings.Contains(r.stdout, "happened, as said by eve at ") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	store.late(t, id, intent.NotApplied)
	var f failure
	r = command(t, "intent", "watch", id.String(), "-o", "json", "--database-url", store.url)
	r.document(t, &f)
	if r.status != 5 || f.Error.Code != "contradicted" || f.Error.Effect != "not_applied" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
}

func TestTheEffectSaysWhatIsKnownAndHowItGoesOn(t *testing.T) {
	t.Parallel()
	lost := []writ.Attempt{{Number: 1, ClaimedAt: time.Unix(1, 0), Outcome: intent.Unknown, Open: true}}
	running := []writ.Attempt{{Number: 1, ClaimedAt: time.Unix(1, 0), Open: true}}
	step := func(kind intent.StepKind, reason string) intent.Step { return intent.Step{Kind: kind, Reason: reason} }
	for want, v := range map[string]writ.Intent{
		"nothing was sent yet": {State: intent.Recorded, Effect: intent.NotApplied, Next: step(intent.Invoke, intent.ReasonFirstAttempt)},
		"nothing was sent yet; it waits for a hold to be lifted":    {State: intent.Recorded, Effect: intent.NotApplied, Next: step(intent.Wait, intent.ReasonHeld)},
		"nothing was sent yet; it waits for somebody to confirm it": {State: intent.AwaitingConfirmation, Effect: intent.NotApplied, Next: step(intent.Stop, intent.ReasonAwaitsConfirmation)},
		"being sent; not known yet":                                 {State: intent.Invoking, Effect: intent.Unknown, Attempts: running, Next: step(intent.Wait, intent.ReasonLeaseRunning)},
		"may or may not have happened; the provider is being asked": {State: intent.Invoking, Effect: intent.Unknown, Attempts: lost, Next: step(intent.Wait, intent.ReasonNextLookup)},
		"may or may not have happened; it is sent again":            {State: intent.InDoubt, Effect: intent.Unknown, Attempts: lost, Next: step(intent.Invoke, intent.ReasonResend)},
		"may or may not have happened; nothing more is sent":        {State: intent.InDoubt, Effect: intent.Unknown, Attempts: lost, Next: step(intent.Stop, intent.ReasonAwaitsEvidence)},
		"did not happen so far; it is sent again after a wait":      {State: intent.Invoking, Effect: intent.NotApplied, Attempts: lost, Next: step(intent.Wait, intent.ReasonBackoff)},
		"happened": {State: intent.Completed, Effect: intent.Applied},
		"happened more than once: the provider shows 2": {State: intent.Completed, Effect: intent.Applied, Contradiction: intent.ReasonPerformedTwice,
			Lookups: []writ.Lookup{{Finding: intent.Found, Effects: 2}}},
		"happened, and may have happened more than once":                                      {State: intent.Completed, Effect: intent.Applied, Contradiction: intent.ReasonMaybeTwice},
		"may have happened after all, although the intent is failed; do not ask for it again": {State: intent.Failed, Effect: intent.Unknown, Attempts: lost},
		"did not happen: it was cancelled and nothing was sent":                               {State: intent.Cancelled, Effect: intent.NotApplied},
		"did not happen: every attempt provably had no effect":                                {State: intent.Cancelled, Effect: intent.NotApplied, Attempts: lost},
		"read; the outside world was not changed":                                             {State: intent.Completed, Effect: intent.Applied, Class: intent.Read},
	} {
		if got := effectIn(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestADecisionThatWasMadeBeforeSaysSo(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	v := writ.Intent{State: intent.Recorded, Generation: 2, Attempts: []writ.Attempt{{Generation: 1}},
		Decisions: []writ.Decision{{Kind: intent.Reissue, Principal: "eve", Note: "funded", DecidedAt: at}}}
	if got := reissuedText(v); got != "issued again; it goes on without this command" {
		t.Error(got)
	}
	v.State = intent.Completed
	if got := reissuedText(v); got != "nothing new was begun: it was issued again before by eve at 2026-03-02T12:00:00.000Z: funded" {
		t.Error(got)
	}
	if got := resolvedText(writ.ResolveRetry)(v); !strings.HasPrefix(got, "nothing new was begun") {
		t.Error(got)
	}
}

func TestAnEffectThatHappenedTwiceIsASuccessWithAWarning(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	p := &program{stdout: io.Discard, stderr: &told}
	v := writ.Intent{ID: intent.IntentID("default", "order-1"), State: intent.Completed, Effect: intent.Applied, Contradiction: intent.ReasonPerformedTwice}
	if err := p.printExecution(writ.Execution{Intent: v}, nil, ""); err != nil || !strings.Contains(told.String(), "performed_twice: the effect happened more than once") {
		t.Errorf("%v, %s", err, told.String())
	}
}
