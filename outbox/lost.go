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

// presumeLost gives an intent that begins, or is decided on again, an attempt that is presumed if it
// may have been let go on, and sent, in commits that were lost.
func presumeLost(ctx context.Context, tx pgx.Tx, row Row) (Row, error) {
	since, err := unprovenSince(ctx, tx, row)
	if err != nil || since.IsZero() {
		return row, err
	}
	lost, err := lostSince(ctx, tx, row, since)
	if err != nil || lost.IsZero() {
		return row, err
	}
	return presume(ctx, tx, row, lost)
}

// unprovenSince is since when the row does not show what was sent for its request, if commits are
// lost; zero: it shows all that matters.
//
// The caller may have asked for the same before, and that row was lost. Of a keyed tool the provider
// knows by the key, and of one that can be looked up it can be asked; for every other class the mark
// would only keep new work from being done. A minted key is nobody's repetition.
//
// What was refused may have been decided on again after each refusal, and a later one is no proof
// that what was lost was not sent: so the first one counts.
func unprovenSince(ctx context.Context, tx pgx.Tx, row Row) (since time.Time, err error) {
	if row.Rules.Class == intent.Reconcilable && !row.RequestKey.Minted() {
		since = row.ReadAt.Add(-lostRowsMatter)
	}
	if row.Generation == 1 || !row.Rules.Class.LeavesDoubt() {
		return since, nil
	}
	refused, err := firstEnd(ctx, tx, row)
	if since.IsZero() || refused.Before(since) {
		since = refused
	}
	return since, err
}

// firstEnd is when the row first ended.
func firstEnd(ctx context.Context, tx pgx.Tx, row Row) (ended time.Time, err error) {
	err = tx.QueryRow(ctx, `SELECT min(created_at) FROM receipts WHERE intent_id = $1`, row.ID[:]).Scan(&ended)
	return ended, err
}

// lostSince is when the database last lost commits after the given time, as far as it is known;
// zero: it did not.
func lostSince(ctx context.Context, tx pgx.Tx, row Row, since time.Time) (time.Time, error) {
	if row.restored() {
		return row.ReadAt, nil
	}
	// The first history is the one that the outbox was made in.
	const query = `SELECT max(decided_at) FROM timelines WHERE number > 1 AND lost AND decided_at > $1`
	var decided *time.Time
	err := tx.QueryRow(ctx, query, since).Scan(&decided)
	return value(decided).UTC(), err
}
