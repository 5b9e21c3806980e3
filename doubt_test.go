package writ

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

func TestADoubtShowsWhatAPersonNeedsToFindOutWhatHappened(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	page, err := e.Doubt(t.Context(), DoubtFilter{})
	if err != nil || len(page.Doubts) != 1 || page.Next != "" {
		t.Fatalf("%+v, %v", page, err)
	}
	d := page.Doubts[0]
	sent := row.Attempts[0].ClaimedAt
	if d.Intent.ID != row.ID || d.Since != sent || d.AgeMS < 0 || d.Reason != intent.ReasonNeverSentTwice || d.CanInquire || d.LastLookup != nil ||
		d.Intent.Attempts[0].Code != "connection_lost" {
		t.Errorf("%+v", d)
	}
	if d.Stake == nil || *d.Stake != (Stake{Amount: "12.9000000000000000001", Currency: "EUR"}) {
		t.Errorf("at stake: %+v", d.Stake)
	}
	if want := "ask bank what it did at " + sent.Format(time.RFC3339); d.Ask != want {
		t.Errorf("%q, want %q", d.Ask, want)
	}
}

func TestADoubtShowsWhatIsAtStakeByTheSpecThatItWasSentUnder(t *testing.T) {
	t.Parallel()
	e, _ := doubtful(t, refund)
	later := refund
	later.Stake, later.Timeout = tools.Stake{}, time.Minute
	e.propose(t, later, "order-4712") // now it is the one in force
	page, err := e.Doubt(t.Context(), DoubtFilter{})
	if err != nil || len(page.Doubts) != 1 || page.Doubts[0].Stake == nil || page.Doubts[0].Stake.Currency != "EUR" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestADoubtNamesEveryKeyThatMayHaveHadItsEffect(t *testing.T) {
	t.Parallel()
	first, second := intent.DeriveKey("acme", "transfers.create", "order-1", 1), intent.DeriveKey("acme", "transfers.create", "order-1", 2)
	v := Intent{Tenant: "acme", Tool: "transfers.create", RequestKey: "order-1", Generation: 2, IdempotencyKey: second, Class: intent.Keyed}
	for name, tc := range map[string]struct {
		attempts []Attempt
		want     string
	}{
		"of now":  {[]Attempt{{Generation: 1, Outcome: intent.NotApplied}, {Generation: 2, Open: true}}, string(second)},
		"cleared": {[]Attempt{{Generation: 1, Outcome: intent.Unknown}, {Generation: 2, Outcome: intent.Unknown, Open: true}}, string(second)},
		"earlier": {[]Attempt{{Generation: 1, Outcome: intent.Unknown, Open: true}, {Generation: 2, Outcome: intent.NotApplied}}, string(first)},
		"both":    {[]Attempt{{Generation: 1, Outcome: intent.Unknown, Open: true}, {Generation: 1, Open: true}, {Generation: 2, Outcome: intent.Applied}}, string(first) + " and " + string(second)},
		"none":    {nil, string(second)},
	} {
		v.Attempts = tc.attempts
		if want := "for idempotency key " + tc.want; v.question() != want {
			t.Errorf("%s: %q, want %q", name, v.question(), want)
		}
	}
}

func TestADoubtIsAsOldAsWhatIsOpenNow(t *testing.T) {
	t.Parallel()
	cleared, open := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 3, 11, 0, 0, 0, time.UTC)
	v := Intent{State: intent.InDoubt, Class: intent.Opaque, Attempts: []Attempt{
		{Generation: 1, ClaimedAt: cleared, Outcome: intent.Unknown}, {Generation: 2, ClaimedAt: open, Outcome: intent.Unknown, Open: true},
	}}
	if since := doubtfulSince(v); since != open {
		t.Errorf("since %s", since)
	}
	if want := "what it did at 2026-03-03T11:00:00Z"; v.question() != want {
		t.Errorf("%q, want %q", v.question(), want)
	}
	v.Attempts[0].Outcome, v.Attempts[1].Outcome, v.Attempts[1].Open = intent.Applied, intent.Applied, false
	if want := "what it did at 2026-03-01T12:00:00Z and at 2026-03-03T11:00:00Z"; v.question() != want {
		t.Errorf("performed twice: %q, want %q", v.question(), want)
	}
}

