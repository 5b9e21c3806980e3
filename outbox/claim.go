package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// beginClaim begins a flushed transaction that waits for the row's lock for a short while: the
// transaction of a transactional tool may have it for as long as its attempt may take.
const beginClaim = beginFlushed + "; set local lock_timeout to '3s'"

// leaseGrace is how long after its deadline an attempt's worker may still be stopping.
const leaseGrace = 5 * time.Second

// ClaimRequest asks for the permission to send.
type ClaimRequest struct {
	ID intent.ID
	// Version is the version of the row that the step was decided on.
	Version int64
	// DecidedAt is when policy let the attempt be made, by the database's clock.
	DecidedAt time.Time
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
	// Undecided says that it was not granted because policy was not asked just before; see
	// intent.Fresh.
	Undecided bool
	// Altered says that it was not granted because the row, or its payload, is not what its
	// commitment is over. Only a hand at the database can have changed it.
	Altered bool
	// Running says that it was not granted because the transaction of the newest attempt still
	// holds the row's lock. Only of transactional intents.
	Running bool
	Attempt Attempt
	Payload []byte
}

// Claim grants the next attempt of the intent, once, in one flushed commit: an attempt
// without a claim provably did not send, and a claim is the only "maybe". It is granted
// only on the version that the step was decided on, only if the rule, asked under the
// row's lock, still says to invoke, and only if policy said so just before. While a hold
// stands on the tool, its provider or the tenant, none is granted but a probe of the circuit
// breaker.
func (s *Store) Claim(ctx context.Context, req ClaimRequest) (Claim, error) {
	var claim Claim
	err := s.within(ctx, beginClaim, func(tx pgx.Tx) error {
		if err := lockHolds(ctx, tx, req.ID); err != nil {
			return err
		}
		row, err := lockRow(ctx, tx, req.ID)
		if err != nil {
			return err
		}
		claim = Claim{Row: row}
		if mine, ok := row.attemptWith(req.Token); ok {
			// My earlier COMMIT was granted and only its answer was lost.
			claim.Granted, claim.Attempt = true, mine
			claim.Payload, err = payload(ctx, tx, req.ID)
		} else if !row.Admits(req.SpecDigest, req.Rules) {
			claim.Diverged = true
		} else if step := row.Next(); row.Version == req.Version && step.Kind == intent.Invoke {
			if claim.Undecided = !intent.Fresh(req.DecidedAt, row.ReadAt); claim.Undecided {
				return nil
			}
			body, same, err := readAsAuthorized(ctx, tx, row)
			if err != nil {
				return err
			}
			if !same {
				claim.Altered = true
				return nil
			}
			if err := grantPastHolds(ctx, tx, row, step.Attempt, req); err != nil {
				return err
			}
			if claim.Row, err = load(ctx, tx, req.ID); err != nil {
				return err
			}
			// What was granted is found by its token: no row of mine, no permission.
			if claim.Attempt, claim.Granted = claim.Row.attemptWith(req.Token); claim.Granted {
				claim.Payload = body
			}
		}
		return err
	})
	if lockNotAvailable(err) {
		return s.whileRunning(ctx, req.ID, err)
	}
	if err != nil {
		return Claim{}, err
	}
	return claim, nil
}

// whileRunning answers a claim that waited in vain for the row's lock. If an attempt that makes
// its effect here is open, its transaction most likely has the lock.
func (s *Store) whileRunning(ctx context.Context, id intent.ID, waited error) (Claim, error) {
	row, err := s.Load(ctx, id)
	if err != nil {
		return Claim{}, err
	}
	if n := len(row.Attempts); row.Rules.Class != intent.Transactional || n == 0 || row.Attempts[n-1].Outcome != "" {
		return Claim{}, waited
	}
	return Claim{Row: row, Running: true}, nil
}

func (r Row) attemptWith(token uuid.UUID) (Attempt, bool) {
	for _, a := range r.Attempts {
		if a.Token == token {
			return a, true
		}
	}
	return Attempt{}, false
}

// grantPastHolds grants the attempt unless a hold stands. The rule says to invoke also under an
// automatic hold whose time for a probe has come; of all the claims that it says so to, one is
// granted.
func grantPastHolds(ctx context.Context, tx pgx.Tx, row Row, number int, req ClaimRequest) error {
	if !row.HeldUntil.IsZero() {
		if first, err := takeProbe(ctx, tx, row); err != nil || !first {
			return err
		}
	}
	return grant(ctx, tx, row, number, req)
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
	if _, err := fence(ctx, tx, row); err != nil {
		return err
	}
	now := row.ReadAt
	lease := now.Add(row.Rules.Timeout + leaseGrace)
	sendBy := intent.SendBy(row.Record(), now, lease)
	_, err := tx.Exec(ctx, statement, row.ID[:], row.Version, now, lease, progressGrace,
		number, req.Token, req.Worker, sendBy)
	return err
}
