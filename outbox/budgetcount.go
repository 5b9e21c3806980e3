package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Money is what of an intent the budgets of money count.
type Money struct {
	// Amount is an exact decimal, and Currency is spelled as the payload spells it.
	Amount, Currency string
	// Problem says why the payload cannot be counted; empty if it can.
	Problem string
}

// admission is what asks to be counted: an intent's generation.
type admission struct {
	id                      intent.ID
	generation              int
	tenant, requester, tool string
	// money is nil if the tool's spec names no amount.
	money *Money
}

func (p Proposal) admission() admission {
	return admission{id: p.ID(), generation: p.Generation(), tenant: p.Tenant, requester: p.Principal, tool: p.Tool, money: p.Money}
}

// Admissible is nil if the budgets have room for the proposal now. It counts nothing: what a
// decision before it rests on may have changed when the row is inserted. The errors are those of
// Insert, budget_exceeded and budget_uncountable.
func (s *Store) Admissible(ctx context.Context, p Proposal) error {
	a := p.admission()
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		counts, err := a.counts(ctx, tx)
		if err != nil {
			return err
		}
		for _, c := range counts {
			if err := c.exceeded(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// Counted reports whether a budget stands that counts such intents. What has to be counted needs a
// row before it runs, also a read.
func (s *Store) Counted(ctx context.Context, tenant, requester, tool string) (counted bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT `+budgetsOf+`)`, tenant, requester, tool).Scan(&counted)
	return counted, DatabaseError(err)
}

// budgetsOf are the budgets that stand and count the intents of tenant $1, principal $2 and tool
// $3. The unique index of their lines finds them; most tenants have none.
const budgetsOf = `
	FROM budgets b
	WHERE b.tenant = $1 AND b.requester IN ('', $2) AND b.tool IN ('', $3) AND b.allowed IS NOT NULL`

// count is the amount by which a budget would be used.
type count struct {
	budget uuid.UUID
	amount string
}

// admit counts an intent, whose row tx has inserted or locked, in every budget that it falls
// under. It is the last statement of its transaction: the counter's row is locked until the
// COMMIT is on disk, and all that are admitted under one budget follow each other there. All
// transactions lock counters in the order of their budgets' ids.
//
// The error has code budget_exceeded or budget_uncountable; then tx must not be committed.
func (a admission) admit(ctx context.Context, tx pgx.Tx) error {
	counts, err := a.counts(ctx, tx)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if err := a.charge(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

// counts returns what is to be counted, in the order in which counters are locked. A budget of
// money for any tool does not concern a tool whose spec names no amount; one for that very tool
// does, and so does every one in another currency than the payload's if there is none in it:
// what cannot be counted is not let through.
func (a admission) counts(ctx context.Context, tx pgx.Tx) ([]count, error) {
	const query = `SELECT b.id, b.tool, b.kind, b.currency ` + budgetsOf + ` ORDER BY b.id`
	rows, err := tx.Query(ctx, query, a.tenant, a.requester, a.tool)
	if err != nil {
		return nil, err
	}
	var list []count
	covered, missed := false, false
	var id uuid.UUID
	var tool, currency string
	var kind BudgetKind
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&id), &tool, &kind, &currency}, func() error {
		switch {
		case kind != BudgetMoney:
			list = append(list, count{id, "1"})
		case a.money == nil && tool == "":
		case a.money == nil:
			return a.uncountable("the tool's spec does not name an amount")
		case a.money.Problem != "":
			return a.uncountable(a.money.Problem)
		case a.money.Currency == currency:
			covered, list = true, append(list, count{id, a.money.Amount})
		default:
			missed = true
		}
		return nil
	})
	if err == nil && missed && !covered {
		return nil, a.uncountable(fmt.Sprintf("no budget is in its currency %.16q", a.money.Currency))
	}
	return list, err
}

func (a admission) uncountable(problem string) error {
	return intent.Errorf(intent.CodeBudgetUncountable, "a budget of money of tenant %s stands, and what %s would cost cannot be counted: %s", a.tenant, a.tool, problem)
}

// chargeTries bounds how often a charge is tried that found no room where there is some by the
// time that is looked: a window ended, or something was released.
const chargeTries = 5

func (a admission) charge(ctx context.Context, tx pgx.Tx, c count) error {
	// The window is greatest of two, because a transaction may wait for the counter while a
	// window ends, and must not take its successor back.
	const statement = `
		WITH counted AS (
			UPDATE budget_counters c
			SET used = CASE WHEN c.begun >= w.begin THEN c.used ELSE 0 END + $2::numeric, begun = greatest(c.begun, w.begin)
			FROM (SELECT b.allowed, ` + windowBegin + ` AS begin FROM budgets b WHERE b.id = $1 AND b.allowed IS NOT NULL OFFSET 0) w
			WHERE c.budget_id = $1 AND CASE WHEN c.begun >= w.begin THEN c.used ELSE 0 END + $2::numeric <= w.allowed
			RETURNING c.begun)
		INSERT INTO budget_charges (intent_id, budget_id, generation, amount, begun)
		SELECT $3, $1, $4, $2::numeric, begun FROM counted`
	for range chargeTries {
		tag, err := tx.Exec(ctx, statement, c.budget, c.amount, a.id[:], a.generation)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		if err := c.exceeded(ctx, tx); err != nil {
			return err
		}
	}
	return intent.Errorf(intent.CodeDatabaseUnavailable, "budget %s changes faster than it can be counted in; to ask again is safe, with the same request key", c.budget)
}

// exceeded is nil if the budget has room, or does not stand any more.
func (c count) exceeded(ctx context.Context, tx pgx.Tx) error {
	b, err := oneBudget(ctx, tx, c.budget)
	if err != nil || b.Allowed == "" {
		return err
	}
	var over bool
	if err := tx.QueryRow(ctx, `SELECT $1::numeric > $2::numeric - $3::numeric`, c.amount, b.Allowed, b.Used).Scan(&over); err != nil || !over {
		return err
	}
	return intent.Errorf(intent.CodeBudgetExceeded, "budget %s (%s) has %s left and this asks for %s; %s", b.ID, b.BudgetLine.told(b.Allowed),
		strings.TrimSpace(b.Left+" "+b.Currency), strings.TrimSpace(c.amount+" "+b.Currency), b.anew())
}

// told says in words what a line counts and how much is allowed on it.
func (l BudgetLine) told(allowed string) string {
	text := allowed + " intents"
	switch l.Kind {
	case BudgetIntents:
	case BudgetMoney:
		text = strings.TrimSpace(allowed + " " + l.Currency)
	case BudgetConcurrency:
		text = allowed + " open intents"
	}
	if l.Window > 0 {
		text += " in " + l.Window.String()
	}
	text += " of tenant " + l.Tenant
	if l.Requester != "" {
		text += ", for " + l.Requester
	}
	if l.Tool != "" {
		text += ", by " + l.Tool
	}
	return text
}

// anew says when there will be room.
func (b Budget) anew() string {
	if b.Kind == BudgetConcurrency {
		return "ask again when one of those that are open has ended"
	}
	return "it begins anew at " + b.EndsAt.Format(time.RFC3339)
}

// recount brings what an intent was charged with in line with what its row, which tx has locked,
// shows. It counts while the intent is open and after it ended, until it is proven that nothing
// happened; late evidence of an effect counts it again, whether there is room or not. Concurrency
// counts what is open. Where an intent was admitted more than once, only the last time can count.
func recount(ctx context.Context, tx pgx.Tx, row Row) error {
	const query = `
		SELECT c.budget_id, c.generation, b.kind, c.released_at IS NULL
		FROM budget_charges c JOIN budgets b ON b.id = c.budget_id
		WHERE c.intent_id = $1 AND c.generation = (SELECT max(generation) FROM budget_charges WHERE intent_id = $1)
		ORDER BY c.budget_id`
	type charge struct {
		Budget     [16]byte
		Generation int
		Kind       BudgetKind
		Counts     bool
	}
	rows, err := tx.Query(ctx, query, row.ID[:])
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[charge])
	if err != nil {
		return err
	}
	spent := !row.State.Ended() || intent.Happened(row.Record()) != intent.NotApplied
	for _, c := range list {
		counts := spent
		if c.Kind == BudgetConcurrency {
			counts = !row.State.Ended()
		}
		if counts == c.Counts {
			continue
		}
		if err := flip(ctx, tx, row.ID, c.Budget, c.Generation, counts); err != nil {
			return err
		}
	}
	return nil
}

// flip makes a charge count, or no longer. A window that is over has no count that it would
// change. A count that somebody mended by hand must not keep an intent from ending, so it stops
// at zero.
func flip(ctx context.Context, tx pgx.Tx, id intent.ID, budget [16]byte, generation int, counts bool) error {
	const statement = `
		WITH flipped AS (
			UPDATE budget_charges SET released_at = CASE WHEN $4 THEN NULL ELSE writ_now() END
			WHERE intent_id = $1 AND budget_id = $2 AND generation = $3
			RETURNING amount, begun)
		UPDATE budget_counters c SET used = greatest(0, c.used + CASE WHEN $4 THEN f.amount ELSE -f.amount END)
		FROM flipped f WHERE c.budget_id = $2 AND c.begun = f.begun`
	_, err := tx.Exec(ctx, statement, id[:], budget, generation, counts)
	return err
}
