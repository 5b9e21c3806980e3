package outbox_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

// strict runs the test with roles whose transactions see one snapshot by default: what such a
// transaction reads after a lock is older than the lock.
func strict(t *testing.T, test func(t *testing.T, b bundle)) {
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			url := with(t, b.url, "default_transaction_isolation", level)
			pool, _ := pgtest.Pool(t, strings.ReplaceAll(url, "repeatable+read", "repeatable%20read"))
			b.Store = outbox.New(pool)
			test(t, b)
		})
	}
}

// begin begins a transaction that a test holds locks in.
func (b bundle) begin(t *testing.T, statement string) pgx.Tx {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // after a failure the pool waits for it
	execIn(t, tx, statement)
	return tx
}

func execIn(t *testing.T, tx pgx.Tx, statement string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// linger makes whoever inserts an intent wait, before its commit, for the end of a transaction that
// has begun with the returned statement.
func (b bundle) linger(t *testing.T) (hold string) {
	t.Helper()
	b.exec(t, `
		CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_advisory_xact_lock('intents'::regclass::oid::bigint); RETURN NEW; END $$`)
	b.exec(t, `CREATE TRIGGER linger AFTER INSERT ON intents FOR EACH ROW EXECUTE FUNCTION linger()`)
	return `SELECT pg_advisory_xact_lock('intents'::regclass::oid::bigint)`
}

// awaitWaiting waits until n transactions or more that use the table wait for a lock.
func (b bundle) awaitWaiting(t *testing.T, table string, n int) {
	t.Helper()
	await(t, "transactions wait", func() bool {
		return query[int](t, b, `
			SELECT count(DISTINCT l.pid)::int FROM pg_locks l
			JOIN pg_locks held ON held.pid = l.pid AND held.granted AND held.relation = to_regclass($1) WHERE NOT l.granted`, table) >= n
	})
}

func TestAClaimThatWaitedForAHoldIsNotGrantedWhateverTheRolesIsolation(t *testing.T) {
	t.Parallel()
	strict(t, func(t *testing.T, b bundle) {
		row := b.insert(t, propose("order-7", banked()))
		setter := b.begin(t, `SELECT pg_advisory_xact_lock(writ_hold_lock('provider', 'bank'))`)
		claimed := make(chan outbox.Claim, 1)
		go func() { claimed <- b.claim(t, row) }()
		b.awaitWaiting(t, "intents", 1)
		execIn(t, setter, `INSERT INTO holds (id, scope, name, automatic, principal, note, set_at) VALUES (gen_random_uuid(), 'provider', 'bank', false, 'ada', '', writ_now())`)
		commit(t, setter)
		if c := <-claimed; c.Granted || c.Row.Next().Reason != intent.ReasonHeld {
			t.Errorf("granted %v although the bank is held: %+v", c.Granted, c.Row.Next())
		}
	})
}

func TestADropThatWaitedForAnIntentDropsNothingWhateverTheRolesIsolation(t *testing.T) {
	t.Parallel()
	strict(t, func(t *testing.T, b bundle) {
		mine := propose("order-7", keyed())
		if err := b.enqueue(t, requested(mine), true); err != nil {
			t.Fatal(err)
		}
		gate := b.begin(t, b.linger(t))
		inserted, dropped := make(chan error, 1), make(chan error, 1)
		go func() { _, err := b.Insert(t.Context(), mine); inserted <- err }()
		b.awaitWaiting(t, "enqueued", 1)
		go func() { _, err := b.Drop(t.Context(), mine.ID(), withdrawn); dropped <- err }()
		b.awaitDrop(t, mine.ID())
		commit(t, gate)
		if err := <-inserted; err != nil {
			t.Error(err)
		}
		if err := <-dropped; intent.CodeOf(err) != intent.CodeAlreadyDispatched {
			t.Errorf("an intent was dropped: %v", err)
		}
	})
}

// awaitDrop waits until a drop waits for whoever inserts the intent.
func (b bundle) awaitDrop(t *testing.T, id intent.ID) {
	t.Helper()
	await(t, "the drop waits", func() bool {
		return query[bool](t, b, `
			SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted AND objsubid = 1
				AND ((classid::bigint << 32) | objid::bigint) = $1)`, int64(binary.BigEndian.Uint64(id[8:])))
	})
}
