package outbox_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// awaiting inserts an intent at noon that waits a day for a person.
func (b bundle) awaiting(t *testing.T) outbox.Row {
	t.Helper()
	b.setClock(t, noon)
	return b.insertAwaiting(t, "order-4711")
}

// insertAwaiting inserts one that waits a day from now.
func (b bundle) insertAwaiting(t *testing.T, key string) outbox.Row {
	t.Helper()
	p := propose(key, keyed())
	p.ConfirmWithin = 24 * time.Hour
	return b.insert(t, p)
}

var eve = outbox.Decider{Principal: "eve", Note: "two deliveries"}

func denial(row outbox.Row) outbox.Refusal {
	return outbox.Refusal{ID: row.ID, Version: row.Version, Decision: []byte(`{"allow":false}`)}
}

func TestAnIntentThatWaitsForAPersonIsNotClaimedAndIsDueWhenItsWaitEnds(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	by := noon.Add(24 * time.Hour)
	if row.State != intent.AwaitingConfirmation || row.ConfirmBy != by || row.DueAt != by || row.Next() != (intent.Step{Kind: intent.Stop, Reason: intent.ReasonAwaitsConfirmation}) {
		t.Fatalf("%+v, next %+v", row, row.Next())
	}
	if c := b.claim(t, row); c.Granted {
		t.Error("it was claimed")
	}
	for after, want := range map[time.Duration]int{24*time.Hour - time.Microsecond: 0, 24 * time.Hour: 1} {
		b.setClock(t, noon.Add(after))
		if stalled, err := b.TakeStalled(t.Context(), 10); err != nil || len(stalled) != want {
			t.Errorf("after %s %d are overdue, %v", after, len(stalled), err)
		}
	}
}

func TestAConfirmedIntentIsDueAtOnceAndIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	at := noon.Add(time.Hour)
	b.setClock(t, at)
	b.commits.Take()
	confirmed, err := b.Confirm(t.Context(), row.ID, eve)
	if err != nil || confirmed.State != intent.Recorded || confirmed.Version != row.Version+1 || confirmed.DueAt != at || confirmed.Next().Kind != intent.Invoke {
		t.Fatalf("%+v, %v", confirmed, err)
	}
	if count := b.commits.Take(); count.Flushed != 1 {
		t.Errorf("%+v", count)
	}
	want := []outbox.Decision{{Number: 1, Kind: intent.Confirm, Decider: eve, Commitment: row.Commitment, Generation: 1, DecidedAt: at}}
	if list, err := b.Decisions(t.Context(), row.ID); err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	b.granted(t, confirmed)
}

func TestADeniedIntentEndsWithItsReceipt(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	denied, err := b.Deny(t.Context(), denial(row), eve, seal)
	if err != nil || denied.State != intent.Refused || denied.EndedAt != noon || !denied.DueAt.IsZero() || denied.Commitment != intent.Commitment(denied.Authorized()) {
		t.Fatalf("%+v, %v", denied, err)
	}
	if got := b.receipt(t, row.ID); got != "refused refused 0 " {
		t.Errorf("receipt %q", got)
	}
	// What was decided on is what was there, not what became of it.
	if list, err := b.Decisions(t.Context(), row.ID); err != nil || len(list) != 1 || list[0].Kind != intent.Deny || list[0].Commitment != row.Commitment {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhoAskedMayTakeItBackAndNotConfirmIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	self := outbox.Decider{Principal: row.Principal}
	if _, err := b.Confirm(t.Context(), row.ID, self); intent.CodeOf(err) != intent.CodeSelfConfirmation {
		t.Errorf("%v", err)
	}
	if after := b.load(t, row.ID); after.Version != row.Version || after.State != row.State {
		t.Errorf("it changed: %+v", after)
	}
	if list, err := b.Decisions(t.Context(), row.ID); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if denied, err := b.Deny(t.Context(), denial(row), self, seal); err != nil || denied.State != intent.Refused {
		t.Errorf("%+v, %v", denied, err)
	}
}

func TestADecisionIsTakenUntilTheLastMomentAndNotAtIt(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(b bundle, row outbox.Row) error{
		"confirm": func(b bundle, row outbox.Row) error { _, err := b.Confirm(t.Context(), row.ID, eve); return err },
		"deny": func(b bundle, row outbox.Row) error {
			_, err := b.Deny(t.Context(), denial(row), eve, seal)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			row := b.awaiting(t)
			b.setClock(t, row.ConfirmBy)
			var e *intent.Error
			if err := decide(b, row); !errors.As(err, &e) || e.Code != intent.CodeConfirmationExpired || e.Effect != intent.NotApplied || e.TryAgain {
				t.Errorf("at its time: %v", err)
			}
			if step := b.load(t, row.ID).Next(); step.Kind != intent.Settle || step.To != intent.Refused {
				t.Errorf("%+v", step)
			}
			b.setClock(t, row.ConfirmBy.Add(-time.Microsecond))
			if err := decide(b, row); err != nil {
				t.Errorf("just before it: %v", err)
			}
		})
	}
}

func TestASecondDecisionIsToldOfTheFirst(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	if _, err := b.Confirm(t.Context(), row.ID, eve); err != nil {
		t.Fatal(err)
	}
	later := outbox.Decider{Principal: "ada"}
	_, confirm := b.Confirm(t.Context(), row.ID, later)
	_, deny := b.Deny(t.Context(), denial(row), later, seal)
	for _, err := range []error{confirm, deny} {
		if intent.CodeOf(err) != intent.CodeNotAwaiting || !strings.Contains(err.Error(), "eve confirmed it at 2026-03-01T12:00:00Z") {
			t.Errorf("%v", err)
		}
	}
	if after := b.load(t, row.ID); after.State != intent.Recorded || after.Version != row.Version+1 {
		t.Errorf("%+v", after)
	}
}

