package pgtest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Commits counts the transactions of a pool that changed or locked a row, by whether their
// COMMIT waited for the disk. It sees single statements, not batches and COPY.
type Commits struct {
	mu    sync.Mutex
	open  map[*pgx.Conn]*transaction
	count CommitCount
}

// CommitCount is how many writing transactions were committed.
type CommitCount struct {
	// Flushed and Relaxed were begun with synchronous_commit on and off.
	Flushed, Relaxed int
	// Unsaid left it to the server's settings, or wrote outside of a transaction.
	Unsaid int
}

type transaction struct {
	begin string
	wrote bool
}

// Pool returns a pool for url and the counter of its commits. The pool is closed when the
// test ends.
func Pool(t testing.TB, url string) (*pgxpool.Pool, *Commits) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	commits := &Commits{open: map[*pgx.Conn]*transaction{}}
	cfg.ConnConfig.Tracer = commits
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, commits
}

// Take returns the count since the last call.
func (c *Commits) Take() CommitCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.count
	c.count = CommitCount{}
	return taken
}

type statementKey struct{}

// TraceQueryStart is pgx's; it remembers the statement until its end.
func (c *Commits) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, statementKey{}, data.SQL)
}

// TraceQueryEnd is pgx's.
func (c *Commits) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	statement, _ := ctx.Value(statementKey{}).(string)
	if data.Err != nil {
		return // the transaction, if there is one, can only roll back
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(statement)), " "); strings.TrimSuffix(word, ";") {
	case "begin":
		c.open[conn] = &transaction{begin: statement}
	case "commit":
		if tx := c.open[conn]; tx != nil && tx.wrote {
			c.committed(tx.begin)
		}
		delete(c.open, conn)
	case "rollback":
		delete(c.open, conn)
	case "set":
		if tx := c.open[conn]; tx != nil && strings.Contains(statement, "synchronous_commit") {
			tx.begin = statement // the last word counts
		}
	default:
		if !writes(statement, data) {
			return
		}
		if tx := c.open[conn]; tx != nil {
			tx.wrote = true
		} else {
			c.committed("")
		}
	}
}

// writes reports whether a statement gave its transaction something to commit. A row lock
// does: it is written to the row.
func writes(statement string, data pgx.TraceQueryEndData) bool {
	tag := data.CommandTag
	changes := tag.Insert() || tag.Update() || tag.Delete() || strings.Contains(statement, "FOR UPDATE")
	return changes && tag.RowsAffected() > 0
}

func (c *Commits) committed(begin string) {
	switch {
	case strings.Contains(begin, "synchronous_commit to on"):
		c.count.Flushed++
	case strings.Contains(begin, "synchronous_commit to off"):
		c.count.Relaxed++
	default:
		c.count.Unsaid++
	}
}