func TestAnAlertIsInTheInboxSinceItsEvidenceUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	if _, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveNotApplied}, known); err != nil {
		t.Fatal(err)
	}
	late := outbox.Evidence{Attempt: 1, Token: row.Attempts[0].Token, Outcome: intent.Applied}
	row, err := e.store.RecordEvidence(t.Context(), row.ID, late, true, activities.Seal)
	if err != nil {
		t.Fatal(err)
	}
	page, err := e.Doubt(t.Context(), DoubtFilter{})
	if err != nil || len(page.Doubts) != 1 || page.Doubts[0].Intent.Alert != intent.ReasonAppliedAfterAll || page.Doubts[0].Since != row.Attempts[0].EvidenceAt ||
		page.Doubts[0].Reason != "" {
		t.Fatalf("%+v, %v", page, err)
	}
	if v, err := e.Acknowledge(t.Context(), row.ID, known); err != nil || v.Alert != "" || v.State != intent.Failed {
		t.Errorf("%+v, %v", v, err)
	}
	if page, err := e.Doubt(t.Context(), DoubtFilter{}); err != nil || len(page.Doubts) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestEveryProviderThatCanBeAskedIsAskedAndItsAnswerAwaited(t *testing.T) {
	t.Parallel()
	transfer := tools.Spec{Name: "transfers.create", SideEffectful: true, Reconcilable: true, Provider: "bank", Lookup: tools.LookupContract{Max: 1, SettleDelay: tools.Immediate}}
	e, opaque := doubtful(t, refund)
	row := e.lookedUp(t, transfer, "order-1")
	e.temporal.signalled = func() { // a worker that hears of it
		asking := outbox.LookupRequest{ID: row.ID, Version: row.Version + 1, Token: uuid.New(), Worker: "worker-1", Rules: row.Rules}
		_, err := e.store.BeginLookup(t.Context(), asking)
		if err == nil {
			_, err = e.store.RecordLookup(t.Context(), row.ID, outbox.Found{Token: asking.Token, Finding: intent.Found, EffectID: "tr_1"}, activities.Seal)
		}
		if err != nil {
			t.Error(err)
		}
	}
	asked, err := e.InquireAll(t.Context(), DoubtFilter{}, Decider{Principal: "eve"})
	if err != nil || len(asked) != 1 || asked[0].IntentID != row.ID || asked[0].Lookup == nil || asked[0].Lookup.Finding != intent.Found || asked[0].Lookup.EffectID != "tr_1" {
		t.Fatalf("%+v, %v", asked, err)
	}
	if v, err := e.Get(t.Context(), row.ID); err != nil || v.Next.To != intent.Completed {
		t.Errorf("%+v, %v", v.Next, err)
	}
	if _, err := e.Inquire(t.Context(), opaque.ID, known); intent.CodeOf(err) != intent.CodeNoLookup {
		t.Errorf("%v", err)
	}
}

func TestAProviderThatIsJustBeingAskedIsAwaitedEvenIfNothingFollows(t *testing.T) {
	t.Parallel()
	transfer := tools.Spec{Name: "transfers.create", SideEffectful: true, Reconcilable: true, Lookup: tools.LookupContract{Max: 1, SettleDelay: tools.Immediate}}
	e := newEngine(t)
	row := e.lookedUp(t, transfer, "order-1")
	if _, err := e.Inquire(t.Context(), row.ID, known); err != nil {
		t.Fatal(err)
	}
	asked := Inquired{before: len(row.Lookups)}
	asking := outbox.LookupRequest{ID: row.ID, Version: row.Version + 1, Token: uuid.New(), Worker: "worker-1", Rules: row.Rules}
	grant, err := e.store.BeginLookup(t.Context(), asking)
	if err != nil || grant.Number == 0 {
		t.Fatalf("%+v, %v", grant, err)
	}
	if asked.read(viewOf(grant.Row)); asked.Next.Kind != intent.Stop || asked.over() {
		t.Errorf("next is %+v, and its answer is awaited no more: %+v", asked.Next, asked)
	}
	row, err = e.store.RecordLookup(t.Context(), row.ID, outbox.Found{Token: asking.Token, Finding: intent.Unclear, Code: "http_503"}, activities.Seal)
	if asked.read(viewOf(row)); err != nil || !asked.over() || asked.Lookup == nil {
		t.Errorf("%+v, %v", asked, err)
	}
}

func TestAnAnswerThatDoesNotComeInTimeIsNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	transfer := tools.Spec{Name: "transfers.create", SideEffectful: true, Reconcilable: true, Lookup: tools.LookupContract{Max: 1, SettleDelay: tools.Immediate}}
	e := newEngine(t)
	row := e.lookedUp(t, transfer, "order-1")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	asked, err := e.InquireAll(ctx, DoubtFilter{}, Decider{Principal: "eve"})
	if err != nil || len(asked) != 1 || asked[0].IntentID != row.ID || asked[0].Lookup != nil || asked[0].Next.Kind != intent.Reconcile {
		t.Errorf("%+v, %v", asked, err)
	}
}

// lookedUp returns an intent that is in doubt, long after its only lookup said nothing.
func (e engine) lookedUp(t *testing.T, spec tools.Spec, key intent.RequestKey) outbox.Row {
	t.Helper()
	row := e.lose(t, spec, key)
	e.setClock(t, time.Now().Add(time.Hour))
	asking := outbox.LookupRequest{ID: row.ID, Version: row.Version, Token: uuid.New(), Worker: "worker-1", Rules: row.Rules}
	_, err := e.store.BeginLookup(t.Context(), asking)
	if err == nil {
		_, err = e.store.RecordLookup(t.Context(), row.ID, outbox.Found{Token: asking.Token, Finding: intent.Unclear, Code: "http_503"}, activities.Seal)
	}
	if err == nil {
		row, err = e.store.Journal(t.Context(), row.ID, nil, activities.Seal)
	}
	if err != nil || row.State != intent.InDoubt || row.ParkedFor() != intent.ReasonLookupsSpent {
		t.Fatalf("%s, %+v, %v", row.State, row.Next(), err)
	}
	e.setClock(t, time.Now().Add(2*time.Hour))
	return row
}

// setClock stops the database's clock.
func (e engine) setClock(t *testing.T, at time.Time) {
	t.Helper()
	_, err := e.pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT '%s'::timestamptz $$`, at.Format(time.RFC3339Nano)))
	if err != nil {
		t.Fatal(err)
	}
}
