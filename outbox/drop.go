package outbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// decidedBy sets who decides about an enqueued request, who is $2 to $6.
const decidedBy = `
	decided_by = $2, note = $3, decider_roles = $4, decider_on_behalf_of = $5, decider_authentication_source = $6`

// Retry makes an enqueued request due, at once or at its host's time, and returns it. Its tries
// begin anew. The errors that are answers are those of Drop.
func (s *Store) Retry(ctx context.Context, id intent.ID, by Decider) (Submitted, error) {
	const statement = `
		UPDATE enqueued e SET due_at = greatest(writ_now(), not_before), parked_at = NULL, tries = 0,
			decided_at = writ_now(),` + decidedBy + `
		WHERE id = $1 AND dropped_at IS NULL RETURNING` + submittedColumns
	var found Submitted
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		found, err = scanSubmitted(tx.QueryRow(ctx, statement, append([]any{id[:]}, by.values()...)...))
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if found, _, err = submitted(ctx, tx, id); err == nil { // so it was dropped
			return found.Undecidable()
		}
		return notEnqueued(ctx, tx, id, err)
	})
	if err == nil {
		_ = Wake(ctx, s.pool) // if it is lost, the dispatchers come by themselves
	}
	return found, err
}

// Drop takes an enqueued request back and returns it: it never becomes an intent, not even of a
// workflow that carries it already. Dropping again changes nothing. The errors that are answers
// are already_dispatched if it is an intent, and intent_not_found.
func (s *Store) Drop(ctx context.Context, id intent.ID, by Decider) (Submitted, error) {
	var found Submitted
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		// The locks wait for whoever is about to insert the intent, who holds both shared, and the
		// next statement sees what they committed.
		if _, err := tx.Exec(ctx, `SELECT `+intentLock, lockNumber(id)); err != nil {
			return err
		}
		var payload, effectContext []byte
		const lock = `SELECT` + submittedColumns + `, e.payload, e.effect_context FROM enqueued e WHERE id = $1 FOR UPDATE`
		found, err = scanSubmitted(tx.QueryRow(ctx, lock, id[:]), &payload, &effectContext)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return notEnqueued(ctx, tx, id, intent.Errorf(intent.CodeIntentNotFound, "there is no intent %s", id))
		case err != nil || !found.DroppedAt.IsZero():
			return err
		}
		if err := found.mayBeDropped(ctx, tx, payload, effectContext); err != nil {
			return err
		}
		const statement = `
			UPDATE enqueued e SET due_at = NULL, dispatched_at = NULL, parked_at = coalesce(parked_at, clock.now), dropped_at = clock.now,
				error_code = CASE WHEN ` + restoredUntil + ` IS NOT NULL THEN '` + string(intent.CodeOutboxRestored) + `' ELSE coalesce(nullif(error_code, ''), 'dropped') END,
				decided_at = clock.now,` + decidedBy + `
			FROM (SELECT writ_now()) AS clock (now) WHERE id = $1 RETURNING` + submittedColumns
		found, err = scanSubmitted(tx.QueryRow(ctx, statement, append([]any{id[:]}, by.values()...)...))
		return err
	})
	return found, err
}

// mayBeDropped is the error of a locked request that is an intent. An intent of another request,
// which was first to its key, is no obstacle.
func (s Submitted) mayBeDropped(ctx context.Context, tx pgx.Tx, payload, effectContext []byte) error {
	row, err := load(ctx, tx, s.ID)
	if intent.CodeOf(err) == intent.CodeIntentNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	action := intent.Action{Tenant: s.Tenant, Principal: s.Principal, Tool: s.Tool, Payload: payload}
	if row.Sealed().Admits(s.RequestKey, action, effectContext) == nil {
		return alreadyDispatched(s.ID)
	}
	return nil
}

// notEnqueued is the error of an id that is not enqueued: missing, unless it is an intent.
func notEnqueued(ctx context.Context, tx pgx.Tx, id intent.ID, missing error) error {
	var exists bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM intents WHERE id = $1)`, id[:]).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return alreadyDispatched(id)
	}
	return missing
}

func alreadyDispatched(id intent.ID) error {
	return intent.Errorf(intent.CodeAlreadyDispatched, "the request of intent %s was started, and nothing was changed; `writ intent cancel %s` stops what is left of it", id, id)
}
