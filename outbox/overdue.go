package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Overdue is an intent that recovery would start again now.
type Overdue struct {
	Stalled
	// DueAt is by when it should have made progress, or when recovery last put that off.
	DueAt time.Time
}

// Overdue returns up to limit intents that [Store.TakeStalled] would take now, the longest overdue
// first, behind the given one; the zero Overdue is in front of all. It writes nothing and takes no
// lock, so another's sweep may take them meanwhile.
func (s *Store) Overdue(ctx context.Context, after Overdue, limit int) ([]Overdue, error) {
	// The order is that of intents_due, so that a page reads no more than itself.
	const query = `
		SELECT i.id, i.tool, i.tenant, i.request_key, i.task_queue, i.traceparent, i.state, i.due_at
		FROM intents i
		WHERE i.due_at <= (SELECT writ_now()) AND i.due_at >= $1 AND (i.due_at, i.id) > ($1, $2)
		ORDER BY i.due_at, i.id LIMIT $3`
	rows, err := s.pool.Query(ctx, query, after.DueAt, after.ID[:], limit)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Overdue, error) {
		var o Overdue
		err := row.Scan((*[16]byte)(&o.ID), &o.Tool, &o.Tenant, &o.RequestKey, &o.TaskQueue, &o.Traceparent, &o.State, &o.DueAt)
		o.DueAt = o.DueAt.UTC()
		return o, err
	})
	return list, DatabaseError(err)
}
