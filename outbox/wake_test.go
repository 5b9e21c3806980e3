package outbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

// listening listens in the background and returns when it does. What wakes it comes by the channel,
// and how it ended by the other one.
func listening(t *testing.T, ctx context.Context, store *outbox.Store) (woken <-chan struct{}, ended <-chan error) {
	t.Helper()
	wakes, end := make(chan struct{}, 100), make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		end <- store.Listen(ctx, func() { wakes <- struct{}{} })
	}()
	wait(t, "it listens", wakes)
	return wakes, end
}

// wait receives from the channel within half a minute.
func wait[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatalf("not within half a minute: %s", what)
		panic("unreachable")
	}
}

func (b bundle) wake(t *testing.T, db outbox.Execer) {
	t.Helper()
	if err := outbox.Wake(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// Messages arrive in the order of their commits, so what came before the last one woke nobody.
func TestAListenerIsWokenByEveryWakeOfItsOwnOutboxAndByNoneOfAnother(t *testing.T) {
	t.Parallel()
	b, other := start(t), start(t)
	woken, _ := listening(t, t.Context(), b.Store)
	for range 5 {
		other.wake(t, other.pool)
	}
	b.wake(t, b.pool)
	wait(t, "its wake arrives", woken)
	other.wake(t, other.pool)
	b.wake(t, b.pool)
	wait(t, "the next one arrives", woken)
	if len(woken) != 0 {
		t.Errorf("it is woken %d times too often", len(woken))
	}
}

func TestAHostWhoseOwnTablesComeFirstInItsSearchPathWakesTheOutbox(t *testing.T) {
	t.Parallel()
	b := start(t)
	woken, _ := listening(t, t.Context(), b.Store)
	host, err := pgx.Connect(t.Context(), pgtest.Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(t.Context())
	if err := outbox.Wake(t.Context(), host); intent.CodeOf(err) != intent.CodeMigrationRequired {
		t.Errorf("without Writ's schema in its path: %v", err)
	}
	schema := query[string](t, b, `SELECT current_schema()`)
	if _, err := host.Exec(t.Context(), `SELECT set_config('search_path', current_schema() || ', ' || $1, false)`, schema); err != nil {
		t.Fatal(err)
	}
	b.wake(t, host)
	wait(t, "the wake of the host arrives", woken)
}

func TestAWakeInATransactionThatIsOpenArrivesWithItsCommit(t *testing.T) {
	t.Parallel()
	b := start(t)
	woken, _ := listening(t, t.Context(), b.Store)
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.wake(t, tx)
	b.wake(t, b.pool) // does not wait for the other one
	wait(t, "the wake outside of it arrives", woken)
	if len(woken) != 0 {
		t.Error("the open transaction wakes")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the wake of the transaction arrives", woken)
}

func TestARequestThatIsTriedAgainWakesTheDispatchers(t *testing.T) {
	t.Parallel()
	b := start(t)
	if err := b.enqueue(t, enqueued(`{}`), true); err != nil {
		t.Fatal(err)
	}
	woken, _ := listening(t, t.Context(), b.Store)
	if _, err := b.Retry(t.Context(), intent.IntentID("acme", "order-7"), outbox.Decider{Principal: "ada"}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the wake of the retry arrives", woken)
}

func TestAListenerSaysThatItsConnectionBrokeAndThatItsCallerStopped(t *testing.T) {
	t.Parallel()
	b := start(t, "application_name=listener")
	_, broken := listening(t, t.Context(), b.Store)
	b.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'listener' AND query LIKE '%regnamespace%'`)
	if err := wait(t, "it ends", broken); err == nil || errors.Is(err, outbox.ErrNotListening) {
		t.Errorf("terminated, it says %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	_, ended := listening(t, ctx, b.Store)
	stop()
	if err := wait(t, "it ends", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, it says %v", err)
	}
}

// The pooler of the tests hands no messages on that nobody asked for, so that they do not arrive.
func TestAListenerListensOnlyThroughAPoolerThatLeavesItsConnectionToIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	through := func(o pgtest.PoolerOptions) *outbox.Store {
		pool, _ := pgtest.Pool(t, pgtest.Pooler(t, b.url, o))
		return outbox.New(pool)
	}
	listening(t, t.Context(), through(pgtest.PoolerOptions{Size: 4}))
	for _, o := range []pgtest.PoolerOptions{{PerTransaction: true, Size: 4}, {PerStatement: true, Size: 4}} {
		if err := through(o).Listen(t.Context(), func() { t.Error("it listens") }); !errors.Is(err, outbox.ErrNotListening) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
