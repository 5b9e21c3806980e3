package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Acknowledge takes the intent's alert away, in one flushed commit with the decision, and
// returns its row. Its receipts and its evidence stay, and so does its end. Later evidence of
// another kind raises a new alert. The error has code no_alert if there is none, and says who
// acknowledged it.
func (s *Store) Acknowledge(ctx context.Context, id intent.ID, by Decider) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		if row.Alert == "" {
			earlier, err := decisions(ctx, tx, id)
			if err != nil {
				return err
			}
			return intent.Errorf(intent.CodeNoAlert, "intent %s has no alert%s; nothing was changed", id, told(earlier))
		}
		if err := insertDecision(ctx, tx, row, Decision{Kind: intent.Acknowledge, Decider: by}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE intents SET version = version + 1, alert = NULL WHERE id = $1`, id[:]); err != nil {
			return err
		}
		row, err = load(ctx, tx, id)
		return err
	})
	return row, err
}
