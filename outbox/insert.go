package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Insert persists an authorized intent before its effect, in one flushed commit, and
// returns its row. If the request key is taken, the row that has it is returned: the
// caller compares it with Row.Sealed. So a lost COMMIT answer is met by inserting again. Nothing is
// written while another action is enqueued under the key, or the same one with another authority,
// or the request was dropped: the errors have codes idempotency_conflict, effect_context_mismatch
// and dropped. The error is ErrDuplicateChanged, and nothing was written, if a guarded proposal
// repeats another intent by now than the one that it was decided on. Nor is anything where a budget
// has no room for it, budget_exceeded, or its cost cannot be counted, budget_uncountable; who
// decides makes a refusal of that. Only what is inserted is counted, in the same commit; what has to
// wait for a budget is not counted yet, and the row says so.
//
// A proposal over a refused row (Proposal.Over) takes the place of the refusal instead, unless that
// was decided on again meanwhile; then the row is returned as it is.
func (s *Store) Insert(ctx context.Context, p Proposal) (Row, error) {
	state := intent.Recorded
	if p.ConfirmWithin > 0 {
		state = intent.AwaitingConfirmation
	}
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		if err := p.lock(ctx, tx); err != nil {
			return err
		}
		created, err := insertRow(ctx, tx, p, state)
		if err != nil {
			return err
		}
		if created && p.Guard != nil {
			if err := p.leaveMark(ctx, tx); err != nil {
				return err
			}
		}
		if row, err = loadInserted(ctx, tx, p); err != nil || !created {
			return err
		}
		if row, err = presumeLost(ctx, tx, row); err != nil {
			return err
		}
		waits, err := p.admission().admit(ctx, tx)
		if waits {
			row, err = load(ctx, tx, row.ID)
		}
		return err
	})
	return row, err
}

// End is how an intent ends that has no row yet.
type End struct {
	To     intent.State
	Reason string
	// Worker and Evidence are the only attempt of a read that was answered; nil for a
	// refused request, of which nothing was run.
	Worker   string
	Evidence *Evidence
}

// Seal writes the receipt of an intent that ends, in the transaction that ends it, or an
// amendment to it, in the transaction that records the evidence against it. The row is as it
// stands then and Row.Amendment says which it is; answer is what was recorded, or nil.
type Seal func(ctx context.Context, tx pgx.Tx, row Row, reason string, answer *Answer) error

// InsertEnded persists an intent in its final state, in one flushed commit with its
// receipt: a read that is answered already, or a request that policy refused. If the
// request key is taken, the row that has it is returned and the end is dropped. One over a refused
// row is a refusal, see Insert. Nobody is refused while claims may be lost: the error has code
// outbox_restored.
func (s *Store) InsertEnded(ctx context.Context, p Proposal, end End, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		created, err := insertRow(ctx, tx, p, end.To)
		if err != nil {
			return err
		}
		if created && end.Evidence != nil {
			if err := insertAnswered(ctx, tx, p.ID(), end.Worker, *end.Evidence); err != nil {
				return err
			}
		}
		if row, err = loadInserted(ctx, tx, p); err != nil || !created {
			return err
		}
		if end.To == intent.Refused && row.restored() && row.Rules.Class.LeavesDoubt() {
			return errRestored(row.ID)
		}
		answer, err := answerOf(ctx, tx, row)
		if err != nil {
			return err
		}
		return seal(ctx, tx, row, end.Reason, answer)
	})
	return row, err
}

