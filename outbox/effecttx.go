package outbox

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// EffectTx is the transaction of [Store.Transact] as a tool may use it: for statements that
// read and change rows, and until the tool returns. It never shows the connection, it sends
// each statement by the extended protocol, which takes one statement at a time, and it runs
// nothing once the transaction has ended, however that came about.
//
// It is safe for concurrent use, as far as one connection can be: one statement at a time,
// and none while the rows of another are open. Whoever reads arguments or rows by code of the
// tool's own never makes the end of the transaction wait for that code.
type EffectTx struct {
	tx       pgx.Tx
	deadline time.Time
	// given is ended to break what still runs when the tool is given up. It is a context of
	// the transaction's life, beside the one of each call.
	given  context.Context
	giveUp context.CancelFunc
	// turn holds a value while somebody uses the connection and the three that follow. The end
	// of the transaction keeps it.
	turn  chan struct{}
	open  *effectRows // nil if no rows are
	armed time.Time   // when the limits were set
	stuck bool        // the tool's own code did not give its turn back
	ended sync.Once

	mu      sync.Mutex // guards what follows, and is never held while anything runs
	refused bool       // the tool tried what it may not
	cause   string     // the code of the first error that says why
}

// errEffectOver is what a tool gets that uses its transaction when it is over.
var errEffectOver = errors.New("the transaction is over: a tool may use it until it returns, and may not end it")

// newEffectTx needs a transaction whose limits were just set.
func newEffectTx(ctx context.Context, tx pgx.Tx, deadline time.Time) *EffectTx {
	given, giveUp := context.WithCancel(ctx)
	return &EffectTx{tx: tx, deadline: deadline, given: given, giveUp: giveUp, turn: make(chan struct{}, 1), armed: time.Now()}
}

// take waits for the turn to use the connection, until the transaction is over.
func (e *EffectTx) take(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
		if e.given.Err() != nil {
			e.leave()
			return errEffectOver
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.given.Done():
		return errEffectOver
	}
}

func (e *EffectTx) leave() { <-e.turn }

// Exec runs a statement.
func (e *EffectTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	// Not pgx's Exec, which sends a statement without arguments by the simple protocol,
	// whatever mode it is told.
	rows, err := e.Query(ctx, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}

// Query runs a statement and returns its rows, which are never nil.
func (e *EffectTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := refuseStatement(sql, args); err != nil {
		e.mu.Lock()
		e.refused = true
		e.mu.Unlock()
		return failedRows{err}, err
	}
	if err := e.take(ctx); err != nil {
		return failedRows{err}, err
	}
	defer e.leave()
	rows, err := e.query(ctx, sql, args)
	if err != nil {
		e.note(err)
		return failedRows{err}, err
	}
	return rows, nil
}

// query needs the turn.
func (e *EffectTx) query(ctx context.Context, sql string, args []any) (*effectRows, error) {
	if e.tx.Conn().PgConn().TxStatus() == txIdle {
		return nil, errEffectOver
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.given, cancel)
	release := func() { stop(); cancel() }
	if err := e.limit(ctx); err != nil {
		release()
		return nil, err
	}
	rows, err := e.tx.Query(ctx, sql, append([]any{pgx.QueryExecModeDescribeExec}, args...)...)
	if err != nil {
		release()
		return nil, err
	}
	e.open = &effectRows{tx: e, rows: rows, types: rows.TypeMap().Copy(), release: release}
	return e.open, nil
}

// QueryRow runs a statement of which the first row is wanted; its Scan returns
// pgx.ErrNoRows if there is none.
func (e *EffectTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := e.Query(ctx, sql, args...) // Scan reports the error
	return effectRow{rows}
}

// limit bounds the next statement by what is left of the attempt's time. Each limit counts from
// its statement's start, so they are set anew as time passes, but not for every quick statement.
func (e *EffectTx) limit(ctx context.Context) error {
	now := time.Now()
	if now.Sub(e.armed) < margin(e.deadline.Sub(e.armed))/2 || e.tx.Conn().PgConn().TxStatus() != txActive {
		return nil
	}
	e.armed = now
	return setLimits(ctx, e.tx, e.deadline.Sub(now))
}

// margin is how much earlier than the attempt's time a limit ends, so that PostgreSQL itself
// says what took too long.
func margin(left time.Duration) time.Duration { return min(left/10, 500*time.Millisecond) }

// setLimits bounds what one statement, one wait for a lock and one pause between statements
// may take when the attempt has that much time left. PostgreSQL 15 has no limit for a whole
// transaction. It also looks every second whether the client is still there, where it can, so
// that the row's lock does not outlive a worker that was killed in a long statement.
func setLimits(ctx context.Context, tx pgx.Tx, left time.Duration) error {
	const statement = `
		SELECT set_config('synchronous_commit', 'on', true), set_config('statement_timeout', $1, true),
			set_config('lock_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $3, true),
			CASE WHEN version() ~* 'linux|darwin|bsd' THEN set_config('client_connection_check_interval', '1000', true) END`
	left = max(left, 10*time.Millisecond)
	early := margin(left)
	_, err := tx.Exec(ctx, statement, milliseconds(left-early), milliseconds(left-2*early), milliseconds(left))
	return err
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// The states of a connection as PostgreSQL reports them after each statement (PostgreSQL
// manual, Frontend/Backend Protocol, ReadyForQuery).
const (
	txIdle   = 'I'
	txActive = 'T'
	txFailed = 'E'
)

// effectCauses are the errors of PostgreSQL after which a tool's transaction is broken for a
// reason of its own (PostgreSQL manual, appendix A).
var effectCauses = map[string]string{
	"55P03": CodeLockTimeout,
	"57014": CodeStatementTimeout,
	"25P03": CodeIdleTimeout,
	"40P01": CodeDeadlock,
}

// note remembers the first error that says why the transaction broke.
func (e *EffectTx) note(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause == "" {
		e.cause = e.causeOf(err)
	}
}

// causeOf names the limit that a statement ran into. On a busy machine the statement's context
// may end at the attempt's time before PostgreSQL has told of its own limit just before that.
func (e *EffectTx) causeOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) && !time.Now().Before(e.deadline) {
		return CodeStatementTimeout
	}
	return effectCauses[sqlState(err)]
}

// Cause is the code of the limit that the transaction ran into; empty if none is known.
func (e *EffectTx) Cause() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused {
		return CodeStatementRefused
	}
	return e.cause
}

// End takes the transaction from the tool: rows that it left open are closed, and a statement
// that it left running is broken, with the transaction. Code of the tool's own that pgx was
// reading an argument by cannot be broken: it is waited for no longer than for a rollback.
//
// [Store.Transact] does it when the tool has been given up. It is done before that where the
// tool returns, as long as the context lasts that rows were read under.
func (e *EffectTx) End() { e.ended.Do(e.end) }

func (e *EffectTx) end() {
	defer e.giveUp()
	select {
	case e.turn <- struct{}{}:
	default:
		e.giveUp()
		select {
		case e.turn <- struct{}{}:
		case <-time.After(rollbackTimeout):
			e.stuck = true
			return
		}
	}
	if e.open != nil {
		e.open.close()
	}
}
