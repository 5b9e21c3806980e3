package outbox

import (
	"cmp"
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

// Enqueue writes the request in tx, which stays usable whatever it returns unless ctx ended, and
// returns the intent's id. Nothing is sent unless tx commits. The same action under the same
// request key writes nothing. The errors that are answers are idempotency_conflict for another action,
// effect_context_mismatch for the same one with another authority, dropped for one that a person
// took back, transaction_conflict if tx has to be run again, and transaction_unusable.
func Enqueue(ctx context.Context, tx pgx.Tx, e Enqueued) (intent.ID, error) {
	if tx == nil {
		return intent.ID{}, unusable(errors.New("there is no transaction"))
	}
	id := intent.IntentID(e.Action.Tenant, e.RequestKey)
	if err := apart(ctx, tx, func() error { return e.write(ctx, tx, id) }); err != nil {
		return intent.ID{}, e.notWritten(err)
	}
	return id, nil
}

// apart does something behind a savepoint, because an error of PostgreSQL would end the host's
// transaction. The savepoint goes in any case, which that of a nested pgx.Tx does not: those of
// some thousand requests that are refused in one transaction lie within each other, and are too
// deep for PostgreSQL's stack.
func apart(ctx context.Context, tx pgx.Tx, do func() error) error {
	if _, err := tx.Exec(ctx, `SAVEPOINT writ_enqueue`); err != nil {
		return err
	}
	failed := do()
	if failed != nil {
		if _, err := tx.Exec(ctx, `ROLLBACK TO SAVEPOINT writ_enqueue`); err != nil {
			return failed // with the connection, and so with the transaction
		}
	}
	_, err := tx.Exec(ctx, `RELEASE SAVEPOINT writ_enqueue`)
	return cmp.Or(failed, err)
}

func (e Enqueued) write(ctx context.Context, tx pgx.Tx, id intent.ID) error {
	refused, err := e.insert(ctx, tx, id, false)
	if err != nil || !refused {
		return err
	}
	renewed, err := e.renew(ctx, tx, id)
	if err == nil && !renewed {
		_, err = e.insert(ctx, tx, id, true)
	}
	return err
}

// renew puts the request in the place of the one whose end the refusal is, if no dispatcher has
// forgotten that yet: with it this one would be forgotten. It goes on counting the tries, by which a
// dispatcher knows what it has taken.
func (e Enqueued) renew(ctx context.Context, tx pgx.Tx, id intent.ID) (renewed bool, err error) {
	const statement = `
		UPDATE enqueued e SET effect_context = $5, traceparent = $6, created_at = now, not_before = $7, due_at = greatest(now, $7),
			dispatched_at = NULL, error_code = '', error = ''
		FROM intents i, (SELECT writ_now()) AS clock (now)
		WHERE e.id = $1 AND i.id = e.id AND i.state = 'refused' AND NOT ` + refusedBefore + `
			AND e.parked_at IS NULL AND (e.principal, e.tool, e.payload) = ($2, $3, $4)`
	tag, err := tx.Exec(ctx, statement, id[:], e.Action.Principal, e.Action.Tool, e.Action.Payload, e.EffectContext, e.Traceparent, orNull(e.notBefore()))
	return tag.RowsAffected() == 1, err
}

// insert writes the request, unless its key names an intent already, whose end is its answer. It
// reports whether that was refused: such an end is none before the same request, which comes again,
// was decided on again. again writes it then.
func (e Enqueued) insert(ctx context.Context, tx pgx.Tx, id intent.ID, again bool) (refused bool, err error) {
	const statement = `
		INSERT INTO enqueued (id, tenant, request_key, principal, tool, payload, effect_context, salt, fingerprint,
			traceparent, created_at, not_before, due_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now, $11, greatest(now, $11)
		FROM (SELECT writ_now()) AS clock (now)
		WHERE NOT EXISTS (SELECT FROM intents WHERE id = $1 AND NOT ($12 AND state = 'refused'))
		ON CONFLICT DO NOTHING`
	var salt intent.Salt
	if _, err := rand.Read(salt[:]); err != nil {
		return false, fmt.Errorf("salt: %w", err)
	}
	fingerprint := intent.Fingerprint(salt, e.Action)
	tag, err := tx.Exec(ctx, statement, id[:], e.Action.Tenant, string(e.RequestKey), e.Action.Principal, e.Action.Tool,
		e.Action.Payload, e.EffectContext, salt[:], fingerprint[:], e.Traceparent, orNull(e.notBefore()), again)
	if err != nil || tag.RowsAffected() == 1 {
		return false, err
	}
	return e.sameAs(ctx, tx, id)
}

// notBefore is NotBefore, or zero for one that has long passed: PostgreSQL has no year -5000, and
// JSON none before 0.
func (e Enqueued) notBefore() time.Time {
	if e.NotBefore.Before(time.Unix(0, 0)) {
		return time.Time{}
	}
	return e.NotBefore
}

// sameAs is the error of a request key that names another request already, or one that was
// dropped; else it reports whether the key is that of a refused intent.
func (e Enqueued) sameAs(ctx context.Context, tx pgx.Tx, id intent.ID) (refused bool, err error) {
	const query = `
		SELECT salt, fingerprint, effect_context, NULL::timestamptz, '', false, state = 'refused' FROM intents WHERE id = $1
		UNION ALL SELECT salt, fingerprint, effect_context, dropped_at, decided_by, dropped_at IS NOT NULL AND ` + mayHaveRun + `, false FROM enqueued WHERE id = $1 LIMIT 1`
	var r reservation
	if err := tx.QueryRow(ctx, query, id[:]).Scan(&r.salt, &r.fingerprint, &r.context, &r.droppedAt, &r.decidedBy, &r.mayHaveRun, &refused); err != nil {
		return false, err
	}
	return refused, r.forbids(e.RequestKey, e.Action, e.EffectContext)
}

// notWritten gives an error of the host's transaction its code. It is the host that has to run
// that again: nothing in it can be repeated by itself, as its snapshot is its own.
func (e Enqueued) notWritten(err error) error {
	if rolledBack(err) {
		return intent.Errorf(intent.CodeTransactionConflict,
			"another transaction wrote what this one needs for request key %q; roll this one back and run it again: %w", e.RequestKey, err)
	}
	switch sqlState(err) {
	case "25P02", "25006": // failed before, read-only
		return unusable(err)
	}
	if errors.Is(err, pgx.ErrTxClosed) {
		return unusable(err)
	}
	return DatabaseError(err)
}

func unusable(err error) error {
	return intent.Errorf(intent.CodeTransactionUnusable, "nothing can be enqueued in this transaction; begin another one: %w", err)
}
