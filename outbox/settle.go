package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// settleLimit is how many requests are settled at once.
const settleLimit = 1000

// settling reads the requests under way that are to be settled: their intents are committed, and
// either are not the same action, or rest. At rest is what has ended or waits: for a person, a hold
// to be lifted, or longer than a minute for its next attempt, while no attempt is open. What was
// refused before the request was enqueued is still to be decided on again. The limit
// counts these alone, so that those still at work hide none behind them.
//
// Salts differ, so the actions themselves are compared; tenant and request key are equal, because
// the id is.
const settling = `
	SELECT e.id, found.same
	FROM enqueued e JOIN intents i ON i.id = e.id LEFT JOIN blobs b ON b.intent_id = i.id AND b.digest = i.payload_digest,
	LATERAL (SELECT
		(i.principal, i.tool, coalesce(i.payload, b.body)) IS NOT DISTINCT FROM (e.principal, e.tool, e.payload) AS same,
		i.ended_at IS NOT NULL AND NOT ` + refusedBefore + ` OR i.state IN ('in_doubt', 'awaiting_confirmation') OR ` + heldUntil + ` > writ_now()
			OR (i.due_at > writ_now() + interval '75 seconds'
				AND NOT EXISTS (SELECT FROM attempts a WHERE a.intent_id = i.id AND a.outcome IS NULL)) AS rests) found
	WHERE e.dispatched_at IS NOT NULL AND (NOT found.same OR found.rests AND ` + restoredUntil + ` IS NULL)
	ORDER BY e.id LIMIT $1 FOR UPDATE OF e SKIP LOCKED`

// Settle forgets the requests whose intents are committed and rest, and parks those whose request
// key names another action by now. It returns for how many requests work is under way: they were
// taken, and their intents neither rest nor are put off.
//
// A request is forgotten only for the intent that it asked for, never by the order in which
// requests were written: transactions commit in another. While commits may be lost none is, because
// AfterRestore looks how old it is.
func (s *Store) Settle(ctx context.Context) (underWay int, err error) {
	const (
		count = `SELECT count(*)::int FROM enqueued WHERE dispatched_at IS NOT NULL`
		// Both parts read the same snapshot, and no row is in both.
		settle = `
			WITH settling AS MATERIALIZED (` + settling + `),
			parked AS (
				UPDATE enqueued e SET due_at = NULL, dispatched_at = NULL, parked_at = writ_now(), error_code = $2, error = $3
				FROM settling s WHERE e.id = s.id AND NOT s.same)
			DELETE FROM enqueued e USING settling s WHERE e.id = s.id AND s.same`
	)
	if err := s.pool.QueryRow(ctx, count).Scan(&underWay); err != nil || underWay == 0 {
		return 0, DatabaseError(err)
	}
	conflict := intent.Errorf(intent.CodeIdempotencyConflict,
		"the request key was used in this tenant for another tool, payload or principal before this request came to its turn; nothing was sent for it; use a new key for a new action")
	err = s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, settle, settleLimit, string(conflict.Code), conflict.Message); err != nil {
			return err
		}
		return tx.QueryRow(ctx, count).Scan(&underWay)
	})
	return underWay, err
}
