package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// RecordEvidence writes what an attempt is known to have done, as soon as it is known and
// whatever state the intent is in, and returns the row. Unless flush is set it commits
// without waiting for the disk, because [Store.Journal] receives the evidence too. A
// definite outcome is never replaced; an unknown one gives way to a definite one that
// comes late.
func (s *Store) RecordEvidence(ctx context.Context, id intent.ID, ev Evidence, flush bool) (Row, error) {
	begin := beginRelaxed
	if flush {
		begin = beginFlushed
	}
	var row Row
	err := s.within(ctx, begin, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		row, err = addEvidence(ctx, tx, row, ev)
		return err
	})
	return row, err
}

// addEvidence needs the row's lock. It returns the row as it stands afterwards.
func addEvidence(ctx context.Context, tx pgx.Tx, row Row, ev Evidence) (Row, error) {
	const statement = `
		UPDATE attempts
		SET outcome = $4, evidence_at = writ_now(), code = $5, message = $6, final = $7, in_progress = $8,
			retry_after_ms = $9, media_type = $10, result = $11, result_digest = $12
		WHERE intent_id = $1 AND number = $2 AND token = $3`
	if !row.learnsFrom(ev) {
		return row, nil // a large answer of no use is not stored
	}
	digest, err := storeResult(ctx, tx, row, ev)
	if err != nil {
		return row, err
	}
	inline := ev.Result
	if digest != nil {
		inline = nil
	}
	_, err = tx.Exec(ctx, statement, row.ID[:], ev.Attempt, ev.Token, string(ev.Outcome), ev.Code, ev.Message,
		ev.Final, ev.InProgress, ev.RetryAfterMS, ev.mediaType(), inline, digest)
	if err != nil {
		return row, err
	}
	if row, err = load(ctx, tx, row.ID); err != nil {
		return row, err
	}
	return noteFact(ctx, tx, row)
}

// learnsFrom reports whether ev would change what is known of its attempt.
func (r Row) learnsFrom(ev Evidence) bool {
	a, ok := r.attemptWith(ev.Token)
	return ok && a.Number == ev.Attempt && (a.Outcome == "" || a.Outcome == intent.Unknown && ev.Outcome != intent.Unknown)
}

// noteFact gives a row that learned something its new version, and recovery the time by
// which the step that follows from it must have been taken.
func noteFact(ctx context.Context, tx pgx.Tx, row Row) (Row, error) {
	due := row.ReadAt
	step := row.Next()
	switch step.Kind {
	case intent.Wait:
		due = step.At
	case intent.Invoke, intent.Settle, intent.Park:
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
			if row, err = addEvidence(ctx, tx, row, *evidence); err != nil {
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
		case intent.Invoke, intent.Wait, intent.Stop:
		}
		return nil
	})
	return row, err
}

func settle(ctx context.Context, tx pgx.Tx, row *Row, step intent.Step, seal Seal) error {
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
	Version    int64
	Decision   []byte // canonical JSON
	Commitment intent.Digest
}

// Refuse ends an intent that policy, or the end of its wait for a person, stopped before its
// first claim. On a row that was
// claimed, that ended or that has another version, it changes nothing.
func (s *Store) Refuse(ctx context.Context, r Refusal, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, r.ID); err != nil {
			return err
		}
		if row.Version != r.Version || !intent.CanMove(row.State, intent.Refused) {
			return nil
		}
		return refuse(ctx, tx, &row, r, seal)
	})
	return row, err
}

func refuse(ctx context.Context, tx pgx.Tx, row *Row, r Refusal, seal Seal) error {
	row.Decision, row.Commitment = r.Decision, r.Commitment
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
		SET version = version + 1, state = $2, due_at = NULL, decision = $5, commitment = $6,
			ended_at = CASE WHEN $3 THEN writ_now() END
		WHERE id = $1 AND version = $4
		RETURNING version, ended_at`
	var ended *time.Time
	err := tx.QueryRow(ctx, statement, row.ID[:], string(to), to.Ended(), row.Version, row.Decision, row.Commitment[:]).Scan(&row.Version, &ended)
	if err != nil {
		return err
	}
	row.State, row.EndedAt, row.DueAt = to, value(ended).UTC(), time.Time{}
	return nil
}
