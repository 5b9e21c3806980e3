package outbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/internal/pgtest"
)

// many is an outbox with that many intents, one in a hundred of them open and one in a
// hundred suspected. They are a second apart.
func many(t testing.TB, count int) *pgxpool.Pool {
	t.Helper()
	url := pgtest.Schema(t)
	if err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	const fill = `
		INSERT INTO intents (id, tenant, request_key, principal, tool, task_queue, class, state, version, generation, idempotency_key,
			payload, effect_context, decision, salt, fingerprint, spec_digest, commitment, rules, traceparent, created_at, ended_at, suspected_duplicate_of)
		SELECT gen_random_uuid(), 'tenant-' || n % 100, 'order-' || n, 'till-7', 'payments.capture', 'writ', 'keyed',
			CASE WHEN n % 100 = 0 THEN 'in_doubt' ELSE 'completed' END, 1, 1, gen_random_uuid()::text,
			'{}', '{}', '{}', decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'),
			decode(repeat('00', 32), 'hex'), '{}', '', '2026-03-01T12:00:00Z'::timestamptz + n * interval '1 second',
			CASE WHEN n % 100 > 0 THEN '2026-03-02T12:00:00Z'::timestamptz END, CASE WHEN n % 100 = 1 THEN gen_random_uuid() END
		FROM generate_series(1, $1) n`
	for _, statement := range []string{fill, `ANALYZE intents`} {
		args := []any{count}[:strings.Count(statement, "$1")]
		if _, err := pool.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

func TestAPageIsReadFromAnIndexThatHoldsItsOrder(t *testing.T) {
	t.Parallel()
	pool := many(t, 20_000)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	behind := cursor{createdAt: noon.Add(3 * time.Hour), id: intent.IntentID("acme", "order-1")}
	for name, tc := range map[string]struct {
		filter Filter
		span   span
		index  string
	}{
		"all":                    {Filter{}, span{}, "intents_created"},
		"a later page":           {Filter{}, span{after: &behind}, "intents_created"},
		"a span of time":         {Filter{}, span{since: noon.Add(time.Hour), until: noon.Add(2 * time.Hour)}, "intents_created"},
		"a tool":                 {Filter{Tool: "payments.capture"}, span{after: &behind}, "intents_created"},
		"completed":              {Filter{States: []intent.State{intent.Completed}}, span{}, "intents_created"},
		"a tenant":               {Filter{Tenant: "tenant-3"}, span{}, "intents_tenant_created"},
		"a tenant's later page":  {Filter{Tenant: "tenant-3"}, span{since: noon, after: &behind}, "intents_tenant_created"},
		"in doubt":               {Filter{States: []intent.State{intent.InDoubt}}, span{after: &behind}, "intents_open_created"},
		"open":                   {Filter{States: []intent.State{intent.InDoubt, intent.Invoking}}, span{}, "intents_open_created"},
		"suspected":              {Filter{SuspectedDuplicates: true}, span{after: &behind}, "intents_suspected_created"},
		"the key of one tenant":  {Filter{Tenant: "tenant-3", RequestKey: "order-103"}, span{}, "intents_tenant_request_key_key"},
		"everything about a key": {Filter{Tenant: "tenant-3", RequestKey: "order-103", Class: intent.Keyed, Tool: "payments.capture"}, span{since: noon}, "intents_tenant_request_key_key"},
	} {
		tc.filter.Limit = DefaultLimit
		query, args := listQuery(tc.filter, tc.span)
		plan := explain(t, pool, query, args)
		page, _, ok := strings.Cut(plan, "->  CTE Scan on page") // how the page is found comes before what is joined to it
		if !ok || !strings.Contains(page, " using "+tc.index+" on intents i") || strings.Contains(plan, "Seq Scan on intents") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

func explain(t *testing.T, pool *pgxpool.Pool, query string, args []any) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "EXPLAIN (COSTS OFF) "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// A page costs the same wherever it is in the list.
func BenchmarkPage(b *testing.B) {
	const count = 100_000
	s := New(many(b, count))
	for _, depth := range []int{0, count / 2, count - 100} {
		b.Run(fmt.Sprintf("behind %d", depth), func(b *testing.B) {
			f := Filter{Limit: DefaultLimit}
			at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(count-depth) * time.Second)
			var err error
			if f.After, err = f.cursor(cursor{createdAt: at, id: intent.ID{}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if page, err := s.List(b.Context(), f); err != nil || len(page.Rows) != f.Limit {
					b.Fatalf("%d intents, %v", len(page.Rows), err)
				}
			}
		})
	}
}

func TestAPageOfTheInboxIsReadFromTheIndexesOfWhatIsOpenAndWhatHasAnAlert(t *testing.T) {
	t.Parallel()
	pool := many(t, 20_000)
	for _, statement := range []string{`UPDATE intents SET version = 2, alert = 'applied_after_all' WHERE suspected_duplicate_of IS NOT NULL`, `ANALYZE intents`} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	behind := cursor{createdAt: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), id: intent.IntentID("acme", "order-1")}
	for name, after := range map[string]*cursor{"the first page": nil, "a later page": &behind} {
		query, args := doubtQuery(DoubtFilter{Limit: DefaultLimit}, after)
		plan := explain(t, pool, query, args)
		for _, index := range []string{"intents_open_created", "intents_alert_created"} {
			if !strings.Contains(plan, " using "+index+" on intents i") {
				t.Errorf("%s: %s is not used:\n%s", name, index, plan)
			}
		}
		if strings.Contains(plan, "Seq Scan on intents") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
