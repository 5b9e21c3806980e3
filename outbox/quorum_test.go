package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// awaitingTwo inserts an intent at noon that waits a day for two people.
func (b bundle) awaitingTwo(t *testing.T) outbox.Row {
	t.Helper()
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	p.ConfirmWithin, p.Approvers = 24*time.Hour, 2
	return b.insert(t, p)
}

func TestAnIntentThatTwoMustConfirmGoesOnWithTheSecond(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaitingTwo(t)
	first, err := b.Confirm(t.Context(), row.ID, eve)
	if err != nil || first.State != intent.AwaitingConfirmation || first.Version != row.Version+1 || first.DueAt != row.ConfirmBy || first.Record().Unconfirmed() != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	if c := b.claim(t, first); c.Granted {
		t.Error("it was claimed after one of two")
	}
	_, err = b.Confirm(t.Context(), row.ID, eve)
	if intent.CodeOf(err) != intent.CodeAlreadyConfirmed || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("the same person again: %v", err)
	}
	second, err := b.Confirm(t.Context(), row.ID, ada)
	if err != nil || second.State != intent.Recorded || second.Next().Kind != intent.Invoke {
		t.Fatalf("%+v, %v", second, err)
	}
	_, err = b.Confirm(t.Context(), row.ID, eve)
	if intent.CodeOf(err) != intent.CodeNotAwaiting || !strings.Contains(err.Error(), "eve confirmed it") || !strings.Contains(err.Error(), "ada confirmed it") {
		t.Errorf("after both: %v", err)
	}
	if list, err := b.Decisions(t.Context(), row.ID); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	b.granted(t, second)
}

func TestOneDenialEndsWhatOneOfTwoHasConfirmed(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaitingTwo(t)
	if _, err := b.Confirm(t.Context(), row.ID, eve); err != nil {
		t.Fatal(err)
	}
	if denied, err := b.Deny(t.Context(), denial(row), ada, seal); err != nil || denied.State != intent.Refused {
		t.Fatalf("%+v, %v", denied, err)
	}
	_, err := b.Confirm(t.Context(), row.ID, outbox.Decider{Principal: "bob"})
	if intent.CodeOf(err) != intent.CodeNotAwaiting || !strings.Contains(err.Error(), "ada denied it") {
		t.Errorf("%v", err)
	}
}

func TestOneOfTwoIsNotEnoughWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaitingTwo(t)
	b.setClock(t, row.ConfirmBy.Add(-time.Millisecond))
	if _, err := b.Confirm(t.Context(), row.ID, eve); err != nil {
		t.Fatal(err)
	}
	b.setClock(t, row.ConfirmBy.Add(time.Millisecond))
	if _, err := b.Confirm(t.Context(), row.ID, ada); intent.CodeOf(err) != intent.CodeConfirmationExpired {
		t.Errorf("%v", err)
	}
	if step := b.load(t, row.ID).Next(); step.Kind != intent.Settle || step.To != intent.Refused {
		t.Errorf("%+v", step)
	}
}

func TestWhatWasConfirmedInTimeIsClaimedAWeekLater(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	b.setClock(t, row.ConfirmBy.Add(-time.Millisecond))
	confirmed, err := b.Confirm(t.Context(), row.ID, eve)
	if err != nil {
		t.Fatal(err)
	}
	b.setClock(t, noon.Add(7*24*time.Hour))
	b.granted(t, confirmed)
}

// What no release does, a hand at the database may.
func TestTheClaimLooksWhetherTheConfirmationWasInTime(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	confirmed, err := b.Confirm(t.Context(), row.ID, eve)
	if err != nil {
		t.Fatal(err)
	}
	b.exec(t, `ALTER TABLE decisions DISABLE TRIGGER keep`)
	b.exec(t, `UPDATE decisions SET decided_at = $1`, row.ConfirmBy)
	if c := b.claim(t, confirmed); c.Granted || c.Row.Next().To != intent.Cancelled {
		t.Errorf("%+v, next %+v", c, c.Row.Next())
	}
}

