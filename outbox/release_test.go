package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

func (b bundle) release(t *testing.T, on outbox.Subject) int {
	t.Helper()
	n, err := b.Release(t.Context(), on)
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestWhatWaitedForAHoldIsDueAtOnceWhenItIsLifted(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	tool := outbox.Subject{Scope: outbox.HoldTool, Name: "payments.capture"}
	held := b.insert(t, propose("held", banked()))
	wish := b.granted(t, b.insert(t, propose("the provider wants it later", banked())))
	later := of(wish, intent.NotApplied, "http_429")
	later.RetryAfterMS = (12 * time.Hour).Milliseconds()
	b.journal(t, wish.Row, &later)
	other := propose("held by another", banked())
	other.Tenant = "globex"
	twice := b.insert(t, other)
	hold := b.setHold(t, tool)
	b.setHold(t, outbox.Subject{Scope: outbox.HoldTenant, Name: "globex"})

	b.setClock(t, noon.Add(15*time.Second))
	if taken := b.takeStalled(t, 10); len(taken) != 2 {
		t.Fatalf("took %+v", taken)
	}
	soon := noon.Add(30 * time.Second) // when it would be taken again if nothing held it
	b.setClock(t, soon)
	if taken := b.takeStalled(t, 10); len(taken) != 0 {
		t.Errorf("what is held was taken again after %s: %+v", soon.Sub(noon), taken)
	}
	b.liftHold(t, hold.ID)
	if n := b.release(t, tool); n != 1 {
		t.Errorf("%d were released", n)
	}
	if taken := b.takeStalled(t, 10); len(taken) != 1 || taken[0].ID != held.ID {
		t.Errorf("took %+v", taken)
	}
	if row := b.load(t, twice.ID); !row.DueAt.After(soon) {
		t.Errorf("what another hold stops is due at %s", row.DueAt)
	}
	if row := b.load(t, wish.Row.ID); row.DueAt.Before(noon.Add(12 * time.Hour)) {
		t.Errorf("what the provider wants later is due at %s", row.DueAt)
	}
}

func TestAReleaseReachesEveryIntentAndPassesOverLockedRows(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	var locked outbox.Row
	for i := range 205 { // more than two batches
		locked = b.insert(t, propose(fmt.Sprintf("order-%d", i), banked()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM intents WHERE id = $1 FOR UPDATE`, locked.ID[:]); err != nil {
			return err
		}
		_, err := b.Release(ctx, bank)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if due := query[int](t, b, `SELECT count(*) FROM intents WHERE due_at <= writ_now()`); due != 204 {
		t.Errorf("%d of 205 are due, one of which was locked", due)
	}
}
