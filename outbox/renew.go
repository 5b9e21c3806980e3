package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Renewal is the next generation of an intent of which nothing happened under the last key.
type Renewal struct {
	ID intent.ID
	// Version is the version of the row that the step was decided on.
	Version int64
	// Key and Commitment are those of the next generation.
	Key        intent.IdempotencyKey
	Commitment intent.Digest
}

// Renew persists the key of the next generation in one flushed commit, before anything can be
// sent under it, if the rule still says so on the version that the step was decided on. Else
// it changes nothing. It returns the row.
func (s *Store) Renew(ctx context.Context, r Renewal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, r.ID); err != nil {
			return err
		}
		if row.Version != r.Version || row.Next().Kind != intent.Renew {
			return nil
		}
		row, err = renew(ctx, tx, row, r.Key, r.Commitment)
		return err
	})
	return row, err
}

// renew begins the next generation of a locked row. The caller has made sure that nothing
// happened under the earlier keys; of what the attempts say themselves, the database does.
func renew(ctx context.Context, tx pgx.Tx, row Row, key intent.IdempotencyKey, commitment intent.Digest) (Row, error) {
	const statement = `
		UPDATE intents
		SET version = version + 1, state = 'recorded', generation = generation + 1, idempotency_key = $3, commitment = $4,
			first_sent_at = NULL, ended_at = NULL, due_at = writ_now() + $5::interval
		WHERE id = $1 AND version = $2`
	if _, err := tx.Exec(ctx, statement, row.ID[:], row.Version, string(key), commitment[:], progressGrace); err != nil {
		return row, err
	}
	return load(ctx, tx, row.ID)
}

// Revoke records that policy says no to an intent of which something was sent already. Nothing
// more is sent then; what is open is looked up or parked. On a row of which nothing was sent,
// that ended, that was revoked or that has another version, it changes nothing.
func (s *Store) Revoke(ctx context.Context, id intent.ID, version int64, decision []byte) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		if row.Version != version || row.State.Ended() || len(row.Attempts) == 0 {
			return nil
		}
		const statement = `
			UPDATE intents SET version = version + 1, revoked_at = writ_now(), revocation = $3,
				revoked_after = (SELECT count(*) FROM decisions WHERE intent_id = $1), due_at = writ_now() + $4::interval
			WHERE id = $1 AND version = $2`
		if _, err := tx.Exec(ctx, statement, id[:], version, decision, progressGrace); err != nil {
			return err
		}
		row, err = load(ctx, tx, id)
		return err
	})
	return row, err
}