func TestTheDatabaseLetsNothingGoOnThatTooFewHaveConfirmed(t *testing.T) {
	t.Parallel()
	const release = `UPDATE intents SET version = version + 1, state = 'recorded', due_at = writ_now()`
	confirm := func(principal, commitment, at string) string {
		return fmt.Sprintf(`INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, generation, decided_at)
			SELECT i.id, 1 + (SELECT count(*) FROM decisions), 'confirm', '%s', '', %s, 1, %s FROM intents i`, principal, commitment, at)
	}
	const this, other, inTime = `i.commitment`, `sha256('another')`, `writ_now()`
	for name, c := range map[string]struct {
		statements []string
		goesOn     bool
	}{
		"nobody":                      {nil, false},
		"one":                         {[]string{confirm("eve", this, inTime)}, false},
		"one, twice":                  {[]string{confirm("eve", this, inTime), confirm("eve", this, inTime)}, false},
		"two, one of another":         {[]string{confirm("eve", this, inTime), confirm("ada", other, inTime)}, false},
		"two, one at the end":         {[]string{confirm("eve", this, inTime), confirm("ada", this, "i.confirm_by")}, false},
		"two":                         {[]string{confirm("eve", this, inTime), confirm("ada", this, inTime)}, true},
		"one, and fewer are asked of": {[]string{confirm("eve", this, inTime), `UPDATE intents SET version = version + 1, approvers = 1`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.awaitingTwo(t)
			err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
				for _, statement := range append(slices.Clone(c.statements), release) {
					if _, err := tx.Exec(t.Context(), statement); err != nil {
						return err
					}
				}
				return nil
			})
			if refused := err != nil && strings.Contains(err.Error(), "writ: "); refused == c.goesOn || err != nil && !refused {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAConfirmationOfWhatWasShownIsOfNothingElse(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	other := intent.Short(intent.Digest{7})
	_, err := b.ConfirmShown(t.Context(), row.ID, other, eve)
	if intent.CodeOf(err) != intent.CodeCommitmentChanged || !strings.Contains(err.Error(), string(intent.Short(row.Commitment))) {
		t.Errorf("%v", err)
	}
	if after := b.load(t, row.ID); after.Version != row.Version {
		t.Errorf("it changed: %+v", after)
	}
	if confirmed, err := b.ConfirmShown(t.Context(), row.ID, intent.Short(row.Commitment), eve); err != nil || confirmed.State != intent.Recorded {
		t.Errorf("%+v, %v", confirmed, err)
	}
}

func TestOfTwentyConfirmationsAtOnceByTenPeopleTwoCount(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=16")
	row := b.awaitingTwo(t)
	results := make([]error, 20)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			_, results[i] = b.Confirm(context.WithoutCancel(t.Context()), row.ID, outbox.Decider{Principal: fmt.Sprintf("person-%d", i%10)})
		})
	}
	group.Wait()
	taken := 0
	for _, err := range results {
		switch code := intent.CodeOf(err); {
		case err == nil:
			taken++
		case code != intent.CodeNotAwaiting && code != intent.CodeAlreadyConfirmed:
			t.Error(err)
		}
	}
	after := b.load(t, row.ID)
	if taken != 2 || after.State != intent.Recorded || after.Version != row.Version+2 || len(after.Record().Confirmed()) != 2 {
		t.Errorf("%d were taken: %+v", taken, after)
	}
}

func TestWhatTwoHadToConfirmIsNotIssuedAgainByOne(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaitingTwo(t)
	for _, by := range []outbox.Decider{eve, ada} {
		if _, err := b.Confirm(t.Context(), row.ID, by); err != nil {
			t.Fatal(err)
		}
	}
	c := b.granted(t, b.load(t, row.ID))
	ev := of(c, intent.NotApplied, "card_declined")
	ev.Final = true
	if failed := b.journal(t, b.load(t, row.ID), &ev); failed.State != intent.Failed {
		t.Fatalf("%+v", failed)
	}
	_, err := b.Reissue(t.Context(), row.ID, outbox.Decider{Principal: "bob"}, nil, func(outbox.Row) outbox.Renewal {
		t.Error("it was renewed")
		return outbox.Renewal{}
	})
	if intent.CodeOf(err) != intent.CodeNotReissuable || !strings.Contains(err.Error(), "2 people had to confirm") {
		t.Errorf("%v", err)
	}
}

func TestAPersonAndWhoActsForItAreOneOfTwo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, second outbox.Decider }{
		"the agent second":       {outbox.Decider{Principal: "eve"}, outbox.Decider{Principal: "agent-1", OnBehalfOf: []string{"eve"}}},
		"the agent first":        {outbox.Decider{Principal: "agent-1", OnBehalfOf: []string{"eve"}}, outbox.Decider{Principal: "eve"}},
		"two agents of the same": {outbox.Decider{Principal: "agent-1", OnBehalfOf: []string{"eve"}}, outbox.Decider{Principal: "agent-2", OnBehalfOf: []string{"eve"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			row := b.awaitingTwo(t)
			if _, err := b.Confirm(t.Context(), row.ID, c.first); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Confirm(t.Context(), row.ID, c.second); intent.CodeOf(err) != intent.CodeAlreadyConfirmed {
				t.Errorf("%v", err)
			}
			if after := b.load(t, row.ID); after.State != intent.AwaitingConfirmation || after.Record().Unconfirmed() != 1 {
				t.Errorf("%+v", after)
			}
		})
	}
}
