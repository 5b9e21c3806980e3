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
	State       intent.State
	// Since is since when it is taken without having moved; zero if a hold or a budget stops it.
	Since time.Time
	// Alarm says that it has not moved for [StuckAfter] although it was taken again and again, and
	// that this has not been said within the last hour.
	Alarm bool
}

// heldGrace is how long an intent that is held, that waits for a budget, or whose database was
// restored, is left alone: it makes no progress however often it is started again, and who ends
// that makes it due.
const heldGrace = 5 * time.Minute

// takeStalled takes the intents whose due time has passed.
//
// The clock is read once, in a query of its own, so that the index can be asked.
// Oldest first, so that a row that cannot be helped goes to the end of the line when
// its due time moves and does not hold up the rest.
const takeStalled = `
	WITH clock AS MATERIALIZED (SELECT writ_now() AS now),
	overdue AS (
		SELECT i.id, coalesce(greatest(` + heldUntil + `, ` + budgetUntil + `, ` + restoredUntil + `) > clock.now, false) AS held,
			coalesce(i.stalled_version = i.version AND i.stalled_since <= clock.now - $4::interval, false)
				AND coalesce(i.alarmed_at <= clock.now - $5::interval, true) AS alarm
		FROM intents i, clock WHERE i.due_at <= (SELECT now FROM clock)
		ORDER BY i.due_at LIMIT $1 FOR UPDATE OF i SKIP LOCKED)
	UPDATE intents i SET
		due_at = clock.now + CASE WHEN o.held THEN $3::interval ELSE $2::interval END,
		stalled_version = CASE WHEN NOT o.held THEN i.version END,
		stalled_since = CASE WHEN o.held THEN NULL WHEN i.stalled_version = i.version THEN i.stalled_since ELSE clock.now END,
		alarmed_at = CASE WHEN o.alarm AND NOT o.held THEN clock.now ELSE i.alarmed_at END
	FROM overdue o, clock WHERE i.id = o.id
	RETURNING i.id, i.tool, i.tenant, i.request_key, i.task_queue, i.traceparent, i.state, i.stalled_since, o.alarm AND NOT o.held`

// TakeStalled returns up to limit intents that are overdue and puts off their due time, so
// that each is taken by one of any number of recovery workers and taken again if that
// worker dies. It writes nothing when nothing is overdue.
func (s *Store) TakeStalled(ctx context.Context, limit int) ([]Stalled, error) {
	var list []Stalled
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, takeStalled, limit, progressGrace, heldGrace, StuckAfter, alarmEvery)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Stalled, error) {
			var st Stalled
			var since *time.Time
			err := row.Scan((*[16]byte)(&st.ID), &st.Tool, &st.Tenant, &st.RequestKey, &st.TaskQueue, &st.Traceparent, &st.State, &since, &st.Alarm)
			st.Since = value(since).UTC()
			return st, err
		})
		return err
	})
	return list, err
}
