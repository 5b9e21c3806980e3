package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// StuckAfter is how long an intent may be started again and again without moving, or wait for
// recovery past its due time, before it counts as stuck. By then twenty workflows in a row, or
// none, have had their time.
const StuckAfter = 5 * time.Minute

// alarmEvery is how often the same intent is said to be stuck, whoever takes it.
const alarmEvery = time.Hour

// Stuck is what of the outbox makes no progress. Nothing of it waits for a person, for a hold or
// for the time of its next step: none of those is overdue.
type Stuck struct {
	// Count is how many intents have made no progress for StuckAfter or longer.
	Count int
	// Longest is for how long the intent that is overdue longest has made none, also where that
	// is less than StuckAfter; 0: nothing is overdue.
	Longest time.Duration
	// Oldest are the first of those that Count counts, the one that is stuck longest first.
	Oldest []StuckIntent
}

// StuckIntent is one that makes no progress.
type StuckIntent struct {
	ID    intent.ID
	Tool  string
	State intent.State
	Since time.Time
}

// Stuck reads what makes no progress, with up to limit of the intents, at least one. It writes
// nothing.
func (s *Store) Stuck(ctx context.Context, limit int) (Stuck, error) {
	stuck, err := stuckOf(ctx, s.pool, limit)
	return stuck, DatabaseError(err)
}

// Stuck is [Store.Stuck] on the inspector's connection.
func (i *Inspector) Stuck(ctx context.Context, limit int) (Stuck, error) {
	stuck, err := stuckOf(ctx, i.conn, limit)
	return stuck, wrap("read what makes no progress", err)
}

func stuckOf(ctx context.Context, q querier, limit int) (Stuck, error) {
	// What is taken again and again is due within the grace of its last time, so this reads only
	// the beginning of intents_due. It has moved since if its version is another one, and is
	// overdue then only from its new due time on.
	const query = `
		WITH clock AS MATERIALIZED (SELECT writ_now() AS now),
		overdue AS (
			SELECT i.id, i.tool, i.state, CASE WHEN i.stalled_version = i.version THEN i.stalled_since ELSE i.due_at END AS since
			FROM intents i, clock
			WHERE i.due_at <= (SELECT now + $2::interval FROM clock) AND (i.stalled_version = i.version OR i.due_at <= clock.now))
		SELECT o.id, o.tool, o.state, o.since, clock.now, count(*) FILTER (WHERE o.since <= clock.now - $3::interval) OVER ()
		FROM overdue o, clock ORDER BY o.since, o.id LIMIT $1`
	rows, err := q.Query(ctx, query, limit, progressGrace, StuckAfter)
	if err != nil {
		return Stuck{}, err
	}
	var stuck Stuck
	var one StuckIntent
	var now time.Time
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&one.ID), &one.Tool, &one.State, &one.Since, &now, &stuck.Count}, func() error {
		one.Since = one.Since.UTC()
		stuck.Longest = max(stuck.Longest, now.Sub(one.Since))
		if now.Sub(one.Since) >= StuckAfter {
			stuck.Oldest = append(stuck.Oldest, one)
		}
		return nil
	})
	return stuck, err
}
