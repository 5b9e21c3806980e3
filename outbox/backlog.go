package outbox

import (
	"context"
	"time"

	"writ/intent"
)

// Backlog is what of the enqueued requests waits.
type Backlog struct {
	// Due is how many could be intents by now and are none, and Waited how long the first of them
	// has waited; FirstDue and DueError say which it is, and what its last try said.
	Due      int
	Waited   time.Duration
	FirstDue intent.ID
	DueError string
	// Parked is how many wait for a person. FirstParked is the one that does so for longest, and
	// ParkedFor why.
	Parked      int
	FirstParked intent.ID
	ParkedFor   intent.Code
}

// Backlog returns what of the enqueued requests waits. It reads all that are due.
func (s *Store) Backlog(ctx context.Context) (Backlog, error) {
	b, err := backlogOf(ctx, s.pool)
	return b, DatabaseError(err)
}

// Backlog is [Store.Backlog] on the inspector's connection.
func (i *Inspector) Backlog(ctx context.Context) (Backlog, error) {
	b, err := backlogOf(ctx, i.conn)
	return b, wrap("read the backlog", err)
}

func backlogOf(ctx context.Context, q querier) (Backlog, error) {
	const query = `
		WITH clock AS MATERIALIZED (SELECT writ_now() AS now),
		due AS (
			SELECT e.id, e.error_code, greatest(e.created_at, e.not_before) AS since FROM enqueued e, clock
			WHERE e.due_at IS NOT NULL AND greatest(e.created_at, e.not_before) <= clock.now
				AND NOT EXISTS (SELECT FROM intents i WHERE i.id = e.id)),
		parked AS (SELECT id, error_code, parked_at FROM enqueued WHERE parked_at IS NOT NULL AND dropped_at IS NULL)
		SELECT (SELECT count(*) FROM due), first_due.id, coalesce(clock.now - first_due.since, '0'), coalesce(first_due.error_code, ''),
			(SELECT count(*) FROM parked), first_parked.id, coalesce(first_parked.error_code, '')
		FROM clock
		LEFT JOIN (SELECT * FROM due ORDER BY since, id LIMIT 1) first_due ON true
		LEFT JOIN (SELECT * FROM parked ORDER BY parked_at, id LIMIT 1) first_parked ON true`
	var b Backlog
	var due, parked *[16]byte
	err := q.QueryRow(ctx, query).Scan(&b.Due, &due, &b.Waited, &b.DueError, &b.Parked, &parked, &b.ParkedFor)
	b.FirstDue, b.FirstParked = intent.ID(value(due)), intent.ID(value(parked))
	return b, err
}
