package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// budgetUntil is when it is looked again whether the budgets have room for intent i; NULL: it does
// not wait for one. Who makes room has it go on before that.
const budgetUntil = `(SELECT writ_now() + interval '5 minutes' FROM budget_waits w WHERE w.intent_id = i.id)`

func (r Row) awaitsBudget() bool { return !r.BudgetUntil.IsZero() }

// admission is what asks to be counted in the generation that the row is in.
func (r Row) admission(money *Money) admission {
	return admission{id: r.ID, generation: r.Generation, tenant: r.Tenant, requester: r.Principal, tool: r.Tool, money: money}
}

// waiting is what asks to be counted of an intent that waits, whose row tx has locked, and the
// budget in whose line it stands. statement is one on budget_waits that returns waitColumns.
func (r Row) waiting(ctx context.Context, tx pgx.Tx, statement string) (a admission, budget uuid.UUID, err error) {
	a = r.admission(nil)
	var money *string
	err = tx.QueryRow(ctx, statement, r.ID[:]).Scan(&a.generation, &money, &a.number, (*[16]byte)(&budget))
	a.money = moneyIn(money)
	return a, budget, err
}

const waitColumns = `generation, money::text, number, budget_id`

// wait puts a newcomer at the end of the budget's line, unless there is room by now. Then it holds
// the counter until it is committed, so that whoever releases something sees it there.
func (a admission) wait(ctx context.Context, tx pgx.Tx, c count) (waits bool, err error) {
	const lock = `SELECT 1 FROM budget_counters WHERE budget_id = $1 FOR NO KEY UPDATE`
	const statement = `
		INSERT INTO budget_waits (intent_id, generation, money, budget_id, amount, since)
		VALUES ($1, $2, $3, $4, $5, writ_now())`
	part, err := tx.Begin(ctx) // a savepoint, with which the lock ends if there is room
	if err != nil {
		return false, err
	}
	if _, err := part.Exec(ctx, lock, c.budget); err != nil {
		return false, err
	}
	switch _, has, err := a.room(ctx, part, c); {
	case err != nil:
		return false, err
	case has == enough:
		return false, part.Rollback(ctx)
	}
	if _, err := part.Exec(ctx, statement, a.id[:], a.generation, a.money, c.budget, c.amount); err != nil {
		return false, err
	}
	return true, part.Commit(ctx)
}

// leaveLine takes an intent, whose row tx has locked, out of the line and returns the budget that
// it waited for. With counted, because something of it may have happened, it is counted whether
// there is room or not.
func leaveLine(ctx context.Context, tx pgx.Tx, row Row, counted bool) (uuid.UUID, error) {
	a, budget, err := row.waiting(ctx, tx, `DELETE FROM budget_waits WHERE intent_id = $1 RETURNING `+waitColumns)
	if err != nil || !counted {
		return budget, err
	}
	counts, err := a.counts(ctx, tx)
	if err != nil {
		return budget, err
	}
	for _, c := range counts {
		if c.amount == uncounted {
			continue
		}
		if _, err := a.charge(ctx, tx, c, true); err != nil {
			return budget, err
		}
	}
	return budget, nil
}

// moneyIn reads what was kept of what an intent costs that waits. What somebody changed by hand cannot
// be counted.
func moneyIn(kept *string) *Money {
	if kept == nil {
		return nil
	}
	var m Money
	if json.Unmarshal([]byte(*kept), &m) != nil || m.Problem == "" && !intent.Countable(m.Amount) {
		m.Problem = "what was kept of its amount was changed by hand"
	}
	return &m
}

// firstInLine is how many of one line are looked at together.
const firstInLine = 100

// AdmitWaiting counts those that wait for a budget that has room for them, each in one flushed
// commit after which it is due, and returns their ids. In each line the first that came is the
// first that is counted. It may be called by any number of workers at once, and writes nothing
// when nobody waits or no budget has room. One that cannot be read keeps nobody else waiting: the error
// names it when all others were looked at.
func (s *Store) AdmitWaiting(ctx context.Context) (admitted []intent.ID, err error) {
	for {
		ids, err := s.mayBeAdmitted(ctx)
		if err != nil {
			return admitted, err
		}
		moved := false
		var wrong error
		for _, id := range ids {
			is, went, err := s.admitWaiting(ctx, id)
			switch {
			case intent.CodeOf(err) == intent.CodeDatabaseUnavailable:
				return admitted, err
			case err != nil:
				wrong = errors.Join(wrong, fmt.Errorf("intent %s: %w", id, err))
			}
			if is {
				admitted = append(admitted, id)
			}
			moved = moved || went
		}
		if !moved {
			return admitted, wrong
		}
	}
}

