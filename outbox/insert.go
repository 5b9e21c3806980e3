package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Insert persists an authorized intent before its effect, in one flushed commit, and
// returns its row. If the request key is taken, the row that has it is returned: the
// caller compares fingerprints. So a lost COMMIT answer is met by inserting again.
// Refused says that policy said no: the row is written in its final state, and seal is
// called to write the receipt in the same transaction.
func (s *Store) Insert(ctx context.Context, p Proposal, refused bool, seal Seal) (Row, error) {
	state := intent.Recorded
	if refused {
		state = intent.Refused
	}
	return s.insert(ctx, p, state, nil, seal)
}

// InsertEnded persists a read that is already answered, in one flushed commit: the row in
// its final state, its only attempt and its receipt. If the request key is taken, the
// row that has it is returned and the answer is dropped.
func (s *Store) InsertEnded(ctx context.Context, p Proposal, to intent.State, worker string, ev Evidence, seal Seal) (Row, error) {
	return s.insert(ctx, p, to, &answer{worker: worker, evidence: ev}, seal)
}

type answer struct {
	worker   string
	evidence Evidence
}

// Seal writes the receipt of an intent that ends, in the transaction that ends it. The
// row is as it stands after the end; body is the recorded answer, if there is one.
type Seal func(ctx context.Context, tx pgx.Tx, row Row, reason string, body []byte) error

func (s *Store) insert(ctx context.Context, p Proposal, state intent.State, a *answer, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		created, err := insertRow(ctx, tx, p, state)
		if err != nil {
			return err
		}
		id := p.ID()
		if created && a != nil {
			if err := insertAnswered(ctx, tx, id, *a); err != nil {
				return err
			}
		}
		if row, err = load(ctx, tx, id); err != nil {
			return err
		}
		if !created || !state.Ended() {
			return nil
		}
		reason := intent.ReasonEnded
		var body []byte
		if a != nil {
			body = a.evidence.Result
			reason = intent.Next(asIfOpen(row), row.ReadAt).Reason
		}
		return seal(ctx, tx, row, reason, body)
	})
	return row, err
}

// asIfOpen is the record of an ended row as it stood before its end, so that the rule can
// be asked for the reason of the end.
func asIfOpen(row Row) intent.Record {
	rec := row.Record()
	rec.State = intent.Invoking
	return rec
}

func insertRow(ctx context.Context, tx pgx.Tx, p Proposal, state intent.State) (created bool, err error) {
	const statement = `
		WITH clock AS MATERIALIZED (SELECT writ_now() AS now)
		INSERT INTO intents (id, tenant, request_key, principal, tool, task_queue, class, state, version, generation,
			idempotency_key, payload, effect_context, decision, salt, fingerprint, spec_digest, commitment, rules,
			traceparent, created_at, due_at, ended_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, 1, 1, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
			now, CASE WHEN $19 THEN NULL ELSE now + $20::interval END, CASE WHEN $19 THEN now END
		FROM clock
		ON CONFLICT DO NOTHING`
	rules, err := json.Marshal(p.Rules)
	if err != nil {
		return false, fmt.Errorf("rules of tool %s: %w", p.Tool, err)
	}
	id := p.ID()
	tag, err := tx.Exec(ctx, statement, id[:], p.Tenant, string(p.RequestKey), p.Principal, p.Tool, p.TaskQueue,
		string(p.Rules.Class), string(state), string(p.IdempotencyKey), p.Payload, p.EffectContext, p.Decision,
		p.Salt[:], p.Fingerprint[:], p.SpecDigest[:], p.Commitment[:], rules, p.Traceparent, state.Ended(), progressGrace)
	return tag.RowsAffected() == 1, err
}

func insertAnswered(ctx context.Context, tx pgx.Tx, id intent.ID, a answer) error {
	const statement = `
		INSERT INTO attempts (intent_id, number, generation, token, worker, claimed_at, lease_until, send_by, outcome,
			evidence_at, code, message, final, in_progress, retry_after_ms, media_type, result)
		SELECT id, $2, 1, $3, $4, created_at, created_at, created_at, $5, created_at, $6, $7, $8, false, $9, $10, $11
		FROM intents WHERE id = $1`
	ev := a.evidence
	_, err := tx.Exec(ctx, statement, id[:], ev.Attempt, ev.Token, a.worker, string(ev.Outcome),
		ev.Code, ev.Message, ev.Final, ev.RetryAfterMS, ev.mediaType(), ev.Result)
	return err
}

// mediaType is NULL unless there is a result.
func (e Evidence) mediaType() *string {
	if e.Result == nil {
		return nil
	}
	return &e.MediaType
}
