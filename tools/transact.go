package tools

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is the engine's transaction, as far as a tool may use it: for statements that read and
// change rows. It belongs to the engine, which commits it together with the intent's receipt.
// Statements that control transactions or the session are refused, and so are pgx's options
// for how a statement is sent (but pgx.NamedArgs); a tool that tries one has its effect rolled
// back. Rows do not lead to the connection, and nothing works any more once the tool has
// returned.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Transactor is implemented by tools whose effect is made in the outbox's own database. Its
// spec says so with Transactional.
type Transactor interface {
	Tool
	// InvokeTx makes the effect with tx and with nothing else. It is committed together with
	// the receipt, or not at all; after an error nothing of it is kept, whatever the error
	// says, and it is tried again within the retry policy unless the error is final. A
	// statement, a wait for a lock and a pause between statements have what is left of the
	// spec's Timeout.
	//
	// While it runs, the intent's row is locked, so that everybody who decides about the
	// intent waits. What is not a row of the database is not undone: sequences, messages that
	// were sent. Settings and advisory locks of the session end with the transaction.
	InvokeTx(ctx context.Context, tx Tx, inv Invocation) (Result, error)
}

// NewTransactional returns a tool that runs invoke in the engine's transaction. The spec is
// taken as SideEffectful and Transactional.
func NewTransactional(spec Spec, invoke func(ctx context.Context, tx Tx, inv Invocation) (Result, error)) Transactor {
	spec.SideEffectful, spec.Transactional = true, true
	return transactTool{spec: spec, invoke: invoke}
}

type transactTool struct {
	spec   Spec
	invoke func(context.Context, Tx, Invocation) (Result, error)
}

func (t transactTool) Spec() Spec { return t.spec }

func (t transactTool) InvokeTx(ctx context.Context, tx Tx, inv Invocation) (Result, error) {
	return t.invoke(ctx, tx, inv)
}

// Invoke is not called by the engine.
func (t transactTool) Invoke(context.Context, Invocation) (Result, error) {
	return WithoutTransaction()
}

// WithoutTransaction is what Invoke of a [Transactor] returns, which the engine does not call:
// a final failure, with the code no_transaction.
func WithoutTransaction() (Result, error) {
	return Result{}, NotApplied(errors.New("the tool makes its effect in the engine's transaction only")).WithCode(CodeNoTransaction).AsFinal()
}
