package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"writ/intent"
)

// The codes of attempts whose effect is made here. Each says that nothing of it was kept.
const (
	// CodeFenced: a later attempt, or the end of the intent, took the right to make the effect
	// from this one before it had made it.
	CodeFenced = "fenced"
	// CodeTransactionBroken: the tool went on after a statement that had failed, or left one
	// behind that did not end.
	CodeTransactionBroken = "transaction_broken"
	// CodeTransactionEnded: the tool ended the transaction itself.
	CodeTransactionEnded = "transaction_ended"
	// CodeTransactionLost: the connection broke before the COMMIT.
	CodeTransactionLost = "transaction_lost"
	// CodeNotSealed: the tool had succeeded, and the engine's own evidence or receipt could not
	// be written.
	CodeNotSealed = "not_sealed"
	// CodeCommitRefused: PostgreSQL refused the COMMIT.
	CodeCommitRefused = "commit_refused"
	// CodeCommitLost: the connection broke during the COMMIT, which did not take effect.
	CodeCommitLost = "commit_lost"
	// CodeStatementRefused: the tool tried a statement that a transaction of a tool does not take.
	CodeStatementRefused = "statement_refused"
	// CodeLockTimeout, CodeStatementTimeout, CodeIdleTimeout and CodeDeadlock: a wait for a
	// lock, a statement or a pause between statements took the attempt's time, or PostgreSQL
	// broke a deadlock.
	CodeLockTimeout      = "lock_timeout"
	CodeStatementTimeout = "statement_timeout"
	CodeIdleTimeout      = "idle_timeout"
	CodeDeadlock         = "deadlock"
)

// Transaction names the attempt whose effect is to be made.
type Transaction struct {
	ID      intent.ID
	Attempt int
	Token   uuid.UUID
	// Deadline is when the tool must have answered, and Lease when the transaction must have
	// ended. Both by this machine's clock.
	Deadline, Lease time.Time
}

// Transacted is what became of a Transaction.
type Transacted struct {
	Row Row
	// Committed says that the effect, its evidence, the end of the intent and the receipt were
	// committed together.
	Committed bool
	// Evidence says why nothing was kept, for [Store.RecordEvidence]. Nil if it was committed,
	// and if the row says already what became of the attempt.
	Evidence *Evidence
}

// ErrCommitLost says that the connection broke during the COMMIT. [Store.BecameOf] tells what
// became of the transaction.
var ErrCommitLost = errors.New("the connection to PostgreSQL broke during the COMMIT")

// Transact makes the effect of an attempt that was claimed in a transaction of the outbox's
// database and commits it together with its evidence, the end of the intent and the receipt, or
// not at all. effect runs the tool and says what its answer shows; unless that is
// intent.Applied, everything is rolled back.
//
// It holds the row's lock for as long as the tool runs, so that whoever decides about the
// intent meanwhile waits for the end. If the attempt is no longer the one that may make the
// effect, nothing is done.
//
// The only error is ErrCommitLost: in every other case it is certain what happened.
func (s *Store) Transact(ctx context.Context, t Transaction, effect func(tx *EffectTx) Evidence, seal Seal) (Transacted, error) {
	ctx, cancel := context.WithDeadline(ctx, t.Lease)
	defer cancel()
	session, err := s.effectSession(ctx)
	if err != nil {
		return t.nothing(Row{}, CodeTransactionLost, fmt.Errorf("the transaction could not begin: %w", err)), nil
	}
	defer session.giveBack(ctx)
	row, err := session.arm(ctx, t)
	switch {
	case errors.Is(err, errFenced):
		return t.fenced(row), nil
	case err != nil:
		return t.nothing(row, orElse(effectCauses[sqlState(err)], CodeTransactionLost), err), nil
	}
	guarded := session.given(ctx, t.Deadline)
	ev := effect(guarded)
	guarded.End()
	if ev.Outcome != intent.Applied {
		ev.Outcome = intent.NotApplied
		return Transacted{Row: row, Evidence: &ev}, nil
	}
	if code, err := guarded.verdict(); err != nil {
		return t.nothing(row, code, err), nil
	}
	if row, err = conclude(ctx, session.tx, row, ev, t, seal); err != nil {
		return t.nothing(row, unsealed(session, err), err), nil
	}
	return t.committed(row, session.tx.Commit(ctx))
}

// errFenced says that the attempt is not the one that may make the effect.
var errFenced = errors.New("the attempt may not make the effect any more")

// arm locks the row, looks whether the attempt may make the effect, and marks it, after which
// nobody can commit the transaction without the receipt.
func (s *effectSession) arm(ctx context.Context, t Transaction) (Row, error) {
	if err := setLimits(ctx, s.tx, time.Until(t.Deadline)); err != nil {
		return Row{}, err
	}
	row, err := lockRow(ctx, s.tx, t.ID)
	if err != nil {
		return row, err
	}
	if !row.mayTransact(t) {
		return row, errFenced
	}
	const statement = `
		UPDATE attempts SET transacted = true WHERE intent_id = $1 AND number = $2 AND token = $3
		RETURNING (SELECT coalesce(array_agg(name), '{}') FROM pg_prepared_statements)`
	if err := s.tx.QueryRow(ctx, statement, t.ID[:], t.Attempt, t.Token).Scan(&s.prepared); err != nil {
		return row, err
	}
	row.Attempts[len(row.Attempts)-1].Transacted = true
	return row, nil
}

