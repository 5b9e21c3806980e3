package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// DecidesAgain is intent.DecidesAgain of the row. The error has code outbox_restored: the database
// may have lost commits, and with them that the refused intent was decided on again, and sent.
func (r Row) DecidesAgain() (bool, error) {
	if !intent.DecidesAgain(r.Record()) {
		return false, nil
	}
	if r.restored() && r.Rules.Class.LeavesDoubt() {
		return false, errRestored(r.ID)
	}
	return true, nil
}

// Over makes of a new request's proposal the one that decides on a refused row again: under the
// row's key, because nothing was sent under it, and in the next generation.
func (p Proposal) Over(refused Row) Proposal {
	p.Refused, p.IdempotencyKey = refused.Generation, refused.IdempotencyKey
	p.Salt, p.EffectContext = refused.Salt, refused.EffectContext
	return p.Bound()
}

// Generation is the one that the proposal begins.
func (p Proposal) Generation() int { return p.Refused + 1 }

// decideAgain puts a proposal in the place of the refusal that it was made over. It writes nothing
// unless that generation is refused still. The error has code intent_altered if the row is not what
// was refused.
func decideAgain(ctx context.Context, tx pgx.Tx, p Proposal, state intent.State) (written bool, err error) {
	row, err := lockRow(ctx, tx, p.ID())
	if err != nil || row.Generation != p.Refused || !intent.DecidesAgain(row.Record()) {
		return false, err
	}
	if err := notAltered(ctx, tx, row); err != nil {
		return false, err
	}
	const statement = `
		UPDATE intents
		SET version = version + 1, generation = generation + 1, state = $2, class = $3, task_queue = $4, decision = $5,
			spec_digest = $6, commitment = $7, rules = $8, suspected_duplicate_of = $9, confirm_by = now + $10::interval, approvers = $11,
			due_at = CASE WHEN $12 THEN NULL ELSE now + coalesce($10, $13::interval) END, ended_at = CASE WHEN $12 THEN now END
		FROM (SELECT writ_now()) AS clock (now) WHERE id = $1`
	rules, err := json.Marshal(p.Rules)
	if err != nil {
		return false, fmt.Errorf("rules of tool %s: %w", p.Tool, err)
	}
	_, err = tx.Exec(ctx, statement, row.ID[:], string(state), string(p.Rules.Class), p.TaskQueue, p.Decision, p.SpecDigest[:], p.Commitment[:], rules,
		idOrNull(p.SuspectedDuplicateOf), p.waits(state), max(p.Approvers, 1), state.Ended(), progressGrace)
	return err == nil, err
}
