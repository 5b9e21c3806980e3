package outbox_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

func reconcilable() intent.Rules {
	return intent.Rules{Class: intent.Reconcilable, Retryable: true, Timeout: 10 * time.Second, MaxAttempts: 3,
		InitialBackoff: time.Second, MaxBackoff: time.Minute, Lookup: true, SettleDelay: time.Minute, MaxLookups: 3}
}

// doubtful returns an intent whose attempt may have had its effect.
func (b bundle) doubtful(t *testing.T, rules intent.Rules) (outbox.Row, outbox.Claim) {
	t.Helper()
	c := b.granted(t, b.insert(t, propose("order-4711", rules)))
	return b.evidence(t, c.Row, of(c, intent.Unknown, "connection_lost")), c
}

// lookupToken is the one that the tests give to the lookup of that number.
func lookupToken(number int) uuid.UUID { return uuid.UUID{15: byte(number)} }

func (b bundle) beginLookup(t *testing.T, row outbox.Row) outbox.LookupGrant {
	t.Helper()
	grant, err := b.BeginLookup(t.Context(), outbox.LookupRequest{
		ID: row.ID, Version: row.Version, Token: lookupToken(len(row.Lookups) + 1), Worker: "worker-1", Rules: row.Rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func (b bundle) recordLookup(t *testing.T, row outbox.Row, found outbox.Found) outbox.Row {
	t.Helper()
	row, err := b.RecordLookup(t.Context(), row.ID, found, seal)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestALookupIsCountedBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row, _ := b.doubtful(t, reconcilable())
	at := noon
	for n := 1; n <= 3; n++ { // each kills its worker
		grant := b.beginLookup(t, row)
		if grant.Number != n || string(grant.Payload) == "" || grant.Row.Version != row.Version+1 {
			t.Fatalf("lookup %d: %+v", n, grant)
		}
		at = at.Add(10 * time.Minute)
		b.setClock(t, at)
		row = b.load(t, row.ID)
	}
	if step := row.Next(); step.Kind != intent.Park || step.Reason != intent.ReasonLookupsSpent {
		t.Errorf("after three that never answered: %+v", step)
	}
	if grant := b.beginLookup(t, row); grant.Number != 0 {
		t.Errorf("a fourth one was granted: %+v", grant)
	}
}

func TestALookupIsGrantedOnceAndOnTheVersionThatItWasDecidedOn(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row, _ := b.doubtful(t, reconcilable())
	if grant := b.beginLookup(t, row); grant.Number != 1 {
		t.Fatalf("%+v", grant)
	}
	b.setClock(t, noon.Add(10*time.Minute)) // it may be asked again by then: nothing but the version is in the way
	if grant := b.beginLookup(t, row); grant.Number != 0 || grant.Row.Version == row.Version || grant.Row.Next().Kind != intent.Reconcile {
		t.Errorf("granted twice: %+v", grant)
	}
}

func TestWhatALookupFoundIsWrittenOnceAndDecidesTheStep(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, _ := b.doubtful(t, reconcilable())
	grant := b.beginLookup(t, row)
	found := outbox.Found{Token: lookupToken(1), Finding: intent.Found, EffectID: "tr_1", MediaType: "application/json", Result: []byte(`{"id":"tr_1"}`)}
	row = b.recordLookup(t, grant.Row, found)
	if step := row.Next(); step.Kind != intent.Settle || step.To != intent.Completed || step.Reason != intent.ReasonFound || row.Version != grant.Row.Version+1 {
		t.Fatalf("%+v at version %d", step, row.Version)
	}
	again := b.recordLookup(t, row, outbox.Found{Token: lookupToken(1), Finding: intent.Absent})
	if again.Version != row.Version || again.Lookups[0].Finding != intent.Found {
		t.Errorf("a second answer changed the first: %+v", again.Lookups)
	}
	if row := b.recordLookup(t, row, outbox.Found{Token: lookupToken(2), Finding: intent.Found}); len(row.Lookups) != 1 {
		t.Errorf("an answer without a question was kept: %+v", row.Lookups)
	}
	b.journal(t, row, nil)
	if media, body, err := b.result(t, row.ID); err != nil || media != "application/json" || string(body) != `{"id":"tr_1"}` {
		t.Errorf("the answer is %s %s, %v", media, body, err)
	}
	if receipt := b.receipt(t, row.ID); receipt != "completed effect_found 1 application/json, 13 of 13 bytes" {
		t.Error(receipt)
	}
}

func TestALookupNeverChangesAfterItsAnswer(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, _ := b.doubtful(t, reconcilable())
	b.beginLookup(t, row)
	if _, err := b.pool.Exec(t.Context(), `UPDATE lookups SET asked_at = asked_at - interval '1 day'`); !refused(t, err) {
		t.Error("its question changed")
	}
	b.recordLookup(t, row, outbox.Found{Token: lookupToken(1), Finding: intent.Absent})
	for _, statement := range []string{
		`UPDATE lookups SET finding = 'found'`, `UPDATE lookups SET finding = NULL, answered_at = NULL`, `DELETE FROM lookups`, `TRUNCATE lookups`,
	} {
		if _, err := b.pool.Exec(t.Context(), statement); !refused(t, err) {
			t.Errorf("%s was accepted", statement)
		}
	}
}

func TestEvidenceThatComesAfterParkingWakesTheIntent(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row, c := b.doubtful(t, opaque())
	row = b.journal(t, row, nil)
	if row.State != intent.InDoubt || !row.DueAt.IsZero() {
		t.Fatalf("%s, due at %s", row.State, row.DueAt)
	}
	row = b.evidence(t, row, of(c, intent.Applied, ""))
	if row.Next().To != intent.Completed || row.DueAt.IsZero() {
		t.Errorf("%+v, due at %s", row.Next(), row.DueAt)
	}
	b.setClock(t, noon.Add(time.Minute))
	if taken := b.takeStalled(t, 10); len(taken) != 1 || taken[0].ID != row.ID {
		t.Errorf("recovery takes %+v", taken)
	}
}

// absentAfterAll returns an intent that failed because a lookup found nothing, and its claim.
func (b bundle) absentAfterAll(t *testing.T) (outbox.Row, outbox.Claim) {
	t.Helper()
	rules := reconcilable()
	rules.MaxAttempts = 1
	b.setClock(t, noon)
	row, c := b.doubtful(t, rules)
	b.setClock(t, noon.Add(time.Hour))
	grant := b.beginLookup(t, row)
	row = b.recordLookup(t, grant.Row, outbox.Found{Token: lookupToken(grant.Number), Finding: intent.Absent})
	if row = b.journal(t, row, nil); row.State != intent.Failed {
		t.Fatalf("%s, %+v", row.State, row.Next())
	}
	return row, c
}

func TestEvidenceAgainstAnEndIsSealedAsAnAmendmentOnDiskAndRaisesTheAlert(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, c := b.absentAfterAll(t)
	b.commits.Take()
	late := b.evidence(t, row, of(c, intent.Applied, "")) // relaxed, but for what it shows
	if count := b.commits.Take(); count.Flushed != 1 {
		t.Errorf("%+v", count)
	}
	if late.State != intent.Failed || late.Alert != intent.ReasonAppliedAfterAll || late.Amendment != 1 || !late.DueAt.IsZero() {
		t.Errorf("%s, alert %q, amendment %d, due at %s", late.State, late.Alert, late.Amendment, late.DueAt)
	}
	again := b.evidence(t, row, of(c, intent.Applied, ""))
	if again.Version != late.Version {
		t.Error("the same evidence is a new fact")
	}
	if got := b.receipt(t, row.ID); got != "failed attempts_exhausted 1  and failed applied_after_all 1 " {
		t.Errorf("receipts %q", got)
	}
}

func TestAnAnswerIsFiledUnderTheQuestionThatItAnswersAndNoOther(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, _ := b.doubtful(t, reconcilable())
	grant := b.beginLookup(t, row)
	// The question of a worker whose relaxed commit was lost had the same number.
	if row := b.recordLookup(t, grant.Row, outbox.Found{Token: uuid.New(), Finding: intent.Absent}); row.Lookups[0].Finding != "" {
		t.Errorf("%+v", row.Lookups)
	}
}

func TestWhatSpokeAgainstAnEndIsTakenBackByAnAmendment(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	first := b.granted(t, b.insert(t, propose("order-4711", reconcilable())))
	b.setClock(t, noon.Add(time.Hour))
	grant := b.beginLookup(t, b.load(t, first.Row.ID))
	row := b.recordLookup(t, grant.Row, outbox.Found{Token: lookupToken(grant.Number), Finding: intent.Absent})
	second := b.granted(t, row)
	ev := of(first, intent.Applied, "")
	row = b.journal(t, second.Row, &ev) // and nobody knows what the second attempt did
	if row.State != intent.Completed || row.Alert != intent.ReasonMaybeTwice || !row.Raised {
		t.Fatalf("%s, alert %q", row.State, row.Alert)
	}
	row = b.evidence(t, row, of(second, intent.NotApplied, "rejected"))
	if row.Alert != "" || row.Amendment != 1 || row.Raised {
		t.Errorf("alert %q, amendment %d", row.Alert, row.Amendment)
	}
	if got := b.receipt(t, row.ID); got != "completed perhaps_performed_twice 2 application/json, 17 of 17 bytes and completed alert_withdrawn 2 application/json, 17 of 17 bytes" {
		t.Errorf("receipts %q", got)
	}
}
