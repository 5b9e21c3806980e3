package outbox_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/internal/pgtest"
	"writ/outbox"
)

// A claim holds the locks of its subjects and waits for the row; whoever holds the row then wants
// one of the locks. PostgreSQL breaks the circle at the claim, which waits longer.
func TestAClaimThatADeadlockWasBrokenAtIsGrantedOnceTheOtherHasEnded(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-1", keyed()))
	other, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string, arguments ...any) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), statement, arguments...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	exec(`SET LOCAL deadlock_timeout = '1min'`)
	exec(`SELECT FROM intents WHERE id = $1 FOR UPDATE`, row.ID[:])
	claimed := make(chan outbox.Claim, 1)
	go func() { claimed <- b.claim(t, row) }()
	b.awaitLockWait(t)
	exec(`SELECT pg_advisory_xact_lock(writ_hold_lock('tenant', $1))`, row.Tenant)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := <-claimed; !c.Granted {
		t.Errorf("%+v", c)
	}
	if after := b.load(t, row.ID); len(after.Attempts) != 1 {
		t.Errorf("%d attempts were granted", len(after.Attempts))
	}
}

// A role whose transactions are serializable by default loses the races that others wait for.
func TestCallersThatMeetOnOneRowUnderSerializableAreAnsweredAll(t *testing.T) {
	t.Parallel()
	b := start(t)
	pool, _ := pgtest.Pool(t, with(t, with(t, b.url, "default_transaction_isolation", "serializable"), "pool_max_conns", "8"))
	strict := b
	strict.Store = outbox.New(pool)
	const meet = 8
	for round := range 5 {
		row := b.insert(t, propose(fmt.Sprintf("order-%d", round), keyed()))
		granted := make(chan bool, meet)
		var all sync.WaitGroup
		for range meet {
			all.Go(func() { granted <- strict.claim(t, row).Granted })
		}
		all.Wait()
		close(granted)
		count := 0
		for g := range granted {
			if g {
				count++
			}
		}
		if after := b.load(t, row.ID); count != 1 || len(after.Attempts) != 1 {
			t.Errorf("%d claims were granted, %d are on the row", count, len(after.Attempts))
		}
	}
}
