package outbox

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// RecordEvidence writes what an attempt is known to have done, as soon as it is known and
// whatever state the intent is in, and returns the row. Unless flush is set it commits
// without waiting for the disk, because [Store.Journal] receives the evidence too. A
// definite outcome is never replaced; an unknown one gives way to a definite one that
// comes late. What speaks against the end of an intent is sealed as an amendment to its
// receipt, on disk, and raises an alert.
func (s *Store) RecordEvidence(ctx context.Context, id intent.ID, ev Evidence, flush bool, seal Seal) (Row, error) {
	begin := beginRelaxed
	if flush {
		begin = beginFlushed
	}
	var row Row
	err := s.within(ctx, begin, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		row, err = addEvidence(ctx, tx, row, ev, seal)
		return err
	})
	return row, err
}

// addEvidence needs the row's lock. It returns the row as it stands afterwards.
func addEvidence(ctx context.Context, tx pgx.Tx, row Row, ev Evidence, seal Seal) (Row, error) {
	const statement = `
		UPDATE attempts
		SET outcome = $3, evidence_at = writ_now(), code = $4, message = $5, final = $6, in_progress = $7,
			retry_after_ms = $8, media_type = $9, result = $10, result_digest = $11, stored = $12, already = $13,
			effect_id = nullif($14, '')
		WHERE intent_id = $1 AND number = $2`
	row, err := presumeAnswered(ctx, tx, row, &ev)
	if err != nil {
		return row, err
	}
	a, ok := row.learnsFrom(ev)
	if !ok {
		return row, nil // a large answer of no use is not stored
	}
	inline, digest, err := storeResult(ctx, tx, row, ev)
	if err != nil {
		return row, err
	}
	_, err = tx.Exec(ctx, statement, row.ID[:], a.Number, string(ev.Outcome), ev.Code, ev.Message,
		ev.Final, ev.InProgress, ev.RetryAfterMS, ev.mediaType(), inline, digest,
		ev.Stored, ev.Already, ev.EffectID)
	if err != nil {
		return row, err
	}
	if err := noteContact(ctx, tx, row, ev); err != nil {
		return row, err
	}
	return learnt(ctx, tx, row, seal)
}

// learnt reads a row that learned something, gives it its new version, and amends its receipt
// if what it learned speaks against its end.
func learnt(ctx context.Context, tx pgx.Tx, before Row, seal Seal) (Row, error) {
	row, err := load(ctx, tx, before.ID)
	if err != nil {
		return row, err
	}
	if row, err = noteFact(ctx, tx, row); err != nil {
		return row, err
	}
	if row, err = amendEarlier(ctx, tx, before, row, seal); err != nil {
		return row, err
	}
	if row.State.Ended() {
		if row.Freed, err = recount(ctx, tx, row); err != nil {
			return row, err
		}
	}
	against := intent.Contradiction(row.Record())
	if against == intent.Contradiction(before.Record()) {
		return row, nil
	}
	return amend(ctx, tx, row, against, seal)
}

// amendEarlier amends the receipts of earlier generations, which say that nothing happened
// under their keys, if it is known now that something did, and raises the alert: somebody was
// told so, and let the intent go on.
func amendEarlier(ctx context.Context, tx pgx.Tx, before, row Row, seal Seal) (Row, error) {
	for g := 1; g < row.Generation; g++ {
		if !intent.AppliedUnder(row.Record(), g) || intent.AppliedUnder(before.Record(), g) {
			continue
		}
		earlier := row
		earlier.Generation, earlier.State = g, intent.Failed
		err := tx.QueryRow(ctx, `SELECT count(*) FROM receipts WHERE intent_id = $1 AND generation = $2`, row.ID[:], g).Scan(&earlier.Amendment)
		if err != nil {
			return row, err
		}
		if earlier.Amendment == 0 {
			continue // a key that was replaced by itself has no receipt of its own
		}
		if err := flushed(ctx, tx); err != nil {
			return row, err
		}
		const raise = `UPDATE intents SET version = version + 1, alert = $2 WHERE id = $1 RETURNING version`
		if err := tx.QueryRow(ctx, raise, row.ID[:], intent.ReasonAppliedAfterAll).Scan(&row.Version); err != nil {
			return row, err
		}
		row.Alert, row.Raised = intent.ReasonAppliedAfterAll, true
		if err := seal(ctx, tx, earlier, intent.ReasonAppliedAfterAll, nil); err != nil {
			return row, err
		}
	}
	return row, nil
}

// flushed makes a relaxed transaction one that is on disk when it is committed: an amendment
// may not be lost, because nobody would come to write it again.
func flushed(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `set local synchronous_commit to on`)
	return err
}

// amend seals an amendment to the receipt of an ended intent and raises its alert, or takes it
// back if nothing speaks against the end any more.
func amend(ctx context.Context, tx pgx.Tx, row Row, against string, seal Seal) (Row, error) {
	if err := flushed(ctx, tx); err != nil {
		return row, err
	}
	const statement = `
		UPDATE intents SET version = version + 1, alert = nullif($2, '')
		WHERE id = $1
		RETURNING version, (SELECT count(*) FROM receipts WHERE intent_id = $1 AND generation = $3)`
	if err := tx.QueryRow(ctx, statement, row.ID[:], against, row.Generation).Scan(&row.Version, &row.Amendment); err != nil {
		return row, err
	}
	row.Alert, row.Raised = against, against != ""
	answer, err := answerOf(ctx, tx, row)
	if err != nil {
		return row, err
	}
	return row, seal(ctx, tx, row, cmp.Or(against, intent.ReasonWithdrawn), answer)
}