// mayTransact reports whether the attempt is the newest, open, and of an intent that nobody
// has stopped.
func (r Row) mayTransact(t Transaction) bool {
	if len(r.Attempts) == 0 || r.State != intent.Invoking || r.Rules.Class != intent.Transactional {
		return false
	}
	last := r.Attempts[len(r.Attempts)-1]
	if last.Token != t.Token || last.Outcome != "" || last.Generation != r.Generation {
		return false
	}
	step := r.Next()
	return step.Kind != intent.Settle || step.Reason == intent.ReasonBudgetSpent // by this very attempt
}

// verdict says why what the tool did cannot be committed although it returned success.
func (e *EffectTx) verdict() (code string, err error) {
	cause := e.Cause()
	if e.stuck {
		return orElse(cause, CodeTransactionBroken), errors.New("the tool left a statement behind that does not end")
	}
	conn := e.tx.Conn().PgConn()
	switch {
	case cause == CodeStatementRefused:
		return CodeStatementRefused, errors.New("the tool tried a statement that its transaction does not take, and went on")
	case conn.TxStatus() == txFailed:
		return orElse(cause, CodeTransactionBroken), errors.New("the tool went on after a statement that had failed, and nothing after it was done")
	case conn.TxStatus() == txIdle:
		return CodeTransactionEnded, errors.New("the tool ended the transaction itself; nothing of it was kept")
	case conn.IsClosed():
		return orElse(cause, CodeTransactionLost), errors.New("the connection was closed before the COMMIT")
	}
	return "", nil
}

// conclude ends the intent within the transaction.
func conclude(ctx context.Context, tx pgx.Tx, row Row, ev Evidence, t Transaction, seal Seal) (Row, error) {
	// The tool's statements are over, and the engine's own have until the lease.
	if err := regain(ctx, tx, time.Until(t.Lease)); err != nil {
		return row, err
	}
	row, err := addEvidence(ctx, tx, row, ev, seal)
	if err != nil {
		return row, err
	}
	step := row.Next()
	if step.Kind != intent.Settle || step.To != intent.Completed {
		return row, fmt.Errorf("the rule does not complete an intent whose effect was made (%s, %s)", step.Kind, step.Reason)
	}
	return row, settle(ctx, tx, &row, step, seal)
}

// unsealed is the code of an attempt that the engine could not conclude.
func unsealed(session *effectSession, err error) string {
	if session.conn.Conn().IsClosed() {
		return orElse(effectCauses[sqlState(err)], CodeTransactionLost)
	}
	return orElse(effectCauses[sqlState(err)], CodeNotSealed)
}

// committed tells what an error of the COMMIT shows. PostgreSQL's own refusal is a rollback.
// What was never sent is one too; else it is open.
func (t Transaction) committed(row Row, err error) (Transacted, error) {
	switch {
	case err == nil:
		return Transacted{Row: row, Committed: true}, nil
	case sqlState(err) != "" && !connectionLost(err), errors.Is(err, pgx.ErrTxCommitRollback):
		return t.nothing(row, CodeCommitRefused, err), nil
	case pgconn.SafeToRetry(err):
		return t.nothing(row, CodeTransactionLost, err), nil
	}
	return Transacted{}, fmt.Errorf("%w: %w", ErrCommitLost, err)
}

// connectionLost reports whether PostgreSQL said farewell (class 57, as at its shutdown), or a
// pooler that the server was lost (class 08), and not what became of the statement.
func connectionLost(err error) bool { return slices.Contains([]string{"08", "57"}, sqlState(err)[:2]) }

// BecameOf tells, after ErrCommitLost, what became of the transaction. It waits for the row's
// lock, which the transaction holds until it is over, so what it finds is final.
func (s *Store) BecameOf(ctx context.Context, t Transaction) (Transacted, error) {
	var became Transacted
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		row, err := lockRow(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		attempt, ok := row.attemptWith(t.Token)
		switch {
		case ok && attempt.Outcome == intent.Applied:
			became = Transacted{Row: row, Committed: true}
		case ok && attempt.Outcome == "":
			became = t.nothing(row, CodeCommitLost, errors.New("the connection broke during the COMMIT, which did not take effect"))
		default:
			became = Transacted{Row: row}
		}
		return nil
	})
	return became, err
}

// nothing is a transaction of which nothing was kept, and that is certain.
func (t Transaction) nothing(row Row, code string, why error) Transacted {
	ev := Evidence{Attempt: t.Attempt, Token: t.Token, Outcome: intent.NotApplied, Code: code, Message: why.Error()}
	ev.Final = code == CodeStatementRefused || code == CodeTransactionEnded // the tool itself is wrong
	return Transacted{Row: row, Evidence: &ev}
}

// fenced is an attempt that was not begun. If nobody has said so of it yet, it says so itself.
func (t Transaction) fenced(row Row) Transacted {
	if attempt, ok := row.attemptWith(t.Token); ok && attempt.Outcome == "" {
		return t.nothing(row, CodeFenced, errFenced)
	}
	return Transacted{Row: row}
}

func orElse(code, otherwise string) string {
	if code != "" {
		return code
	}
	return otherwise
}
