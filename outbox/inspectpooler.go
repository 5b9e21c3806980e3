package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"writ/intent"
)

// PoolMode is what a connection pooler between Writ and PostgreSQL lends its clients a
// connection for.
type PoolMode string

// The modes.
const (
	// Direct: there is no pooler.
	Direct PoolMode = "direct"
	// PerSession: for as long as the client is connected.
	PerSession PoolMode = "session"
	// PerTransaction: for one transaction.
	PerTransaction PoolMode = "transaction"
	// PerStatement: for one statement; transactions are refused.
	PerStatement PoolMode = "statement"
)

// Prepared is what becomes of a named prepared statement behind a pooler.
type Prepared string

// What was found.
const (
	// Kept: the pooler keeps them apart, as PgBouncer does from 1.21 on with
	// max_prepared_statements.
	Kept Prepared = "kept"
	// Lost: a name means what another client prepared, or nothing.
	Lost Prepared = "lost"
	// NotTried: it was not found out, or there is no pooler that could lose them.
	NotTried Prepared = ""
)

// Pooler is what stands between Writ and PostgreSQL.
type Pooler struct {
	Mode     PoolMode
	Prepared Prepared
	// NamesStatements says that Writ's pool prepares statements with names, which is pgx's
	// default; default_query_exec_mode in the URL changes it.
	NamesStatements bool
}

// Unusable says why nothing of Writ can work through the pooler; empty if it can, and if that was
// not found out.
func (p Pooler) Unusable() string {
	switch {
	case p.Mode == PerStatement:
		return "a connection pooler lends connections for a statement and refuses transactions; set pool_mode = transaction or session for this database, " +
			"or name PostgreSQL itself in DATABASE_URL"
	case p.Mode == PerTransaction && p.NamesStatements && p.Prepared == Lost:
		return losesPrepared
	}
	return ""
}

const losesPrepared = "a connection pooler lends connections for a transaction and loses prepared statements; add default_query_exec_mode=cache_describe to DATABASE_URL, " +
	"or set max_prepared_statements (PgBouncer 1.21 or newer), or choose session mode"

// CheckPooler is nil if Writ can work through what stands between it and PostgreSQL, or if that
// was not found out; else it is an error with code invalid_configuration that says how to mend it.
// A database that does not answer is an error as everywhere.
func (s *Store) CheckPooler(ctx context.Context) error {
	i, err := s.Inspector(ctx)
	var obstacle *ConnectError
	if errors.As(err, &obstacle) && obstacle.Why == NoParameter {
		return intent.Errorf(intent.CodeInvalidConfig,
			"the pooler refuses a setting of DATABASE_URL; take it out and give it to the role with ALTER ROLE ... SET: %w", err)
	}
	if err != nil {
		return DatabaseError(err)
	}
	defer func() { _ = i.Close(context.WithoutCancel(ctx)) }()
	p, err := i.Pooler(ctx)
	if err != nil {
		return DatabaseError(err)
	}
	if why := p.Unusable(); why != "" {
		return intent.Errorf(intent.CodeInvalidConfig, "%s", why)
	}
	return nil
}

// poolerRounds is how often two clients are compared, and how often the second one looks for
// the connection of the first. A pooler lends next what was used last or what was used
// first, so that one or a few show it.
const poolerRounds = 5

// Pooler finds out what stands in between by what it does. PostgreSQL tells a client at its
// start which process serves it (BackendKeyData, section 55.2.1 of its manual); a pooler
// makes that number up. Then two clients take turns: whether a process stays with its
// client from one transaction to the next is the mode.
func (i *Inspector) Pooler(ctx context.Context) (Pooler, error) {
	p := Pooler{Mode: Direct, NamesStatements: i.names}
	served, err := servedBy(ctx, i.conn)
	if err != nil || served == i.conn.PgConn().PID() {
		return p, wrap("look for a pooler", err)
	}
	other, err := i.connect(ctx)
	if err != nil {
		return p, wrap("connect a second time through the pooler", err)
	}
	defer other.Close(context.WithoutCancel(ctx))
	p.Mode = PerSession
	for range poolerRounds {
		round, err := takeTurns(ctx, i.conn, other)
		if refusesTransactions(err) {
			p.Mode = PerStatement
			return p, nil
		}
		if err != nil {
			return p, wrap("watch the pooler", err)
		}
		if round.moved {
			p.Mode = PerTransaction
		}
		if round.prepared != NotTried {
			p.Prepared = round.prepared
			break
		}
	}
	return p, nil
}

// round is what two clients saw who took turns.
type round struct {
	moved    bool // a process did not stay with its client
	prepared Prepared
}

// takeTurns lets client a prepare a statement, and then b look for the process that has it,
// also behind a pooler that lends its connections in turn. If b comes upon it, it gives the
// name to a statement of its own, which PostgreSQL refuses unless the pooler keeps the two
// apart.
func takeTurns(ctx context.Context, a, b *pgx.Conn) (r round, err error) {
	before, err := servedBy(ctx, a)
	if err != nil {
		return r, err
	}
	name := "writ_doctor_" + strings.ToLower(rand.Text())
	var holder uint32
	err = pgx.BeginFunc(ctx, a, func(pgx.Tx) (err error) {
		if holder, err = servedBy(ctx, a); err == nil {
			_, err = a.PgConn().Prepare(ctx, name, `SELECT 1`, nil)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	r.moved = holder != before
	for try := 0; try < poolerRounds && r.prepared == NotTried && err == nil; try++ {
		r.prepared, err = prepareBeside(ctx, b, holder, name)
	}
	r.moved = r.moved || r.prepared != NotTried
	// The server forgets it with its connection, if a pooler has it closed elsewhere.
	return r, errors.Join(err, b.PgConn().Deallocate(ctx, name), a.PgConn().Deallocate(ctx, name))
}

// prepareBeside prepares another statement under the name, if the holder of the first one
// serves b now.
func prepareBeside(ctx context.Context, b *pgx.Conn, holder uint32, name string) (Prepared, error) {
	found := NotTried
	err := pgx.BeginFunc(ctx, b, func(pgx.Tx) error {
		served, err := servedBy(ctx, b)
		if err != nil || served != holder {
			return err
		}
		found = Kept
		_, err = b.PgConn().Prepare(ctx, name, `SELECT 2`, nil)
		return err
	})
	const duplicate = "42P05" // duplicate_prepared_statement
	if sqlState(err) == duplicate {
		return Lost, nil
	}
	return found, err
}

func servedBy(ctx context.Context, conn *pgx.Conn) (uint32, error) {
	var pid int32
	err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
	return uint32(pid), err
}

// refusesTransactions recognizes PgBouncer's "transaction blocks not allowed in statement
// pooling mode", for which it has no SQLSTATE of its own.
func refusesTransactions(err error) bool { return sqlState(err) == "08P01" }

func sqlState(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return ""
}