// learnsFrom returns the attempt that ev would change what is known of. It is found by its
// token alone: whoever has another one did not make it.
func (r Row) learnsFrom(ev Evidence) (Attempt, bool) {
	a, ok := r.attemptWith(ev.Token)
	if r.Rules.Class == intent.Transactional && ev.Outcome == intent.Applied && !a.Transacted {
		return a, false // such an effect is here, or it did not happen; a history may have outlived it
	}
	return a, ok && a.Number == ev.Attempt && (a.Outcome == "" || a.Outcome == intent.Unknown && ev.Outcome != intent.Unknown)
}

// noteFact gives a row that learned something its new version, and recovery the time by
// which the step that follows from it must have been taken.
func noteFact(ctx context.Context, tx pgx.Tx, row Row) (Row, error) {
	due := row.ReadAt
	step := row.Next()
	switch step.Kind {
	case intent.Wait:
		due = step.At
	case intent.Invoke, intent.Reconcile, intent.Renew, intent.Settle, intent.Park:
	case intent.Stop:
		due = row.DueAt
	}
	if !due.IsZero() && step.Kind != intent.Stop {
		due = due.Add(progressGrace)
	}
	const statement = `
		UPDATE intents SET version = version + 1, due_at = $2 WHERE id = $1 RETURNING version`
	row.DueAt = due
	err := tx.QueryRow(ctx, statement, row.ID[:], orNull(due)).Scan(&row.Version)
	return row, err
}

// Journal ends the intent, or parks it, if the rule says so, in one flushed commit
// together with its receipt. Evidence that did not survive in the database is written
// first. It may be called again: an intent that ended stays as it is. The returned row's
// next step says whether there is anything left to do.
func (s *Store) Journal(ctx context.Context, id intent.ID, evidence *Evidence, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		if evidence != nil {
			if row, err = addEvidence(ctx, tx, row, *evidence, seal); err != nil {
				return err
			}
		}
		step := row.Next()
		if step.To == intent.Refused {
			return nil // Refuse ends it, under the decision that this takes
		}
		switch step.Kind {
		case intent.Settle:
			return settle(ctx, tx, &row, step, seal)
		case intent.Park:
			return move(ctx, tx, &row, step.To)
		case intent.Invoke, intent.Reconcile, intent.Renew, intent.Wait, intent.Stop:
		}
		return nil
	})
	return row, err
}

func settle(ctx context.Context, tx pgx.Tx, row *Row, step intent.Step, seal Seal) (err error) {
	if *row, err = fence(ctx, tx, *row); err != nil {
		return err
	}
	if step.Reason == intent.ReasonPerformedTwice || step.Reason == intent.ReasonMaybeTwice {
		row.Alert, row.Raised = step.Reason, true
	}
	if err := move(ctx, tx, row, step.To); err != nil {
		return err
	}
	answer, err := answerOf(ctx, tx, *row)
	if err != nil {
		return err
	}
	return seal(ctx, tx, *row, step.Reason, answer)
}

// Refusal is a denial of an intent that was allowed before.
type Refusal struct {
	ID intent.ID
	// Version is the version of the row that was decided on. Deny, which decides under the
	// row's lock, does not read it.
	Version  int64
	Decision []byte // canonical JSON
}

// Refuse ends an intent that policy, or the end of its wait for a person, stopped before its
// first claim. On a row that was claimed, that ended, that has another version or whose claims
// may be lost, it changes nothing.
func (s *Store) Refuse(ctx context.Context, r Refusal, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, r.ID); err != nil {
			return err
		}
		if row.Version != r.Version || len(row.Attempts) > 0 || row.restored() || row.State.Ended() || !intent.CanMove(row.State, intent.Refused) {
			return nil
		}
		return refuse(ctx, tx, &row, r, seal)
	})
	return row, err
}

// refuse ends a locked row under the denial. What somebody changed by hand keeps the commitment that
// it does not have any more, and so is never decided on again.
func refuse(ctx context.Context, tx pgx.Tx, row *Row, r Refusal, seal Seal) error {
	_, same, err := readAsAuthorized(ctx, tx, *row)
	if err != nil {
		return err
	}
	if row.Decision = r.Decision; same {
		row.Commitment = intent.Commitment(row.Authorized())
	}
	if err := move(ctx, tx, row, intent.Refused); err != nil {
		return err
	}
	return seal(ctx, tx, *row, intent.ReasonRefused, nil)
}

// move changes the state of a locked row. Nothing is due any more: every state that it
// moves to is an end or waits for a person.
func move(ctx context.Context, tx pgx.Tx, row *Row, to intent.State) error {
	const statement = `
		UPDATE intents
		SET version = version + 1, state = $2, due_at = NULL, decision = $5, commitment = $6, alert = nullif($7, ''),
			ended_at = CASE WHEN $3 THEN writ_now() END
		WHERE id = $1 AND version = $4
		RETURNING version, ended_at,
			$3 AND EXISTS (SELECT FROM budget_charges WHERE intent_id = $1) OR EXISTS (SELECT FROM budget_waits WHERE intent_id = $1)`
	var ended *time.Time
	var counted bool
	err := tx.QueryRow(ctx, statement, row.ID[:], string(to), to.Ended(), row.Version, row.Decision, row.Commitment[:], row.Alert).
		Scan(&row.Version, &ended, &counted)
	if err != nil {
		return err
	}
	row.State, row.EndedAt, row.DueAt = to, value(ended).UTC(), time.Time{}
	if !counted {
		return nil
	}
	row.Freed, err = recount(ctx, tx, *row)
	return err
}
