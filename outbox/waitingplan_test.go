package outbox

import (
	"testing"

	"writ/internal/pgtest"
)

// Sweeps write nothing of what waits for people, and read at most the row with which a join begins.
func TestASweepReadsAtMostOneOfAThousandIntentsThatWaitForPeople(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, commits := pgtest.Pool(t, url)
	const (
		fill = `
			INSERT INTO intents (id, tenant, request_key, principal, tool, task_queue, class, state, version, generation, idempotency_key, payload,
				effect_context, decision, salt, fingerprint, spec_digest, commitment, rules, traceparent, created_at, due_at, confirm_by)
			SELECT gen_random_uuid(), 'acme', 'order-' || n, 'till-7', 'payments.capture', 'writ', 'keyed', 'awaiting_confirmation', 1, 1, gen_random_uuid()::text, '{}',
				'{}', '{}', decode(repeat('00', 16), 'hex'), sha256(''), sha256(''), sha256(n::text::bytea), '{}', '', writ_now(), writ_now() + interval '30 days', writ_now() + interval '30 days'
			FROM generate_series(1, 1000) n`
		versions = `SELECT md5(string_agg(id::text || xmin || version, ',' ORDER BY id)) FROM intents`
	)
	for _, statement := range []string{fill, `ANALYZE intents`} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var before, after string
	if err := pool.QueryRow(t.Context(), versions).Scan(&before); err != nil {
		t.Fatal(err)
	}
	commits.Take()
	store := New(pool)
	for range 5 {
		if taken, err := store.TakeStalled(t.Context(), 100); err != nil || len(taken) != 0 {
			t.Errorf("%d are taken, %v", len(taken), err)
		}
	}
	if err := pool.QueryRow(t.Context(), versions).Scan(&after); err != nil || after != before {
		t.Errorf("sweeps have changed something: %v", err)
	}
	if count := commits.Take(); count != (pgtest.CommitCount{}) {
		t.Errorf("%+v", count)
	}
	plan, raw := analyzed(t, pool, takeStalled, 100, progressGrace, heldGrace, StuckAfter, alarmEvery)
	if rows, _ := plan.read("intents"); rows > 1 {
		t.Errorf("%v rows are read\n%s", rows, raw)
	}
}
