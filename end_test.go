package writ

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// late records what the first attempt of a resolved intent answers after all.
func (e engine) late(t *testing.T, row outbox.Row, outcome intent.Outcome) {
	t.Helper()
	ev := outbox.Evidence{Attempt: 1, Token: row.Attempts[0].Token, Outcome: outcome}
	if _, err := e.store.RecordEvidence(t.Context(), row.ID, ev, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
}

// says fails unless err has the code and the effect, and its message every word and no other.
func says(t *testing.T, err error, code intent.Code, effect intent.Outcome, words, never []string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Effect != effect {
		t.Errorf("%+v, want %s with effect %s", err, code, effect)
		return
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("%q does not say %q", e.Message, word)
		}
	}
	for _, word := range never {
		if strings.Contains(e.Message, word) {
			t.Errorf("%q says %q", e.Message, word)
		}
	}
}

func TestAFailureOnAPersonsWordSaysWhoseAndIsNotCalledProven(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	if _, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveNotApplied}, known); err != nil {
		t.Fatal(err)
	}
	done, err := e.Watch(t.Context(), row.ID, nil)
	said := done.Intent.Decisions[0].DecidedAt.Format(time.RFC3339)
	says(t, err, intent.CodeFailed, intent.NotApplied, []string{"eve said at " + said + ": on the statement", "writ reissue " + row.ID.String()}, []string{"provably", "new request key"})
	if done.Intent.Effect != intent.NotApplied || done.Intent.Attempts[0].Open {
		t.Errorf("%+v", done.Intent)
	}
}

func TestAnEndThatEvidenceSpeaksAgainstIsNoAnswerAlsoAfterItsAlertIsAcknowledged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said          ResolutionKind
		late          intent.Outcome
		contradiction string
		words         []string
	}{
		{ResolveNotApplied, intent.Applied, intent.ReasonAppliedAfterAll, []string{"is failed", "its effect happened", "do not ask for it again"}},
		{ResolveApplied, intent.NotApplied, intent.ReasonNotAppliedAfterAll, []string{"is completed", "its effect did not happen"}},
	} {
		e, row := doubtful(t, refund)
		if _, err := e.Resolve(t.Context(), row.ID, Resolution{As: c.said}, known); err != nil {
			t.Fatal(err)
		}
		e.late(t, row, c.late)
		for _, acknowledged := range []bool{false, true} {
			if acknowledged {
				if _, err := e.Acknowledge(t.Context(), row.ID, known); err != nil {
					t.Fatal(err)
				}
			}
			done, err := e.Watch(t.Context(), row.ID, nil)
			says(t, err, intent.CodeContradicted, c.late, c.words, []string{"new request key", "provably"})
			if done.Intent.Effect != c.late || done.Intent.Contradiction != c.contradiction || (done.Intent.Alert == "") != acknowledged {
				t.Errorf("%s: %+v", c.said, done.Intent)
			}
		}
		if list, err := e.Amendments(t.Context(), row.ID); err != nil || len(list) != 1 || !strings.Contains(string(list[0]), c.contradiction) {
			t.Errorf("amendments %s, %v", list, err)
		}
	}
}

func TestACancellationOnAPersonsWordSaysWhose(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	if _, err := e.Cancel(t.Context(), row.ID, Decider{Principal: "ada"}); err != nil {
		t.Fatal(err)
	}
	if v, err := e.Get(t.Context(), row.ID); err != nil || v.Effect != intent.Unknown || !v.Attempts[0].Open {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveNotApplied}, known); err != nil {
		t.Fatal(err)
	}
	_, err := e.Watch(t.Context(), row.ID, nil)
	says(t, err, intent.CodeCancelled, intent.NotApplied, []string{"cancelled by ada at ", "eve said at ", ": on the statement"}, nil)
}

func TestADecisionThatIsRefusedSaysWhatTheIntentShowsOfTheEffect(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	_, err := e.Reissue(t.Context(), row.ID, known)
	says(t, err, intent.CodeNotReissuable, intent.Unknown, nil, nil)
	_, err = e.Resolve(t.Context(), row.ID, Resolution{As: ResolveApplied}, Decider{Principal: "eve"})
	says(t, err, intent.CodeInvalidResolution, intent.Unknown, []string{"note"}, nil)
	if _, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveApplied}, known); err != nil {
		t.Fatal(err)
	}
	for _, decide := range []func(context.Context, intent.ID, Decider) (Intent, error){e.Reissue, e.Cancel, e.Inquire, e.Acknowledge} {
		_, err := decide(t.Context(), row.ID, Decider{Principal: "bob"})
		says(t, err, intent.CodeOf(err), intent.Applied, nil, nil)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Reissue(gone, row.ID, known)
	says(t, err, intent.CodeNotYetKnown, intent.Unknown, []string{"give it again"}, []string{"request key"})
	_, _, err = e.SetHold(gone, HoldRequest{HoldTool, refund.Name}, known)
	says(t, err, intent.CodeNotYetKnown, intent.Unknown, []string{"give it again"}, nil)
}

func TestACallerThatStopsWaitingUnderAHoldIsToldOfIt(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if _, _, err := e.SetHold(t.Context(), HoldRequest{HoldTool, "payments.capture"}, known); err != nil {
		t.Fatal(err)
	}
	e.accept(t, capture)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := e.Watch(ctx, intent.IntentID(DefaultTenant, intent.RequestKey(capture.RequestKey)), nil)
	words := []string{"the hold on tool payments.capture, set by eve at ", ": on the statement", "nothing was sent yet"}
	says(t, err, intent.CodeNotYetKnown, intent.Unknown, words, nil)
	p, err := capture.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	says(t, e.unanswered(ctx, p, ctx.Err()), intent.CodeNotYetKnown, intent.Unknown, words, nil)
}

func TestACallerThatGivesUpADecisionIsToldToGiveItAgainAndNotThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	resolve := func(r Resolution) func(context.Context, intent.ID, Decider) (Intent, error) {
		return func(ctx context.Context, id intent.ID, by Decider) (Intent, error) { return e.Resolve(ctx, id, r, by) }
	}
	for name, decide := range map[string]func(context.Context, intent.ID, Decider) (Intent, error){
		"confirm": e.Confirm, "deny": e.Deny, "cancel": e.Cancel, "reissue": e.Reissue, "inquire": e.Inquire, "acknowledge": e.Acknowledge,
		"resolve":               resolve(Resolution{As: ResolveNotApplied}),
		"resolve with a result": resolve(Resolution{As: ResolveApplied, Result: []byte(`{"id":"re_1"}`)}),
		"inquire of all": func(ctx context.Context, _ intent.ID, by Decider) (Intent, error) {
			_, err := e.InquireAll(ctx, DoubtFilter{}, by)
			return Intent{}, err
		},
		"lift": func(ctx context.Context, _ intent.ID, by Decider) (Intent, error) {
			_, err := e.LiftHold(ctx, "5b0c9a53-6d0c-4f0e-8a51-0c1f4a9fd0a7", by)
			return Intent{}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decide(gone, row.ID, known)
			says(t, err, intent.CodeNotYetKnown, intent.Unknown, []string{"not known whether this was recorded", "give it again"}, []string{"request key", "PostgreSQL"})
		})
	}
}
