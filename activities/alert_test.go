package activities_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/receipts"
	"writ/tools"
)

func TestAProviderThatShowsOneKeyPerformedTwiceIsRecordedLoudly(t *testing.T) {
	t.Parallel()
	twice := func() (tools.Finding, error) {
		f, err := found()
		return f.Times(2), err
	}
	b, _ := asking(t, reconcilable(), findings{twice}, lost)
	in := ask("transfers.create")
	p, _ := b.drive(t, in)
	if r := b.receipt(t, in); p.State != intent.Completed || r.Reason != intent.ReasonPerformedTwice || r.Lookups[0].Effects != 2 {
		t.Errorf("%s, the receipt is %+v", p.State, r)
	}
	if row := b.row(t, in); row.Alert != intent.ReasonPerformedTwice {
		t.Errorf("the alert is %q", row.Alert)
	}
}

func TestEvidenceAgainstAnEndedIntentAmendsItsReceiptAndRewritesNothing(t *testing.T) {
	t.Parallel()
	b, _ := asking(t, reconcilable(), findings{absent}, lost, answering(tools.NotApplied(errors.New("no")).AsFinal()))
	in := ask("transfers.create")
	p, _ := b.drive(t, in)
	if p.State != intent.Failed {
		t.Fatalf("%+v", p)
	}
	row := b.row(t, in)
	before, err := receipts.Get(t.Context(), b.pool, in.IntentID)
	if err != nil {
		t.Fatal(err)
	}
	late := evidenceOf(row.Attempts[0], intent.Applied)
	late.EffectID, late.MediaType, late.Result = "tr_9", tools.MediaTypeJSON, []byte(`{"id":"tr_9"}`)
	for range 2 { // the second time it is known already
		if _, err := b.store.RecordEvidence(t.Context(), in.IntentID, late, true, activities.Seal); err != nil {
			t.Fatal(err)
		}
	}
	after, err := receipts.Get(t.Context(), b.pool, in.IntentID)
	if err != nil || string(after) != string(before) {
		t.Errorf("the receipt became %s (%v)", after, err)
	}
	amendments, err := receipts.Amendments(t.Context(), b.pool, in.IntentID)
	if err != nil || len(amendments) != 1 {
		t.Fatalf("%d amendments, %v", len(amendments), err)
	}
	r, err := receipts.Parse(amendments[0])
	if err != nil || r.Number != 1 || r.Reason != intent.ReasonAppliedAfterAll || r.Outcome != intent.Applied || r.State != intent.Failed || r.AmendedAt.IsZero() {
		t.Errorf("the amendment is %+v, %v", r, err)
	}
	if row := b.row(t, in); row.Alert != intent.ReasonAppliedAfterAll || row.State != intent.Failed {
		t.Errorf("%s, alert %q", row.State, row.Alert)
	}
}

func TestTwoNamesForTheEffectOfOneKeyAreRecordedLoudly(t *testing.T) {
	t.Parallel()
	effect := func(id string) func() (tools.Result, error) {
		return func() (tools.Result, error) {
			return tools.Result{Body: []byte(fmt.Sprintf(`{"id":%q}`, id)), EffectID: id}, nil
		}
	}
	b, _ := hosting(t, keyed(), lost, effect("cap_2"))
	in := ask("payments.capture")
	if p, _ := b.drive(t, in); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	late := evidenceOf(b.row(t, in).Attempts[0], intent.Applied)
	late.EffectID = "cap_1"
	if _, err := b.store.RecordEvidence(t.Context(), in.IntentID, late, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
	if row := b.row(t, in); row.Alert != intent.ReasonPerformedTwice {
		t.Errorf("the alert is %q", row.Alert)
	}
}

// evidenceOf makes evidence about an attempt.
func evidenceOf(a outbox.Attempt, outcome intent.Outcome) outbox.Evidence {
	return outbox.Evidence{Attempt: a.Number, Token: a.Token, Outcome: outcome}
}

func TestHoweverManyEffectsAProviderCountsTheyAreRecorded(t *testing.T) {
	t.Parallel()
	for _, count := range []int{math.MinInt, -1, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			b, _ := asking(t, reconcilable(), findings{func() (tools.Finding, error) {
				f, err := found()
				return f.Times(count), err
			}}, lost)
			in := ask("transfers.create")
			want := intent.ReasonFound
			if count > 1 {
				want = intent.ReasonPerformedTwice
			}
			if p, _ := b.drive(t, in); p.State != intent.Completed || b.receipt(t, in).Reason != want {
				t.Errorf("%s because of %s", p.State, b.receipt(t, in).Reason)
			}
		})
	}
}

func TestTheReceiptOfAnEarlierGenerationIsAmendedWhenItsEffectShowsAfterAll(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, opaque(), lost, applied)
	in := ask("notifications.send")
	if p, _ := b.drive(t, in); p.State != intent.InDoubt {
		t.Fatalf("%+v", p)
	}
	eve := outbox.Decider{Principal: "eve", Note: "not in their list"}
	if _, err := b.store.Resolve(t.Context(), in.IntentID, outbox.Resolution{Kind: intent.ResolveNotApplied}, eve, activities.Seal); err != nil {
		t.Fatal(err)
	}
	first := b.receipt(t, in)
	if _, err := b.store.Reissue(t.Context(), in.IntentID, eve, nil, activities.Renewal); err != nil {
		t.Fatal(err)
	}
	late := evidenceOf(b.row(t, in).Attempts[0], intent.Applied)
	if _, err := b.store.RecordEvidence(t.Context(), in.IntentID, late, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
	bodies, err := receipts.Amendments(t.Context(), b.pool, in.IntentID)
	if err != nil || len(bodies) != 1 {
		t.Fatalf("%d amendments, %v", len(bodies), err)
	}
	r, err := receipts.Parse(bodies[0])
	if err != nil || r.Generation != 1 || r.Number != 1 || r.Reason != intent.ReasonAppliedAfterAll || r.Outcome != intent.Applied ||
		r.State != intent.Failed || r.KeyDigest != first.KeyDigest || r.Commitment != first.Commitment || !r.EndedAt.Equal(first.EndedAt) {
		t.Errorf("the amendment is %+v, %v", r, err)
	}
	if row := b.row(t, in); row.Alert != intent.ReasonAppliedAfterAll {
		t.Errorf("the alert is %q", row.Alert)
	}
	// The second one was not sent yet, and never is; and the alert stays.
	if p, _ := b.drive(t, activities.Input{IntentID: in.IntentID}); p.State != intent.Completed || b.receipt(t, in).Generation != 2 || b.row(t, in).Alert != intent.ReasonAppliedAfterAll {
		t.Errorf("%+v, alert %q", p, b.row(t, in).Alert)
	}
}
