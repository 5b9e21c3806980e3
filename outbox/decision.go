package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Decision is what a person decided about an intent.
type Decision struct {
	// Number counts the decisions on the intent from 1.
	Number int
	Kind   intent.DecisionKind
	// Decider is who decided. Its Permit is not read with the decision.
	Decider
	// Commitment and Generation are those of what was decided on.
	Commitment intent.Digest
	Generation int
	DecidedAt  time.Time
	// MediaType and Result are what an operator says that the tool would have answered; empty
	// unless the kind is intent.ResolveApplied. They are not read with the decision.
	MediaType string
	Result    []byte
}

// told says who decided what, and when.
func (d Decision) told() string {
	verb := string(d.Kind)
	switch d.Kind {
	case intent.Confirm:
		verb = "confirmed it"
	case intent.Deny:
		verb = "denied it"
	case intent.Cancel:
		verb = "cancelled it"
	case intent.ResolveApplied:
		verb = "resolved it as applied"
	case intent.ResolveNotApplied:
		verb = "resolved it as not applied"
	case intent.Retry:
		verb = "let it be tried again"
	case intent.Inquire:
		verb = "had the provider asked"
	case intent.Reissue:
		verb = "issued it again"
	case intent.Acknowledge:
		verb = "acknowledged its alert"
	}
	return fmt.Sprintf("%s %s at %s", d.Principal, verb, d.DecidedAt.Format(time.RFC3339))
}

// told says who decided what before, behind a colon; nothing if nobody did.
func told(list []Decision) string {
	if len(list) == 0 {
		return ""
	}
	words := make([]string, len(list))
	for i, d := range list {
		words[i] = d.told()
	}
	return ": " + strings.Join(words, ", ")
}

// Confirm is [Store.ConfirmShown] of whatever is on the row.
func (s *Store) Confirm(ctx context.Context, id intent.ID, by Decider) (Row, error) {
	return s.ConfirmShown(ctx, id, "", by)
}

// ConfirmShown records that a person confirms an intent that waits for one, in one flushed
// commit, and returns its row. When as many different people have as its policy asked for, the
// same commit lets it go on. What they confirm is what is on the row, its commitment, which must
// begin with the one that they were shown.
//
// The errors that are answers are self_confirmation for the principal that asked for the intent,
// already_confirmed for one of several who confirmed before, commitment_changed, intent_altered,
// confirmation_expired, and not_awaiting_confirmation, which says who decided before.
func (s *Store) ConfirmShown(ctx context.Context, id intent.ID, shown intent.DigestPrefix, by Decider) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockUndecided(ctx, tx, id); err != nil {
			return err
		}
		if !shown.Begins(row.Commitment) {
			return intent.Errorf(intent.CodeCommitmentChanged,
				"intent %s has commitment %s and not %s, so what was shown is not what would run; nothing was recorded; look again with `writ intent get %s`", id, intent.Short(row.Commitment), shown, id)
		}
		if err := mayDecide(row, by); err != nil {
			return err
		}
		if err := notAltered(ctx, tx, row); err != nil {
			return err
		}
		if err := confirmedBefore(ctx, tx, row, by); err != nil {
			return err
		}
		if err := insertDecision(ctx, tx, row, Decision{Kind: intent.Confirm, Decider: by}); err != nil {
			return err
		}
		row, err = goOnIfConfirmed(ctx, tx, row)
		return err
	})
	return row, err
}

// confirmedBefore is nil unless the decider's voice is among those who have confirmed what waits.
func confirmedBefore(ctx context.Context, tx pgx.Tx, row Row, by Decider) error {
	record := row.Record()
	if len(record.Confirmed()) == 0 {
		return nil
	}
	list, err := decisions(ctx, tx, row.ID)
	if err != nil {
		return err
	}
	for _, d := range list {
		same := slices.ContainsFunc(by.voice(), func(name string) bool { return slices.Contains(d.voice(), name) })
		if d.Kind == intent.Confirm && d.Commitment == row.Commitment && same {
			return intent.Errorf(intent.CodeAlreadyConfirmed, "%s has confirmed intent %s already, or somebody for whom or by whom it acts has%s; %d of %d have, and somebody else has to as well",
				by.Principal, row.ID, told(list), len(record.Confirmed()), record.Quorum())
		}
	}
	return nil
}

