package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// leaseGrace is how long after its deadline an attempt's worker may still be stopping.
const leaseGrace = 5 * time.Second

// ClaimRequest asks for the permission to send.
type ClaimRequest struct {
	ID intent.ID
	// Version is the version of the row that the step was decided on.
	Version int64
	// Token is random and new for every claim. It recognizes the claim whose COMMIT
	// answer was lost.
	Token uuid.UUID
	// Worker names the process that will send.
	Worker string
	// SpecDigest and Rules are the behaviour of the tool that will run. The first attempt is
	// granted only under the behaviour that the intent was authorized under; a later one
	// goes on under the rules on its row, if the tool's own continue them.
	SpecDigest intent.Digest
	Rules      intent.Rules
}

// Claim is the answer to a ClaimRequest.
type Claim struct {
	Row Row
	// Granted says that attempt may send. If it is false, nothing may be sent, and the
	// row's next step says what to do instead.
	Granted bool
	// Diverged says that it was not granted because the tool behaves otherwise than the
	// intent was authorized, or than its earlier attempts were sent, under.
	Diverged bool
	Attempt  Attempt
	Payload  []byte
}

// Claim grants the next attempt of the intent, once, in one flushed commit: an attempt
// without a claim provably did not send, and a claim is the only "maybe". It is granted
// only on the version that the step was decided on and only if the rule, asked under the
// row's lock, still says to invoke.
func (s *Store) Claim(ctx context.Context, req ClaimRequest) (Claim, error) {
	var claim Claim
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		row, err := lockRow(ctx, tx, req.ID)
		if err != nil {
			return err
		}
		claim = Claim{Row: row}
		if mine, ok := row.attemptWith(req.Token); ok {
			// My earlier COMMIT was granted and only its answer was lost.
			claim.Granted, claim.Attempt = true, mine
		} else if !row.Admits(req.SpecDigest, req.Rules) {
			claim.Diverged = true
		} else if step := row.Next(); row.Version == req.Version && step.Kind == intent.Invoke {
			if err := grant(ctx, tx, row, step.Attempt, req); err != nil {
				return err
			}
			if claim.Row, err = load(ctx, tx, req.ID); err != nil {
				return err
			}
			// What was granted is found by its token: no row of mine, no permission.
			claim.Attempt, claim.Granted = claim.Row.attemptWith(req.Token)
		}
		if claim.Granted {
			claim.Payload, err = payload(ctx, tx, req.ID)
		}
		return err
	})
	if err != nil {
		return Claim{}, err
	}
	return claim, nil
}

func (r Row) attemptWith(token uuid.UUID) (Attempt, bool) {
	for _, a := range r.Attempts {
		if a.Token == token {
			return a, true
		}
	}
	return Attempt{}, false
}

func grant(ctx context.Context, tx pgx.Tx, row Row, number int, req ClaimRequest) error {
	const statement = `
		WITH granted AS (
			UPDATE intents
			SET version = version + 1, state = 'invoking', first_sent_at = coalesce(first_sent_at, $3),
				due_at = $4::timestamptz + $5::interval
			WHERE id = $1 AND version = $2
			RETURNING id, generation)
		INSERT INTO attempts (intent_id, number, generation, token, worker, claimed_at, lease_until, send_by)
		SELECT id, $6, generation, $7, $8, $3, $4, $9 FROM granted`
	now := row.ReadAt
	lease := now.Add(row.Rules.Timeout + leaseGrace)
	sendBy := intent.SendBy(row.Record(), now, lease)
	_, err := tx.Exec(ctx, statement, row.ID[:], req.Version, now, lease, progressGrace,
		number, req.Token, req.Worker, sendBy)
	return err
}
