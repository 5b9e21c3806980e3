package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Said is who said what a gate goes by, or put policies in force, and when.
type Said struct {
	By        Decider
	ChangedAt time.Time
}

// saidColumns are the columns that [Said.columns] reads.
const saidColumns = readDecider + `, changed_at`

func (s *Said) columns() []any { return append(s.By.fields(), &s.ChangedAt) }

// maxSaid bounds a list of what was said.
const maxSaid = 1000

// inTurn lets those that add to one subject of a table follow each other, until the end of tx: the
// next statement sees what the one before has committed, and so which number is the next.
func inTurn(ctx context.Context, tx pgx.Tx, table string, subject ...string) error {
	name := table
	for _, part := range subject {
		name += " " + part // no name has a space
	}
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))`, name)
	return err
}
