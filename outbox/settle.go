package outbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// settleLimit is how many requests are settled at once.
const settleLimit = 1000

// settling reads the requests under way that are to be settled: their intents are committed, and
// either are not the same action, or rest. At rest is what has ended or waits: for a person, a hold
// to be lifted, a budget to have room, or longer than a minute for its next attempt, while no attempt
// is open. What was refused before the request was enqueued is still to be decided on again. It also
// reads those whose intents were asked for in another effect context, which may give another
// authority. If it does not, there is nothing to settle; they come last, so that the limit hides
// none behind them.
//
// Salts differ, so the actions themselves are compared; tenant and request key are equal, because
// the id is.
const settling = `
	SELECT e.id, e.request_key, found.same, found.rests, i.effect_context, e.effect_context
	FROM enqueued e JOIN intents i ON i.id = e.id LEFT JOIN blobs b ON b.intent_id = i.id AND b.digest = i.payload_digest,
	LATERAL (SELECT
		(i.principal, i.tool, coalesce(i.payload, b.body)) IS NOT DISTINCT FROM (e.principal, e.tool, e.payload) AS same,
		(i.ended_at IS NOT NULL AND NOT ` + refusedBefore + ` OR i.state IN ('in_doubt', 'awaiting_confirmation') OR coalesce(greatest(` + heldUntil + `, ` + budgetUntil + `) > writ_now(), false)
			OR (i.due_at > writ_now() + interval '75 seconds'
				AND NOT EXISTS (SELECT FROM attempts a WHERE a.intent_id = i.id AND a.outcome IS NULL)))
			AND ` + restoredUntil + ` IS NULL AS rests) found
	WHERE e.dispatched_at IS NOT NULL AND (NOT found.same OR found.rests OR i.effect_context <> e.effect_context)
	ORDER BY found.same AND NOT found.rests, e.id LIMIT $1 FOR UPDATE OF e SKIP LOCKED`

// Settle forgets the requests whose intents are committed and rest, and parks those whose request
// key names another action by now, or this one with another authority. It returns for how many
// requests work is under way: they were taken, and their intents neither rest nor are put off.
//
// A request is forgotten only for the intent that it asked for, never by the order in which
// requests were written: transactions commit in another. While commits may be lost none is, because
// AfterRestore looks how old it is.
func (s *Store) Settle(ctx context.Context) (underWay int, err error) {
	const count = `SELECT count(*)::int FROM enqueued WHERE dispatched_at IS NOT NULL`
	if err := s.pool.QueryRow(ctx, count).Scan(&underWay); err != nil || underWay == 0 {
		return 0, DatabaseError(err)
	}
	err = s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		settled, err := findSettled(ctx, tx)
		if err != nil {
			return err
		}
		if err := settled.write(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, count).Scan(&underWay)
	})
	return underWay, err
}

// settled are the ids of the requests that are forgotten, and of those that are parked, with why.
type settled struct {
	forgotten, parked [][16]byte
	codes, messages   []string
}

func findSettled(ctx context.Context, tx pgx.Tx) (found settled, err error) {
	rows, err := tx.Query(ctx, settling, settleLimit)
	if err != nil {
		return found, err
	}
	var (
		id             [16]byte
		key            intent.RequestKey
		same, rests    bool
		sealed, asking []byte
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &key, &same, &rests, &sealed, &asking}, func() error {
		why := takenByAnother
		if same {
			why = nil
			_ = errors.As(intent.SameAuthority(key, sealed, asking), &why)
		}
		switch {
		case why != nil:
			found.parked = append(found.parked, id)
			found.codes, found.messages = append(found.codes, string(why.Code)), append(found.messages, why.Message)
		case rests:
			found.forgotten = append(found.forgotten, id)
		}
		return nil
	})
	return found, err
}

// takenByAnother is why a request is parked whose key names another action.
var takenByAnother = intent.Errorf(intent.CodeIdempotencyConflict,
	"the request key was used in this tenant for another tool, payload or principal before this request came to its turn; nothing was sent for it; use a new key for a new action")

func (s settled) write(ctx context.Context, tx pgx.Tx) error {
	const (
		park = `
			UPDATE enqueued e SET due_at = NULL, dispatched_at = NULL, parked_at = writ_now(), error_code = p.code, error = p.message
			FROM unnest($1::uuid[], $2::text[], $3::text[]) p (id, code, message) WHERE e.id = p.id`
		forget = `DELETE FROM enqueued WHERE id = ANY ($1::uuid[])`
	)
	if len(s.parked) > 0 {
		if _, err := tx.Exec(ctx, park, s.parked, s.codes, s.messages); err != nil {
			return err
		}
	}
	if len(s.forgotten) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, forget, s.forgotten)
	return err
}
