package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// fence takes the right to make their effect from the open attempts of a transactional
// intent, under the row's lock. Their transactions are over, because those hold that lock, and
// what they have committed would have ended the intent; one that has not begun finds itself
// fenced when it does. Attempts of other classes are left alone: nothing is known of them.
func fence(ctx context.Context, tx pgx.Tx, row Row) (Row, error) {
	open := false
	for _, a := range row.Attempts {
		open = open || a.Outcome != intent.Applied && a.Outcome != intent.NotApplied
	}
	if row.Rules.Class != intent.Transactional || !open {
		return row, nil
	}
	const statement = `
		UPDATE attempts SET outcome = 'not_applied', evidence_at = writ_now(), code = $2, message = $3
		WHERE intent_id = $1 AND (outcome IS NULL OR outcome = 'unknown')`
	_, err := tx.Exec(ctx, statement, row.ID[:], CodeFenced, "it had not committed its effect when the right to was taken from it")
	if err != nil {
		return row, err
	}
	return load(ctx, tx, row.ID)
}
