package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// lostRowsMatter is for how long after a restore a request may be the repetition of one whose row was
// lost. Whoever repeats it still after that has no answer to wait for.
const lostRowsMatter = 7 * 24 * time.Hour

// presumeLostRow gives a new intent an attempt that is presumed if commits were lost lately and the
// caller may have asked for the same before: its row would be one of them. Of a keyed tool the
// provider knows by the key, and of one that can be looked up it can be asked; for every other
// class the mark would only keep new work from being done. A minted key is nobody's repetition.
func presumeLostRow(ctx context.Context, tx pgx.Tx, row Row) (Row, error) {
	if row.Rules.Class != intent.Reconcilable || row.RequestKey.Minted() {
		return row, nil
	}
	lost, err := lostSince(ctx, tx, row, row.ReadAt.Add(-lostRowsMatter))
	if err != nil || lost.IsZero() {
		return row, err
	}
	return presume(ctx, tx, row, lost)
}
