package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// recount brings what an intent was charged with in line with what its row, which tx has locked,
// shows. It counts while the intent is open and after it ended, until it is proven that nothing
// happened; late evidence of an effect counts it again, whether there is room or not. Concurrency
// counts what is open. Where an intent was admitted more than once, only the last time can count,
// also if no budget stood then. What an earlier time came to has a receipt.
//
// freed says that somebody waits for a budget that has, or may have, more room by it.
func recount(ctx context.Context, tx pgx.Tx, row Row) (freed bool, err error) {
	happened := intent.Happened(row.Record()) != intent.NotApplied
	var less [][16]byte
	if row.awaitsBudget() {
		left, err := leaveLine(ctx, tx, row, happened)
		if err != nil {
			return false, err
		}
		less = append(less, left)
	}
	list, err := lastCharges(ctx, tx, row)
	if err != nil {
		return false, err
	}
	for _, c := range list {
		counts := !row.State.Ended() || happened && c.Kind != BudgetConcurrency
		if counts == c.Counts {
			continue
		}
		if err := c.flip(ctx, tx, row.ID, counts); err != nil {
			return false, err
		}
		if !counts {
			less = append(less, c.Budget)
		}
	}
	if len(less) == 0 {
		return false, nil
	}
	// A statement of its own: it sees who has begun to wait while this waited for the counter.
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM budget_waits WHERE budget_id = ANY ($1))`, less).Scan(&freed)
	return freed, err
}

// charge is what an intent was counted with in a budget.
type charge struct {
	Budget     [16]byte
	Generation int
	Kind       BudgetKind
	// Counts says that it was not released.
	Counts bool
}

// lastCharges returns the charges since the intent was last decided on anew, in the order in which
// counters are locked.
func lastCharges(ctx context.Context, tx pgx.Tx, row Row) ([]charge, error) {
	const query = `
		SELECT c.budget_id, c.generation, b.kind, c.released_at IS NULL
		FROM budget_charges c JOIN budgets b ON b.id = c.budget_id
		WHERE c.intent_id = $1 AND c.generation > (SELECT coalesce(max(generation), 0) FROM receipts WHERE intent_id = $1 AND generation < $2)
		ORDER BY c.budget_id`
	rows, err := tx.Query(ctx, query, row.ID[:], row.Generation)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[charge])
}

// flip makes the charge count, or no longer. A window that is over has no count that it would
// change. A count that somebody mended by hand must not keep an intent from ending, so it stops
// at zero.
func (c charge) flip(ctx context.Context, tx pgx.Tx, id intent.ID, counts bool) error {
	const statement = `
		WITH flipped AS (
			UPDATE budget_charges SET released_at = CASE WHEN $4 THEN NULL ELSE writ_now() END
			WHERE intent_id = $1 AND budget_id = $2 AND generation = $3
			RETURNING amount, begun)
		UPDATE budget_counters c SET used = greatest(0, c.used + CASE WHEN $4 THEN f.amount ELSE -f.amount END)
		FROM flipped f WHERE c.budget_id = $2 AND c.begun = f.begun`
	_, err := tx.Exec(ctx, statement, id[:], c.Budget, c.Generation, counts)
	return err
}
