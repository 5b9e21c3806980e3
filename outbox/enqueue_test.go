package outbox_test

import (
	"context"
	"testing"

	"writ/intent"
	"writ/outbox"
)

func TestARequestIsEnqueuedWithTheHostsTransactionOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := start(t)
	e := enqueued(`{}`)
	if err := b.enqueue(t, e, false); err != nil {
		t.Fatal(err)
	}
	b.wantEnqueued(t, 0)
	for range 2 {
		if err := b.enqueue(t, e, true); err != nil {
			t.Fatal(err)
		}
		b.wantEnqueued(t, 1)
	}
}

func TestARequestKeyOfAnotherActionIsRefusedAndTheHostsTransactionGoesOn(t *testing.T) {
	t.Parallel()
	b := start(t)
	if err := b.enqueue(t, enqueued(`{}`), true); err != nil {
		t.Fatal(err)
	}
	if err := b.enqueue(t, enqueued(`{"a":1}`), true); intent.CodeOf(err) != intent.CodeIdempotencyConflict {
		t.Fatalf("another action under the same key: %v", err)
	}
	b.wantEnqueued(t, 1)
}

func TestAnErrorOfPostgreSQLDoesNotEndTheHostsTransaction(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.exec(t, `DROP TABLE enqueued`)
	if err := b.enqueue(t, enqueued(`{}`), true); err == nil {
		t.Fatal("a request was enqueued without a table")
	}
}

// PostgreSQL fell at some ten thousand savepoints within each other.
func TestRequestsThatAreRefusedInOneTransactionLeaveNothingBehindInIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	if err := b.enqueue(t, enqueued(`{}`), true); err != nil {
		t.Fatal(err)
	}
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // it failed above, or has ended
	// Each transaction within another one has memory of its own.
	const query = `SELECT count(*)::int FROM pg_backend_memory_contexts WHERE name = 'CurTransactionContext'`
	var before, after int
	if err := tx.QueryRow(t.Context(), query).Scan(&before); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := outbox.Enqueue(t.Context(), tx, enqueued(`{"a":1}`)); intent.CodeOf(err) != intent.CodeIdempotencyConflict {
			t.Fatalf("another action under the same key: %v", err)
		}
	}
	if err := tx.QueryRow(t.Context(), query).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if after != before {
		t.Errorf("%d savepoints are left", after-before)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantEnqueued(t, 1)
}

func enqueued(payload string) outbox.Enqueued {
	action := intent.Action{Tenant: "acme", Principal: "till-7", Tool: "payments.capture", Payload: []byte(payload)}
	return outbox.Enqueued{RequestKey: "order-7", Action: action, EffectContext: []byte(`{}`)}
}

// enqueue enqueues in a transaction of its own, which must be usable whatever comes of it.
func (b bundle) enqueue(t *testing.T, e outbox.Enqueued, commit bool) error {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, refused := outbox.Enqueue(t.Context(), tx, e)
	if _, err := tx.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Fatalf("the host's transaction cannot go on: %v", err)
	}
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	return refused
}

func (b bundle) wantEnqueued(t *testing.T, want int) {
	t.Helper()
	if n := query[int](t, b, `SELECT count(*)::int FROM enqueued`); n != want {
		t.Fatalf("%d requests are enqueued, want %d", n, want)
	}
}
