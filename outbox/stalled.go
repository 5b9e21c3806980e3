package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Stalled is an intent that made no progress by its due time.
type Stalled struct {
	ID          intent.ID
	Tool        string
	Tenant      string
	RequestKey  intent.RequestKey
	TaskQueue   string
	Traceparent string
}

// heldGrace is how long an intent that is held, or whose database was restored, is left alone: it
// makes no progress however often it is started again, and who ends that makes it due.
const heldGrace = 5 * time.Minute

// TakeStalled returns up to limit intents that are overdue and puts off their due time, so
// that each is taken by one of any number of recovery workers and taken again if that
// worker dies. It writes nothing when nothing is overdue.
func (s *Store) TakeStalled(ctx context.Context, limit int) ([]Stalled, error) {
	// The clock is read once, in a query of its own, so that the index can be asked.
	// Oldest first, so that a row that cannot be helped goes to the end of the line when
	// its due time moves and does not hold up the rest.
	const query = `
		WITH overdue AS (
			SELECT id FROM intents WHERE due_at <= (SELECT writ_now())
			ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
		UPDATE intents i SET due_at = writ_now() +
			CASE WHEN greatest(` + heldUntil + `,` + restoredUntil + `) > writ_now() THEN $3::interval ELSE $2::interval END
		FROM overdue WHERE i.id = overdue.id
		RETURNING i.id, i.tool, i.tenant, i.request_key, i.task_queue, i.traceparent`
	var list []Stalled
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, limit, progressGrace, heldGrace)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Stalled, error) {
			var st Stalled
			var id [16]byte
			err := row.Scan(&id, &st.Tool, &st.Tenant, &st.RequestKey, &st.TaskQueue, &st.Traceparent)
			st.ID = intent.ID(id)
			return st, err
		})
		return err
	})
	return list, err
}
