package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// releaseBatch is how many intents are looked at in one transaction.
const releaseBatch = 100

// Release makes the subject's intents due that would be sent or ended now, so that recovery
// wakes them at its next sweep, and returns how many. The zero Subject is all there are. It is
// called after a hold was lifted, or when the outbox is trusted again. What it does not reach,
// because it was stopped or because somebody holds the row, goes on by itself when its own wait
// is over.
//
// The rule is asked about each of them: what waits for something else, another hold or the
// provider's wish, is left alone.
func (s *Store) Release(ctx context.Context, on Subject) (released int, err error) {
	var last Row
	for {
		page, err := s.waiting(ctx, on, last)
		if err != nil {
			return released, err
		}
		if err := s.makeDue(ctx, ready(page)); err != nil {
			return released, err
		}
		released += len(ready(page))
		if len(page) < releaseBatch {
			return released, nil
		}
		last = page[len(page)-1]
	}
}

// waiting returns the next page of the subject's open intents that are not due yet.
func (s *Store) waiting(ctx context.Context, on Subject, last Row) ([]Row, error) {
	// Pages follow intents_open_created, which holds the order and no ended intents; the subject
	// is a filter, as in InFlight. The clock is read once, in a query of its own.
	const query = `
		WITH page AS MATERIALIZED (
			SELECT i.id FROM intents i
			WHERE i.ended_at IS NULL AND i.due_at > (SELECT writ_now()) AND ` + ofSubject + `
				AND (i.created_at, i.id) > ($3, $4)
			ORDER BY i.created_at, i.id LIMIT $5)
		SELECT` + intentColumns + `, writ_now(),` + attemptColumns + `
		FROM page JOIN intents i ON i.id = page.id LEFT JOIN attempts a ON a.intent_id = i.id
		ORDER BY i.created_at, i.id, a.number`
	rows, err := s.pool.Query(ctx, query, string(on.Scope), on.Name, last.CreatedAt, last.ID[:], releaseBatch)
	if err != nil {
		return nil, DatabaseError(err)
	}
	page, err := collect(rows)
	return page, DatabaseError(err)
}

// ready returns the ids of the rows whose next step nothing keeps back any more.
func ready(page []Row) (ids [][16]byte) {
	for _, row := range page {
		switch row.Next().Kind {
		case intent.Invoke, intent.Renew, intent.Settle:
			ids = append(ids, row.ID)
		case intent.Wait, intent.Reconcile, intent.Park, intent.Stop:
		}
	}
	return ids
}

// makeDue is no fact about an intent, so it needs no version. It passes over rows that somebody
// holds: whoever does, moves the due time as well.
func (s *Store) makeDue(ctx context.Context, ids [][16]byte) error {
	if len(ids) == 0 {
		return nil
	}
	const statement = `
		WITH free AS (SELECT id FROM intents WHERE id = ANY ($1) AND due_at > writ_now() FOR UPDATE SKIP LOCKED)
		UPDATE intents i SET due_at = writ_now() FROM free WHERE i.id = free.id`
	return s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement, ids)
		return err
	})
}