func TestAnIntentThatNobodyHasToConfirmTakesNoDecision(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", keyed()))
	if _, err := b.Confirm(t.Context(), row.ID, eve); intent.CodeOf(err) != intent.CodeNotAwaiting || !strings.Contains(err.Error(), "recorded") {
		t.Errorf("%v", err)
	}
	if _, err := b.Deny(t.Context(), outbox.Refusal{ID: intent.ID{1}}, eve, seal); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("%v", err)
	}
}

func TestOfTwentyDecisionsAtOnceOneIsTaken(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=16")
	row := b.awaiting(t)
	taken := make([]error, 20)
	var group sync.WaitGroup
	for i := range taken {
		group.Go(func() {
			if i%2 == 0 {
				_, taken[i] = b.Confirm(t.Context(), row.ID, eve)
			} else {
				_, taken[i] = b.Deny(t.Context(), denial(row), eve, seal)
			}
		})
	}
	group.Wait()
	count := 0
	for i, err := range taken {
		switch {
		case err == nil:
			count++
			if want := []intent.State{intent.Recorded, intent.Refused}[i%2]; b.load(t, row.ID).State != want {
				t.Errorf("decision %d was taken, and the state is %s", i, b.load(t, row.ID).State)
			}
		case intent.CodeOf(err) != intent.CodeNotAwaiting:
			t.Error(err)
		}
	}
	if list, err := b.Decisions(t.Context(), row.ID); count != 1 || err != nil || len(list) != 1 {
		t.Errorf("%d were taken: %+v, %v", count, list, err)
	}
}

func TestAWaitThatEndedIsRefusedAndNotOneThatWasConfirmedMeanwhile(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	confirmed, err := b.Confirm(t.Context(), row.ID, eve)
	if err != nil {
		t.Fatal(err)
	}
	// Decided on before the confirmation was committed.
	if after, err := b.Refuse(t.Context(), denial(row), seal); err != nil || after.State != intent.Recorded || after.Version != confirmed.Version {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestTheJournalLeavesTheEndOfAWaitToARefusal(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	b.setClock(t, row.ConfirmBy)
	if after := b.journal(t, row, nil); after.State != intent.AwaitingConfirmation || after.Version != row.Version {
		t.Errorf("%+v", after)
	}
	if after, err := b.Refuse(t.Context(), denial(row), seal); err != nil || after.State != intent.Refused {
		t.Errorf("%+v, %v", after, err)
	}
}

// delegated inserts an intent that agent-7 asks for, for the assistant, for ada, and that waits for
// a person.
func (b bundle) delegated(t *testing.T) outbox.Row {
	t.Helper()
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	p.Principal = "agent-7"
	p.EffectContext = intent.EffectContext{Principal: "agent-7", Tenant: "acme", OnBehalfOf: []string{"assistant", "ada"}}.Canonical()
	p.ConfirmWithin = 24 * time.Hour
	return b.insert(t, p)
}

func TestNobodyWhoAskedConfirmsNorAnybodyWhoActsForThem(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.delegated(t)
	for name, by := range map[string]outbox.Decider{
		"the requester":                              {Principal: "agent-7"},
		"the requester, for somebody else":           {Principal: "agent-7", OnBehalfOf: []string{"eve"}},
		"for whom it was asked":                      {Principal: "assistant"},
		"for whom it was asked in the end":           {Principal: "ada"},
		"who acts for the requester":                 {Principal: "agent-8", OnBehalfOf: []string{"agent-7"}},
		"who acts for them in the end":               {Principal: "agent-8", OnBehalfOf: []string{"bob", "ada"}},
		"another agent of the same person":           {Principal: "agent-8", OnBehalfOf: []string{"ada"}},
		"for whom it was asked, in another's name":   {Principal: "ada", OnBehalfOf: []string{"eve"}},
		"who has every role and acts for one of all": {Principal: "eve", Roles: []string{"finance"}, OnBehalfOf: []string{"assistant"}},
	} {
		if _, err := b.Confirm(t.Context(), row.ID, by); intent.CodeOf(err) != intent.CodeSelfConfirmation || !strings.Contains(err.Error(), row.ID.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := b.load(t, row.ID); after.Version != row.Version {
		t.Errorf("it changed: %+v", after)
	}
	other := outbox.Decider{Principal: "eve", Roles: []string{"clerk", "finance"}, OnBehalfOf: []string{"bob"}, AuthenticationSource: intent.AuthenticatedDirect}
	if confirmed, err := b.Confirm(t.Context(), row.ID, other); err != nil || confirmed.State != intent.Recorded {
		t.Fatalf("%+v, %v", confirmed, err)
	}
	list, err := b.Decisions(t.Context(), row.ID)
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0].Roles, other.Roles) || !reflect.DeepEqual(list[0].OnBehalfOf, other.OnBehalfOf) ||
		list[0].AuthenticationSource != intent.AuthenticatedDirect {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhoActsForTheRequesterMayTakeItBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.delegated(t)
	if denied, err := b.Deny(t.Context(), denial(row), outbox.Decider{Principal: "ada"}, seal); err != nil || denied.State != intent.Refused {
		t.Errorf("%+v, %v", denied, err)
	}
}
