package writ

import (
	"context"
	"sync"
	"testing"
	"time"

	"writ/internal/pgtest"
)

// Five hundred callers wait for a lock that somebody else holds, and vanish in the middle
// of their statement.
func TestCallersThatVanishInMidStatementLeaveThePoolWhole(t *testing.T) {
	t.Parallel()
	pool, err := newPool(pgtest.Schema(t) + "&pool_max_conns=25")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	watcher, err := newPool(pgtest.Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	held, err := watcher.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	const lock = 4711
	if _, err := held.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, lock); err != nil {
		t.Fatal(err)
	}
	together := int(pool.Config().MaxConns)
	for vanished := 0; vanished < 500; vanished += together {
		callers, vanish := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range together {
			all.Go(func() {
				if _, err := pool.Exec(callers, `SELECT pg_advisory_lock($1)`, lock); err == nil {
					t.Error("a caller got a lock that is held")
				}
			})
		}
		awaitWaiting(t, held.Conn().QueryRow, lock, together)
		vanish()
		all.Wait()
	}
	awaitWaiting(t, held.Conn().QueryRow, lock, 0) // no session is left that somebody forgot
	if _, err := held.Exec(t.Context(), `SELECT pg_advisory_unlock($1)`, lock); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); pool.Stat().AcquiredConns() != 0; { // they are closed behind the callers' backs
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are still in use", pool.Stat().AcquiredConns())
		}
	}
	for range 4 * together {
		var one int
		if err := pool.QueryRow(t.Context(), `SELECT 1`).Scan(&one); err != nil {
			t.Fatal(err)
		}
	}
}

type scanner interface{ Scan(into ...any) error }

// awaitWaiting returns when so many sessions wait for the lock.
func awaitWaiting[R scanner](t *testing.T, query func(context.Context, string, ...any) R, lock, sessions int) {
	t.Helper()
	const count = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	for deadline := time.Now().Add(time.Minute); ; {
		var waiting int
		if err := query(t.Context(), count, lock).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting == sessions {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d sessions wait for the lock", waiting, sessions)
		}
	}
}
