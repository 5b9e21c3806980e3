package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Cancel forbids every further request for the intent, in one flushed commit with the decision,
// and returns its row. It takes nothing back: an intent of which nothing was sent ends with it,
// and one whose outcome is open is looked up or parked. Cancelling again changes nothing. The
// error has code already_ended if the intent ended otherwise, whether it was cancelled before or
// not.
func (s *Store) Cancel(ctx context.Context, id intent.ID, by Decider, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		switch {
		case row.State == intent.Cancelled:
			return nil
		case row.State.Ended(): // also after a cancellation that came too late
			return intent.Errorf(intent.CodeAlreadyEnded, "intent %s is %s since %s, so there is nothing to cancel", id, row.State, row.EndedAt.Format(time.RFC3339))
		case row.Record().Cancelled():
			return nil
		}
		row, err = decide(ctx, tx, row, Decision{Kind: intent.Cancel, Decider: by}, seal)
		return err
	})
	return row, err
}

// decide records a person's decision on a locked row and takes the step that follows from it,
// if that ends the intent.
func decide(ctx context.Context, tx pgx.Tx, row Row, d Decision, seal Seal) (Row, error) {
	if err := insertDecision(ctx, tx, row, d); err != nil {
		return row, err
	}
	row, err := learnt(ctx, tx, row, seal)
	if err != nil {
		return row, err
	}
	if step := row.Next(); step.Kind == intent.Settle && step.To != intent.Refused {
		err = settle(ctx, tx, &row, step, seal)
	}
	return row, err
}
