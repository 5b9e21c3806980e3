package outbox

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/internal/pgtest"
)

// explainedNode is a part of PostgreSQL's EXPLAIN (FORMAT JSON).
type explainedNode struct {
	Type    string  `json:"Node Type"`
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Removed float64 `json:"Rows Removed by Filter"`
	// Rechecked is what an index found that was not asked for.
	Rechecked float64         `json:"Rows Removed by Index Recheck"`
	Table     string          `json:"Relation Name"`
	Plans     []explainedNode `json:"Plans"`
}

// read is how many rows of a table were read, and whether something was sorted. A bitmap that is
// read is counted where its rows are.
func (n explainedNode) read(table string) (rows float64, sorted bool) {
	if n.Table == table {
		rows = (n.Rows + n.Removed + n.Rechecked) * n.Loops
	}
	sorted = n.Type == "Sort" || n.Type == "Incremental Sort"
	for _, child := range n.Plans {
		r, s := child.read(table)
		rows, sorted = rows+r, sorted || s
	}
	return rows, sorted
}

// What is taken costs the same whatever waits behind it.
func TestTakingFromALargeBacklogReadsLittleMoreThanItTakesAndSortsNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	// One tenant with 100,000 requests that are due and 100 under way, one with 20,000 that are not,
	// and 20 with few.
	const fill = `
		INSERT INTO enqueued (id, tenant, request_key, principal, tool, payload, effect_context, salt, fingerprint, traceparent, created_at, due_at, dispatched_at)
		SELECT gen_random_uuid(), CASE WHEN n <= 100100 THEN 'acme' WHEN n <= 120100 THEN 'later' ELSE 'tenant-' || n % 20 END, 'order-' || n,
			'till-7', 'payments.capture', '{}', '{}', decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), '', writ_now(),
			writ_now() + CASE WHEN n <= 100 OR n > 100100 AND n <= 120100 THEN interval '1 hour' ELSE interval '0' END,
			CASE WHEN n <= 100 THEN writ_now() END
		FROM generate_series(1, 120200) n`
	for _, statement := range []string{fill, `ANALYZE enqueued`} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// Of the tenants each entry is read, and what is under way; what is taken is read once to find it
	// and once to change it.
	for what, c := range map[string]struct {
		statement string
		args      []any
		most      float64
	}{
		"comparing the tenants":     {dueTenants, []any{nil, "", "", false, turnSize}, 175},
		"looking for one with none": {dueTenants, []any{nil, "", "", true, turnSize}, 175},
		"comparing up to one":       {dueTenants, []any{nil, "", "later", false, turnSize}, 125},
		"taking":                    {takeDue, []any{nil, []string{"acme", "tenant-3"}, []int{20, 5}, firstDispatchGrace, lastDispatchGrace}, 75},
	} {
		t.Run(what, func(t *testing.T) {
			plan, raw := analyzed(t, pool, c.statement, c.args...)
			if rows, sorted := plan.read("enqueued"); rows > c.most || sorted {
				t.Errorf("%v rows are read, sorted: %t\n%s", rows, sorted, raw)
			}
		})
	}
}

// analyzed runs a statement and returns what it read.
func analyzed(t *testing.T, pool *pgxpool.Pool, statement string, args ...any) (plan explainedNode, raw []byte) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+statement, args...).Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan explainedNode }
	if err := json.Unmarshal(raw, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	return plans[0].Plan, raw
}
