package outbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestAStatementThatEndsWithTheAttemptRanIntoItsTimeWhoeverNoticedFirst(t *testing.T) {
	t.Parallel()
	over, left := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	noticedHere := fmt.Errorf("timeout: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		deadline time.Time
		err      error
		want     string
	}{
		"PostgreSQL":                          {left, &pgconn.PgError{Code: "57014"}, CodeStatementTimeout},
		"the statement's context":             {over, noticedHere, CodeStatementTimeout},
		"a shorter context of the tool":       {left, noticedHere, ""},
		"nobody, for it failed":               {over, &pgconn.PgError{Code: "22012"}, ""},
		"nobody, for it waited for a lock":    {over, &pgconn.PgError{Code: "55P03"}, CodeLockTimeout},
		"nobody, for the tool interrupted it": {over, context.Canceled, ""},
	} {
		if got := (&EffectTx{deadline: c.deadline}).causeOf(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
