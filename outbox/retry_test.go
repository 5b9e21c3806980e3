package outbox_test

import (
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

func TestARetryIsRefusedWhereTheEffectCouldHappenTwice(t *testing.T) {
	t.Parallel()
	unknownWindow, once := keyed(), keyed()
	unknownWindow.Window, once.MaxAttempts = 0, 1
	lookup := unknownWindow
	lookup.Lookup, lookup.SettleDelay, lookup.MaxLookups = true, time.Minute, 1
	for name, tc := range map[string]struct {
		rules intent.Rules
		after time.Duration
		// next is the step after the retry; empty if it is refused with the reason why.
		next intent.StepKind
		why  string
	}{
		"opaque":                                  {rules: opaque(), why: intent.ReasonNeverSentTwice},
		"keyed, the key's window is unknown":      {rules: unknownWindow, why: intent.ReasonKeyWindowUnknown},
		"keyed, the window has passed":            {rules: once, after: 24 * time.Hour, why: intent.ReasonWindowPassed},
		"keyed, the attempt would end outside it": {rules: once, after: 24*time.Hour - 5*time.Second, why: intent.ReasonWindowPassed},
		"keyed, within the window":                {rules: once, after: 23 * time.Hour, next: intent.Invoke},
		"keyed, it can be looked up":              {rules: lookup, after: 48 * time.Hour, next: intent.Reconcile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			row, c := b.doubtful(t, tc.rules)
			if tc.rules.Lookup { // spend the only one
				b.setClock(t, noon.Add(time.Hour))
				row = b.load(t, row.ID)
				grant := b.beginLookup(t, row)
				row = b.recordLookup(t, grant.Row, outbox.Found{Token: lookupToken(grant.Number), Finding: intent.Unclear})
			}
			if row = b.journal(t, c.Row, nil); row.State != intent.InDoubt {
				t.Fatalf("%s, %+v", row.State, row.Next())
			}
			b.setClock(t, noon.Add(tc.after))
			retried, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.Retry}, statement, seal)
			if tc.next == "" {
				if intent.CodeOf(err) != intent.CodeRetryRefused || !strings.Contains(err.Error(), tc.why) {
					t.Errorf("%v; want %s", err, tc.why)
				}
				return
			}
			if err != nil || retried.Next().Kind != tc.next || retried.State != intent.InDoubt || retried.DueAt.IsZero() {
				t.Errorf("%+v, next %+v, %v", retried, retried.Next(), err)
			}
		})
	}
}

func TestARetryOfAnOpaqueToolIsRefusedAlsoWhileItsLeaseRuns(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row, _ := b.parkedIn(t, "order-1", opaque())
	if why := row.ParkedFor(); why != intent.ReasonNeverSentTwice {
		t.Errorf("parked for %q", why)
	}
	if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.Retry}, statement, seal); intent.CodeOf(err) != intent.CodeRetryRefused {
		t.Errorf("%v", err)
	}
}

// spentKeyed returns a keyed intent that is in doubt because its budget is spent.
func (b bundle) spentKeyed(t *testing.T) outbox.Row {
	t.Helper()
	rules := keyed()
	rules.MaxAttempts = 1
	b.setClock(t, noon)
	row, _ := b.parkedIn(t, "order-1", rules)
	b.setClock(t, noon.Add(time.Hour))
	return b.load(t, row.ID)
}

func TestARetryGivesANewBudgetAndIsHeardByRecovery(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.spentKeyed(t)
	if why := row.ParkedFor(); why != intent.ReasonBudgetSpent {
		t.Fatalf("parked for %q", why)
	}
	retried, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.Retry}, statement, seal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, outbox.Decider{Principal: "bob", Note: "no"}, seal); intent.CodeOf(err) != intent.CodeNotInDoubt ||
		!strings.Contains(err.Error(), "eve let it be tried again") {
		t.Errorf("while it is tried again: %v", err)
	}
	if again, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.Retry}, statement, seal); err != nil || again.Version != retried.Version {
		t.Errorf("the same retry again: %+v, %v", again, err)
	}
	b.setClock(t, noon.Add(time.Hour+time.Minute))
	if taken := b.takeStalled(t, 10); len(taken) != 1 || taken[0].ID != row.ID {
		t.Errorf("recovery takes %+v", taken)
	}
	c := b.granted(t, b.load(t, row.ID))
	ev := of(c, intent.Unknown, "connection_lost")
	parked := b.journal(t, c.Row, &ev)
	if parked.State != intent.InDoubt || parked.ParkedFor() != intent.ReasonBudgetSpent {
		t.Fatalf("%s, %q", parked.State, parked.ParkedFor())
	}
	b.setClock(t, noon.Add(2*time.Hour))
	// In doubt once more, the same words are a new decision.
	if again, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.Retry}, statement, seal); err != nil || again.Next().Kind != intent.Invoke {
		t.Errorf("%+v, %v", again.Next(), err)
	}
}

func TestWhatIsTriedAgainCanBeCancelledAndThenResolved(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.spentKeyed(t)
	if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.Retry}, statement, seal); err != nil {
		t.Fatal(err)
	}
	cancelled, err := b.Cancel(t.Context(), row.ID, eve, seal)
	if err != nil || cancelled.State != intent.InDoubt || cancelled.ParkedFor() != intent.ReasonCancelled {
		t.Fatalf("%+v, %v", cancelled.Next(), err)
	}
	if c := b.claim(t, cancelled); c.Granted {
		t.Fatal("an attempt was granted after the cancellation")
	}
	ended, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal)
	if err != nil || ended.State != intent.Cancelled {
		t.Errorf("%s, %v", ended.State, err)
	}
}