// insertRow inserts the intent, unless there is one, or its request key names something that is
// enqueued and must not become this intent. A proposal over a refused row is put in its place.
//
// The lock waits for whoever is about to drop or park what is enqueued, and makes them wait; it does
// not conflict with a dispatcher that moves the row's due time. What was parked waits for nobody any
// more. What is enqueued with another authority is found by what the statement returns, and the
// error, as any other, undoes the transaction.
func insertRow(ctx context.Context, tx pgx.Tx, p Proposal, state intent.State) (created bool, err error) {
	if p.Refused > 0 {
		return decideAgain(ctx, tx, p, state)
	}
	const statement = `
		WITH clock AS MATERIALIZED (SELECT writ_now() AS now), reserved AS MATERIALIZED (
			SELECT dropped_at IS NOT NULL OR ` + mayHaveRun + ` OR (principal, tool, sha256(payload)) <> ($4, $5, $24) AS forbids,
				parked_at IS NOT NULL AS parked, effect_context
			FROM enqueued WHERE id = $1 FOR KEY SHARE),
		under_way AS (UPDATE enqueued e SET parked_at = NULL, dispatched_at = clock.now, due_at = clock.now + $25::interval
			FROM reserved r, clock WHERE e.id = $1 AND r.parked AND NOT r.forbids)
		INSERT INTO intents (id, tenant, request_key, principal, tool, task_queue, class, state, version, generation,
			idempotency_key, payload, effect_context, decision, salt, fingerprint, spec_digest, commitment, rules,
			traceparent, created_at, due_at, ended_at, payload_digest, suspected_duplicate_of, confirm_by, approvers)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, 1, 1, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
			now, CASE WHEN $19 THEN NULL ELSE now + coalesce($23, $20::interval) END, CASE WHEN $19 THEN now END, $21,
			$22, now + $23::interval, $26
		FROM clock WHERE NOT EXISTS (SELECT FROM reserved WHERE forbids)
		ON CONFLICT DO NOTHING
		RETURNING (SELECT effect_context FROM reserved)`
	rules, err := json.Marshal(p.Rules)
	if err != nil {
		return false, fmt.Errorf("rules of tool %s: %w", p.Tool, err)
	}
	digest, err := storePayload(ctx, tx, p)
	if err != nil {
		return false, err
	}
	inline := p.Payload
	if digest != nil {
		inline = nil
	}
	id, sum := p.ID(), sha256.Sum256(p.Payload)
	var enqueued []byte
	err = tx.QueryRow(ctx, statement, id[:], p.Tenant, string(p.RequestKey), p.Principal, p.Tool, p.TaskQueue,
		string(p.Rules.Class), string(state), string(p.IdempotencyKey), inline, p.EffectContext, p.Decision,
		p.Salt[:], p.Fingerprint[:], p.SpecDigest[:], p.Commitment[:], rules, p.Traceparent, state.Ended(), progressGrace, digest,
		idOrNull(p.SuspectedDuplicateOf), p.waits(state), sum[:], firstDispatchGrace, max(p.Approvers, 1)).Scan(&enqueued)
	created = err == nil
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	if enqueued != nil {
		if err := intent.MayReplace(p.RequestKey, enqueued, p.EffectContext); err != nil {
			return false, err
		}
	}
	return created, settlePayload(ctx, tx, p, digest, created)
}

// waits is how long the row waits for people, and makes no progress; nil if it does not.
func (p Proposal) waits(state intent.State) *time.Duration {
	if state != intent.AwaitingConfirmation {
		return nil
	}
	return &p.ConfirmWithin
}

func insertAnswered(ctx context.Context, tx pgx.Tx, id intent.ID, worker string, ev Evidence) error {
	const statement = `
		INSERT INTO attempts (intent_id, number, generation, token, worker, claimed_at, lease_until, send_by, outcome,
			evidence_at, code, message, final, in_progress, retry_after_ms, media_type, result)
		SELECT id, $2, 1, $3, $4, created_at, created_at, created_at, $5, created_at, $6, $7, $8, false, $9, $10, $11
		FROM intents WHERE id = $1`
	_, err := tx.Exec(ctx, statement, id[:], ev.Attempt, ev.Token, worker, string(ev.Outcome),
		ev.Code, ev.Message, ev.Final, ev.RetryAfterMS, ev.mediaType(), ev.Result)
	return err
}

// mediaType is NULL unless there is a result.
func (e Evidence) mediaType() *string {
	if e.Result == nil && e.ResultRef == nil {
		return nil
	}
	return &e.MediaType
}
