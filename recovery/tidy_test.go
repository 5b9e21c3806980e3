package recovery_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
	"writ/recovery"
)

func TestTidyingDropsEveryExpiredMarkOfTheGuardAndNoOther(t *testing.T) {
	t.Parallel()
	store, pool := newOutbox(t)
	ahead := func(interval string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
			AS $$ SELECT clock_timestamp() + interval '%s' $$`, interval))
		if err != nil {
			t.Fatal(err)
		}
	}
	insert := func(key intent.RequestKey, tenant string, window time.Duration) {
		t.Helper()
		p := outbox.Proposal{Tenant: tenant, RequestKey: key, Principal: "till-7", Tool: "payments.capture", TaskQueue: "canary",
			Payload: []byte(`{}`), EffectContext: []byte(`{}`), Decision: []byte(`{}`), IdempotencyKey: intent.DeriveKey(tenant, "payments.capture", key, 1),
			Rules: intent.Rules{Class: intent.Keyed, Timeout: time.Second, MaxAttempts: 1}, Guard: &outbox.Guard{Window: window}}
		if _, err := store.Insert(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	insert("order-1", "acme", time.Minute)
	insert("order-2", "globex", 7*24*time.Hour)
	// More than two batches that expired long ago.
	_, err := pool.Exec(t.Context(), `INSERT INTO duplicate_guards (digest, intent_id, created_at, expires_at)
		SELECT sha256(n::text::bytea), id, created_at, created_at FROM intents, generate_series(1, 1250) AS n`)
	if err != nil {
		t.Fatal(err)
	}
	sweeper := recovery.NewSweeper(store, &temporalClient{}, slog.New(slog.DiscardHandler))
	left := func() (marks, keys int) {
		t.Helper()
		err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM duplicate_guards), (SELECT count(*) FROM guard_keys)`).Scan(&marks, &keys)
		if err != nil {
			t.Fatal(err)
		}
		return marks, keys
	}
	for _, step := range []struct {
		after       string
		marks, keys int
	}{{"0 s", 2, 2}, {"2 minutes", 1, 2}, {"2 days", 1, 1}, {"9 days", 0, 0}} {
		ahead(step.after)
		if err := sweeper.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if marks, keys := left(); marks != step.marks || keys != step.keys {
			t.Errorf("after %s: %d marks and %d keys, want %d and %d", step.after, marks, keys, step.marks, step.keys)
		}
	}
}

func TestAnIntentWhoseWaitForAPersonEndedIsStartedAndNotBefore(t *testing.T) {
	t.Parallel()
	store, pool := newOutbox(t)
	key := intent.MintedRequestKey(uuid.New())
	p := outbox.Proposal{Tenant: "acme", RequestKey: key, Principal: "till-7", Tool: "payments.capture", TaskQueue: "canary",
		Payload: []byte(`{}`), EffectContext: []byte(`{}`), Decision: []byte(`{}`), IdempotencyKey: intent.DeriveKey("acme", "payments.capture", key, 1),
		Rules: intent.Rules{Class: intent.Keyed, Timeout: time.Second, MaxAttempts: 1}, ConfirmWithin: 24 * time.Hour}
	if _, err := store.Insert(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	sweeper := recovery.NewSweeper(store, &temporalClient{}, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		after   string
		started int
	}{{"23 hours", 0}, {"25 hours", 1}} {
		_, err := pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
			AS $$ SELECT clock_timestamp() + interval '%s' $$`, step.after))
		if err != nil {
			t.Fatal(err)
		}
		if started, err := sweeper.Sweep(t.Context()); err != nil || started != step.started {
			t.Errorf("after %s: %d, %v", step.after, started, err)
		}
	}
}
