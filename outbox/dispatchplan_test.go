package outbox

import (
	"encoding/json"
	"testing"

	"writ/internal/pgtest"
)

// explainedNode is a part of PostgreSQL's EXPLAIN (FORMAT JSON).
type explainedNode struct {
	Type    string          `json:"Node Type"`
	Rows    float64         `json:"Actual Rows"`
	Loops   float64         `json:"Actual Loops"`
	Removed float64         `json:"Rows Removed by Filter"`
	Table   string          `json:"Relation Name"`
	Plans   []explainedNode `json:"Plans"`
}

// read is how many rows of enqueued were read, and whether something was sorted.
func (n explainedNode) read() (rows float64, sorted bool) {
	if n.Table == "enqueued" {
		rows = (n.Rows + n.Removed) * n.Loops
	}
	sorted = n.Type == "Sort" || n.Type == "Incremental Sort"
	for _, child := range n.Plans {
		r, s := child.read()
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
	// One tenant with 100,000 requests that are due, one with 20,000 that are not, and 20 with few.
	const fill = `
		INSERT INTO enqueued (id, tenant, request_key, principal, tool, payload, effect_context, salt, fingerprint, traceparent, created_at, due_at)
		SELECT gen_random_uuid(), CASE WHEN n <= 100000 THEN 'acme' WHEN n <= 120000 THEN 'later' ELSE 'tenant-' || n % 20 END, 'order-' || n,
			'till-7', 'payments.capture', '{}', '{}', decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), '', writ_now(),
			writ_now() + CASE WHEN n > 100000 AND n <= 120000 THEN interval '1 hour' ELSE interval '0' END
		FROM generate_series(1, 120100) n`
	for _, statement := range []string{fill, `ANALYZE enqueued`} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var raw []byte
	if err := pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+takeDue, Take{Limit: 25}.args()...).Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan explainedNode }
	if err := json.Unmarshal(raw, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	// Each is read once to find it and once to change it, and each tenant once.
	if rows, sorted := plans[0].Plan.read(); rows > 200 || sorted {
		t.Errorf("%v rows are read, sorted: %t\n%s", rows, sorted, raw)
	}
}