// goOnIfConfirmed counts the confirmation that was inserted since the row was read, of somebody who
// is not among those before: the intent goes on if nobody else is missing, else it waits on. The
// database counts again.
func goOnIfConfirmed(ctx context.Context, tx pgx.Tx, row Row) (Row, error) {
	statement := `UPDATE intents SET version = version + 1 WHERE id = $1 AND version = $2`
	if row.Record().Unconfirmed() == 1 {
		statement = `UPDATE intents SET version = version + 1, state = 'recorded', due_at = writ_now() WHERE id = $1 AND version = $2`
	}
	if _, err := tx.Exec(ctx, statement, row.ID[:], row.Version); err != nil {
		return Row{}, err
	}
	return load(ctx, tx, row.ID)
}

// Deny ends an intent that waits for a person, in one flushed commit with the decision and
// the receipt, and returns its row. Whoever asked for the intent may deny it: that takes it
// back. The errors that are answers are those of Confirm, and outbox_restored. Where a
// confirmation may have been lost with what was sent after it, the intent is in doubt.
func (s *Store) Deny(ctx context.Context, r Refusal, by Decider, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockUndecided(ctx, tx, r.ID); err != nil {
			return err
		}
		if row.restored() {
			return errRestored(r.ID)
		}
		if err := insertDecision(ctx, tx, row, Decision{Kind: intent.Deny, Decider: by}); err != nil {
			return err
		}
		if intent.Happened(row.Record()) != intent.NotApplied {
			return move(ctx, tx, &row, intent.InDoubt) // that nothing was sent cannot be said
		}
		return refuse(ctx, tx, &row, r, seal)
	})
	return row, err
}

// lockUndecided returns the locked row of an intent that waits for a person and may still be
// decided on.
func lockUndecided(ctx context.Context, tx pgx.Tx, id intent.ID) (Row, error) {
	row, err := lockRow(ctx, tx, id)
	switch {
	case err != nil:
		return Row{}, err
	case row.State != intent.AwaitingConfirmation:
		return Row{}, notAwaiting(ctx, tx, row)
	case row.Next().Kind != intent.Stop:
		return Row{}, intent.Errorf(intent.CodeConfirmationExpired,
			"intent %s had to be confirmed by %s, so it is refused; if it is still wanted, its requester sends the same request again", id, row.ConfirmBy.Format(time.RFC3339))
	}
	return row, nil
}

// notAwaiting says why the intent does not wait for a decision.
func notAwaiting(ctx context.Context, tx pgx.Tx, row Row) error {
	list, err := decisions(ctx, tx, row.ID)
	if err != nil {
		return err
	}
	return intent.Errorf(intent.CodeNotAwaiting, "intent %s is %s and does not wait for a decision%s; nothing was changed", row.ID, row.State, told(list))
}

// insertDecision records what was decided on the locked row, at the time at which the row was
// read: what was in time then is in time on record. The error may be that of [Decider.Permit].
func insertDecision(ctx context.Context, tx pgx.Tx, row Row, d Decision) error {
	const statement = `
		INSERT INTO decisions (intent_id, number, kind, commitment, generation, decided_at, attempts, lookups, media_type, result, ` + deciderColumns + `)
		SELECT $1, 1 + coalesce(max(number), 0), $2, $3, $4, $5, $6, $7, nullif($8, ''), $9, $10, $11, $12, $13, $14 FROM decisions WHERE intent_id = $1`
	if d.Permit != nil {
		if err := d.Permit(row, d.Kind); err != nil {
			return err
		}
	}
	written := []any{row.ID[:], string(d.Kind), row.Commitment[:], row.Generation, row.ReadAt, len(row.Attempts), len(row.Lookups), d.MediaType, d.Result}
	_, err := tx.Exec(ctx, statement, append(written, d.values()...)...)
	return err
}

// Decisions returns what people decided about the intent, oldest first.
func (s *Store) Decisions(ctx context.Context, id intent.ID) ([]Decision, error) {
	list, err := decisions(ctx, s.pool, id)
	return list, DatabaseError(err)
}

// Decisions is [Store.Decisions] within the transaction of a [Seal].
func Decisions(ctx context.Context, tx pgx.Tx, id intent.ID) ([]Decision, error) {
	return decisions(ctx, tx, id)
}

func decisions(ctx context.Context, q querier, id intent.ID) ([]Decision, error) {
	const query = `
		SELECT number, kind, commitment, generation, decided_at, ` + readDecider + ` FROM decisions WHERE intent_id = $1 ORDER BY number`
	rows, err := q.Query(ctx, query, id[:])
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Decision, error) {
		var d Decision
		var commitment []byte
		err := row.Scan(append([]any{&d.Number, &d.Kind, &commitment, &d.Generation, &d.DecidedAt}, d.fields()...)...)
		copy(d.Commitment[:], commitment)
		d.DecidedAt = d.DecidedAt.UTC()
		return d, err
	})
}
