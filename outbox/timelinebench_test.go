package outbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/pgtest"
)

// What it costs to look, whenever a row is read, whether PostgreSQL is in the history that is
// trusted. The ratio of the two is what matters; they take turns, so that both meet the same machine.
func BenchmarkARowIsReadWithALookAtTheTimeline(b *testing.B) {
	url := pgtest.Schema(b)
	if err := Migrate(b.Context(), url); err != nil {
		b.Fatal(err)
	}
	pool, _ := pgtest.Pool(b, url)
	key := intent.RequestKey("order-4711")
	row, err := New(pool).Insert(b.Context(), Proposal{Tenant: "acme", RequestKey: key, Principal: "till-7", Tool: "payments.capture", TaskQueue: "canary",
		Payload: []byte(`{}`), EffectContext: []byte(`{}`), Decision: []byte(`{}`), IdempotencyKey: intent.DeriveKey("acme", "payments.capture", key, 1),
		Rules: intent.Rules{Class: intent.Keyed, Timeout: time.Second, MaxAttempts: 1}})
	if err != nil {
		b.Fatal(err)
	}
	without := strings.Replace(loadStatement, restoredUntil, ` NULL::timestamptz`, 1)
	if without == loadStatement {
		b.Fatal("a row is read without a look at the timeline")
	}
	read := func(statement string) (time.Duration, error) {
		begun := time.Now()
		rows, err := pool.Query(b.Context(), statement, row.ID[:])
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			var r Row
			if err := scan(rows, &r); err != nil {
				return 0, err
			}
			if r.ID != row.ID || r.restored() {
				return 0, fmt.Errorf("read %+v", r)
			}
		}
		return time.Since(begun), rows.Err()
	}
	var with, alone time.Duration
	n := 0
	for b.Loop() {
		looked, err := read(loadStatement)
		if err != nil {
			b.Fatal(err)
		}
		plain, err := read(without)
		if err != nil {
			b.Fatal(err)
		}
		with, alone, n = with+looked, alone+plain, n+1
	}
	b.ReportMetric(float64(with.Microseconds())/float64(n), "µs/with")
	b.ReportMetric(float64(alone.Microseconds())/float64(n), "µs/without")
	b.ReportMetric(float64(with)/float64(alone), "ratio")
}
