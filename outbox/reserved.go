package outbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// A request key that is enqueued is reserved: only the same action may become its intent, and
// none if a person dropped it, or has to say first whether it was run in what PostgreSQL has lost.

// mayHaveRun is true of an enqueued request that an operator's AfterRestore parked, and that nobody
// has had tried again since.
const mayHaveRun = `(parked_at IS NOT NULL AND error_code = '` + string(intent.CodeOutboxRestored) + `')`

// What is locked for an intent that may have no row yet; its number is $1.
const (
	intentLock       = `pg_advisory_xact_lock($1)`
	sharedIntentLock = `pg_advisory_xact_lock_shared($1)`
)

// lockNumber is an intent's number among advisory locks. Two intents that share one wait for each
// other now and then.
func lockNumber(id intent.ID) int64 { return int64(binary.BigEndian.Uint64(id[8:])) }

// SpecFor is [Store.Spec] for a request that has no intent. It asks in the same statement whether
// its key is reserved, and is then an error with code idempotency_conflict, effect_context_mismatch
// or dropped. effectContext is the request's, in canonical form.
func (s *Store) SpecFor(ctx context.Context, key intent.RequestKey, action intent.Action, effectContext []byte) (Spec, error) {
	const query = `
		SELECT e.salt, e.fingerprint, e.effect_context, e.dropped_at, coalesce(e.decided_by, ''), coalesce(` + mayHaveRun + `, false), t.name, t.digest, t.spec, t.task_queue, t.published_at
		FROM (SELECT) AS always
		LEFT JOIN enqueued e ON e.id = $2
		LEFT JOIN LATERAL (` + specInForce + `) t ON true`
	id := intent.IntentID(action.Tenant, key)
	var r reservation
	var name, queue *string
	var digest, spec []byte
	var published *time.Time
	err := s.pool.QueryRow(ctx, query, action.Tool, id[:]).Scan(&r.salt, &r.fingerprint, &r.context, &r.droppedAt, &r.decidedBy, &r.mayHaveRun, &name, &digest, &spec, &queue, &published)
	if err != nil {
		return Spec{}, DatabaseError(err)
	}
	if err := r.forbids(key, action, effectContext); err != nil {
		return Spec{}, err
	}
	if name == nil {
		return Spec{}, unknownTool(action.Tool)
	}
	return Spec{Name: *name, Digest: intent.Digest(digest), JSON: spec, TaskQueue: *queue, PublishedAt: *published}, nil
}

// loadInserted is load after insertRow, which inserted nothing if the request key is reserved.
func loadInserted(ctx context.Context, tx pgx.Tx, p Proposal) (Row, error) {
	row, err := load(ctx, tx, p.ID())
	if intent.CodeOf(err) != intent.CodeIntentNotFound {
		return row, err
	}
	const query = `SELECT salt, fingerprint, effect_context, dropped_at, decided_by, ` + mayHaveRun + ` FROM enqueued WHERE id = $1`
	var r reservation
	id := p.ID()
	err = tx.QueryRow(ctx, query, id[:]).Scan(&r.salt, &r.fingerprint, &r.context, &r.droppedAt, &r.decidedBy, &r.mayHaveRun)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return row, err
	}
	if err := r.forbids(p.RequestKey, p.action(), p.EffectContext); err != nil {
		return row, err
	}
	if r.fingerprint != nil { // it is locked, so it is what the insert was refused for
		return row, intent.Errorf(intent.CodeIdempotencyConflict,
			"what is enqueued under request key %q was changed by hand and contradicts itself, and nothing was written or sent for this request; `writ enqueued drop %s` takes it back, then use a new key", p.RequestKey, id)
	}
	// Whatever reserved the key is gone by now; the next try finds out what it became.
	return row, fmt.Errorf("intent %s was not inserted, because its request key changed hands meanwhile", id)
}

// reservation is what of an enqueued request says who may use its key; zero: anybody.
type reservation struct {
	salt, fingerprint, context []byte
	droppedAt                  *time.Time
	decidedBy                  string
	mayHaveRun                 bool
}

// forbids is the error of a request that may not become an intent under the reserved key. It
// tells nobody else what was done with the first one.
func (r reservation) forbids(key intent.RequestKey, action intent.Action, effectContext []byte) error {
	if r.fingerprint == nil {
		return nil
	}
	sealed := intent.Sealed{Salt: intent.Salt(r.salt), Fingerprint: intent.Digest(r.fingerprint), Context: r.context}
	if err := sealed.Admits(key, action, effectContext); err != nil {
		return err
	}
	switch {
	case r.droppedAt != nil:
		return r.dropped(key)
	case r.mayHaveRun:
		return errMayHaveRun(intent.IntentID(action.Tenant, key))
	}
	return nil
}

// errMayHaveRun is the error of a request that waits for a person to look in the provider's books.
func errMayHaveRun(id intent.ID) error {
	return intent.Errorf(intent.CodeOutboxRestored,
		"PostgreSQL was restored or failed over, and the enqueued request of intent %s may have been run in what it lost; nothing was done now; look in the provider's books, then `writ enqueued retry %s` runs it and `writ enqueued drop %s` takes it back", id, id, id)
}

// dropped is the error of a request that a person took back.
func (r reservation) dropped(key intent.RequestKey) error {
	at := r.droppedAt.UTC().Format(time.RFC3339)
	if r.mayHaveRun {
		return intent.Errorf(intent.CodeDropped,
			"%s dropped the request with key %q at %s, and nothing is sent for it; it may have been run in what PostgreSQL lost when it was restored or failed over; look in the provider's books before it is asked for under a new key", r.decidedBy, key, at)
	}
	return intent.Errorf(intent.CodeDropped,
		"%s dropped the request with key %q at %s, and nothing was sent; use a new key if it is wanted after all", r.decidedBy, key, at).Proven(intent.NotApplied)
}
