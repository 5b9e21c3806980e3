package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Enqueued is a request that is written in a host's own transaction. It was checked, and its
// payload is canonical: writ.Enqueue makes it.
type Enqueued struct {
	RequestKey    intent.RequestKey
	Action        intent.Action
	EffectContext []byte // canonical JSON
	Traceparent   string
	// NotBefore is when it may be dispatched, by the database's clock. Zero: at once.
	NotBefore time.Time
}

// Enqueue writes the request in tx, which stays usable whatever it returns, and returns the
// intent's id. Nothing is sent unless tx commits. The same action under the same request key
// writes nothing; another one is an error with code idempotency_conflict.
func Enqueue(ctx context.Context, tx pgx.Tx, e Enqueued) (intent.ID, error) {
	id := intent.IntentID(e.Action.Tenant, e.RequestKey)
	// A savepoint, because an error of PostgreSQL would end the host's transaction.
	err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return e.write(ctx, tx, id) })
	if err != nil {
		var refused *intent.Error
		if errors.As(err, &refused) {
			return intent.ID{}, err
		}
		return intent.ID{}, DatabaseError(err)
	}
	return id, nil
}

func (e Enqueued) write(ctx context.Context, tx pgx.Tx, id intent.ID) error {
	// An intent that exists is not enqueued again: its end is its answer.
	const statement = `
		INSERT INTO enqueued (id, tenant, request_key, principal, tool, payload, effect_context, salt, fingerprint,
			traceparent, created_at, not_before, due_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now, $11, greatest(now, $11)
		FROM (SELECT writ_now()) AS clock (now)
		WHERE NOT EXISTS (SELECT FROM intents WHERE id = $1)
		ON CONFLICT DO NOTHING`
	var salt intent.Salt
	if _, err := rand.Read(salt[:]); err != nil {
		return fmt.Errorf("salt: %w", err)
	}
	fingerprint := intent.Fingerprint(salt, e.Action)
	var notBefore *time.Time
	if !e.NotBefore.IsZero() {
		notBefore = &e.NotBefore
	}
	tag, err := tx.Exec(ctx, statement, id[:], e.Action.Tenant, string(e.RequestKey), e.Action.Principal, e.Action.Tool,
		e.Action.Payload, e.EffectContext, salt[:], fingerprint[:], e.Traceparent, notBefore)
	if err != nil || tag.RowsAffected() == 1 {
		return err
	}
	return e.sameAs(ctx, tx, id)
}

// sameAs is the error of a request key that names another action already.
func (e Enqueued) sameAs(ctx context.Context, tx pgx.Tx, id intent.ID) error {
	const query = `
		SELECT salt, fingerprint FROM intents WHERE id = $1
		UNION ALL SELECT salt, fingerprint FROM enqueued WHERE id = $1 LIMIT 1`
	var salt, fingerprint []byte
	if err := tx.QueryRow(ctx, query, id[:]).Scan(&salt, &fingerprint); err != nil {
		return err
	}
	if intent.Fingerprint(intent.Salt(salt), e.Action) != intent.Digest(fingerprint) {
		return intent.Errorf(intent.CodeIdempotencyConflict,
			"request key %q was used in this tenant for another tool, payload or principal; nothing was written for this request; use a new key for a new action", e.RequestKey)
	}
	return nil
}