// mayBeAdmitted returns the first of each line that its budget has room for together, and those that
// their budget cannot count and another one can by now.
func (s *Store) mayBeAdmitted(ctx context.Context) ([]intent.ID, error) {
	// What asks for more than is allowed at all stands in nobody's way; see charge.
	// What stands in the line of a budget that there is not, because somebody changed it by hand, is
	// looked at as if it had no line.
	const query = `
		SELECT l.intent_id, b.id, l.number
		FROM ` + budgetsNow + `, LATERAL (
			SELECT first.intent_id, first.number, sum(first.amount) OVER (ORDER BY first.number) AS asked
			FROM (SELECT intent_id, number, amount FROM budget_waits
				WHERE budget_id = b.id AND (b.allowed IS NULL OR amount <= b.allowed) ORDER BY number LIMIT $1) first) l
		WHERE b.allowed IS NULL OR l.asked <= b.allowed - ` + usedNow + `
		UNION ALL
		SELECT l.intent_id, b.id, l.number
		FROM budgets b JOIN budget_waits l ON l.budget_id = b.id JOIN intents i ON i.id = l.intent_id
		WHERE b.kind = 'money' AND b.allowed IS NOT NULL AND l.amount = 'infinity' AND l.money->>'problem' IS NULL
			AND EXISTS (SELECT FROM budgets other WHERE other.tenant = b.tenant AND other.requester IN ('', i.principal) AND other.tool IN ('', i.tool)
				AND other.kind = 'money' AND other.currency = l.money->>'currency' AND other.allowed IS NOT NULL)
		UNION ALL
		SELECT intent_id, budget_id, number FROM budget_waits w WHERE NOT EXISTS (SELECT FROM budgets WHERE id = w.budget_id)
		ORDER BY 2, 3`
	rows, err := s.pool.Query(ctx, query, firstInLine)
	if err != nil {
		return nil, DatabaseError(err)
	}
	ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id intent.ID, err error) {
		return id, row.Scan((*[16]byte)(&id), nil, nil)
	})
	return ids, DatabaseError(err)
}

// admitWaiting counts one that waits, or puts it in the line of another budget, which has no room;
// moved says that it did either.
func (s *Store) admitWaiting(ctx context.Context, id intent.ID) (admitted, moved bool, err error) {
	const read = `SELECT ` + waitColumns + ` FROM budget_waits WHERE intent_id = $1`
	const stay = `UPDATE budget_waits SET budget_id = $2, amount = $3 WHERE intent_id = $1 AND (budget_id <> $2 OR amount <> $3)`
	// Its due time is the end of the wait for a person, if it waits for one as well.
	const goOn = `
		WITH counted AS (DELETE FROM budget_waits WHERE intent_id = $1)
		UPDATE intents SET version = version + 1, due_at = CASE state WHEN 'awaiting_confirmation' THEN due_at ELSE writ_now() END WHERE id = $1`
	err = s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		admitted, moved = false, false
		row, err := lockRow(ctx, tx, id)
		if err != nil || !row.awaitsBudget() {
			return err // admitted or ended meanwhile
		}
		a, _, err := row.waiting(ctx, tx, read)
		if err != nil {
			return err
		}
		stop, err := a.place(ctx, tx)
		switch {
		case err != nil:
			return err
		case stop == nil:
			admitted, moved = true, true
			_, err = tx.Exec(ctx, goOn, id[:])
		case stop.broken: // it stays in its line until that budget can count again
		default:
			tag, failed := tx.Exec(ctx, stay, id[:], stop.budget, stop.amount)
			moved, err = tag.RowsAffected() > 0, failed
		}
		return err
	})
	return admitted && err == nil, moved && err == nil, err
}

// BudgetWait is what an intent waits for that no budget has counted yet.
type BudgetWait struct {
	// Budget is the one in whose line it stands.
	Budget Budget
	// Asks is what it asks that budget for, as an exact decimal; empty if it cannot be counted.
	Asks string
	// Ahead is how many stand before it, and Since is since when it waits.
	Ahead int
	Since time.Time
}

// BudgetWaitOf returns what the intent waits for, or nil if it waits for no budget.
func (s *Store) BudgetWaitOf(ctx context.Context, id intent.ID) (*BudgetWait, error) {
	const query = `
		SELECT w.budget_id, w.amount::text, w.since,
			(SELECT count(*) FROM budget_waits l WHERE l.budget_id = w.budget_id AND l.number < w.number)
		FROM budget_waits w WHERE w.intent_id = $1`
	var w BudgetWait
	var budget uuid.UUID
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) (err error) {
		if err = tx.QueryRow(ctx, query, id[:]).Scan((*[16]byte)(&budget), &w.Asks, &w.Since, &w.Ahead); err == nil {
			w.Budget, err = oneBudget(ctx, tx, budget)
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if w.Since = w.Since.UTC(); w.Asks == "Infinity" {
		w.Asks = ""
	}
	return &w, err
}
