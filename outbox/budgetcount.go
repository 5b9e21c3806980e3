package outbox

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Money is what of an intent the budgets of money count.
type Money struct {
	// Amount is an exact decimal, and Currency is spelled as the payload spells it.
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	// Problem says why the payload cannot be counted; empty if it can.
	Problem string `json:"problem,omitempty"`
}

// admission is what asks to be counted: an intent's generation.
type admission struct {
	id                      intent.ID
	generation              int
	tenant, requester, tool string
	// money is nil if the tool's spec names no amount.
	money *Money
	// number is its place in the line of those that wait; 0: it does not wait yet.
	number int64
}

func (p Proposal) admission() admission {
	return admission{id: p.ID(), generation: p.Generation(), tenant: p.Tenant, requester: p.Principal, tool: p.Tool, money: p.Money}
}

// Admissible is nil unless Insert would refuse the proposal now, with budget_exceeded or
// budget_uncountable. It counts nothing: what a decision before it rests on may have changed when
// the row is inserted.
func (s *Store) Admissible(ctx context.Context, p Proposal) error {
	a := p.admission()
	return s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		counts, err := a.counts(ctx, tx)
		if err != nil {
			return err
		}
		_, err = a.stoppedBy(ctx, tx, counts)
		return err
	})
}

// Counted reports whether a budget stands that counts such intents. What has to be counted needs a
// row before it runs, also a read.
func (s *Store) Counted(ctx context.Context, tenant, requester, tool string) (counted bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT `+budgetsOf+`)`, tenant, requester, tool).Scan(&counted)
	return counted, DatabaseError(err)
}

// budgetsOf are the budgets that stand and count the intents of tenant $1, principal $2 and tool
// $3. The unique index of their subjects finds them; most tenants have none.
const budgetsOf = `
	FROM budgets b LEFT JOIN budget_counters c ON c.budget_id = b.id
	WHERE b.tenant = $1 AND b.requester IN ('', $2) AND b.tool IN ('', $3) AND b.allowed IS NOT NULL`

// count is the amount by which a budget would be used.
type count struct {
	budget uuid.UUID
	amount string
	// waits says that a newcomer that finds no room waits.
	waits bool
	// broken says that the budget cannot count, because its rows were changed by hand.
	broken bool
}

// uncounted is what an intent that waits asks a budget for that cannot count it.
const uncounted = "infinity"

// admit counts an intent, whose row tx has inserted or locked, in every budget that it falls
// under, or puts it in the line of one that has no room. It is the last statement of its
// transaction: the counter's row is locked until the COMMIT is on disk, and all that are admitted
// under one budget follow each other there. All transactions lock counters in the order of their
// budgets' ids.
//
// The error has code budget_exceeded or budget_uncountable; then tx must not be committed.
func (a admission) admit(ctx context.Context, tx pgx.Tx) (waits bool, err error) {
	for range admitTries {
		stop, err := a.place(ctx, tx)
		if stop == nil || err != nil {
			return false, err
		}
		if waits, err := a.wait(ctx, tx, *stop); waits || err != nil {
			return waits, err
		}
	}
	return false, a.busy()
}

// admitTries bounds how often it is tried to count where there was no room, and some by the time
// that was looked: a window ended, or something was released.
const admitTries = 5

func (a admission) busy() error {
	return intent.Errorf(intent.CodeDatabaseUnavailable, "the budgets of tenant %s change faster than it can be counted in them; to ask again is safe, with the same request key", a.tenant)
}

// place counts the intent in all budgets, or in none and returns the one that it has to wait for.
func (a admission) place(ctx context.Context, tx pgx.Tx) (stop *count, err error) {
	for range admitTries {
		counts, err := a.counts(ctx, tx) // again, because one may be removed meanwhile
		if len(counts) == 0 || err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(counts, func(c count) bool { return c.broken }); i >= 0 {
			return &counts[i], nil
		}
		if all, err := a.chargeAll(ctx, tx, counts); all || err != nil {
			return nil, err
		}
		if stop, err := a.stoppedBy(ctx, tx, counts); stop != nil || err != nil {
			return stop, err
		}
	}
	return nil, a.busy()
}

// chargeAll reports whether every budget had room. If one had not, none is locked or changed.
func (a admission) chargeAll(ctx context.Context, tx pgx.Tx, counts []count) (all bool, err error) {
	part, err := tx.Begin(ctx) // a savepoint
	if err != nil {
		return false, err
	}
	for _, c := range counts {
		if had, err := a.charge(ctx, part, c, false); err != nil {
			return false, err
		} else if !had {
			return false, part.Rollback(ctx)
		}
	}
	return true, part.Commit(ctx)
}

// counts returns what is to be counted, in the order in which counters are locked. A budget of
// money for any tool does not concern a tool whose spec names no amount; one for that very tool
// does, and so does every one in another currency than the payload's if there is none in it:
// what cannot be counted is not let through, and nothing is under a budget that cannot count. What
// waits already then waits for that budget.
func (a admission) counts(ctx context.Context, tx pgx.Tx) ([]count, error) {
	const query = `SELECT b.id, b.tool, b.kind, b.currency, b.over = 'wait', NOT ` + sound + ` ` + budgetsOf + ` ORDER BY b.id`
	rows, err := tx.Query(ctx, query, a.tenant, a.requester, a.tool)
	if err != nil {
		return nil, err
	}
	var list []count
	var c, missed count
	var broken uuid.UUID
	var covered bool
	var tool, currency, problem string
	var kind BudgetKind
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&c.budget), &tool, &kind, &currency, &c.waits, &c.broken}, func() error {
		c.amount = "1"
		if c.broken {
			c.amount, broken = uncounted, c.budget
			list = append(list, c)
			return nil
		}
		if kind == BudgetMoney {
			if a.money == nil && tool == "" {
				return nil
			}
			if why := a.uncountable(currency); why != "" {
				missed, problem = count{budget: c.budget, amount: uncounted}, why
				return nil
			}
			c.amount, covered = a.money.Amount, true
		}
		list = append(list, c)
		return nil
	})
	if err == nil && broken != uuid.Nil && a.number == 0 {
		return nil, intent.Errorf(intent.CodeBudgetUncountable, "budget %s of tenant %s cannot count, because somebody changed its rows by hand; have it set again with `writ budget set`", broken, a.tenant)
	}
	switch {
	case err != nil || problem == "" || covered:
		return list, err
	case a.number > 0:
		return append(list, missed), nil
	}
	return nil, intent.Errorf(intent.CodeBudgetUncountable, "a budget of money of tenant %s stands, and what %s would cost cannot be counted: %s", a.tenant, a.tool, problem)
}

// uncountable says why a budget of money in that currency cannot count the intent; empty if it can.
func (a admission) uncountable(currency string) string {
	switch {
	case a.money == nil:
		return "the tool's spec does not name an amount"
	case a.money.Problem != "":
		return a.money.Problem
	case a.money.Currency != currency:
		return fmt.Sprintf("no budget is in its currency %.16q", a.money.Currency)
	}
	return ""
}

// charge reports whether the budget had room. With force it counts also where there is none.
func (a admission) charge(ctx context.Context, tx pgx.Tx, c count, force bool) (had bool, err error) {
	// The window is greatest of two, because a transaction may wait for the counter while a
	// window ends, and must not take its successor back.
	const statement = `
		WITH counted AS (
			UPDATE budget_counters c
			SET used = ` + usedNow + ` + $2::numeric, begun = greatest(c.begun, w.begin)
			FROM (SELECT b.allowed, ` + windowBegin + ` AS begin FROM budgets b WHERE b.id = $1 AND b.allowed IS NOT NULL OFFSET 0) w
			WHERE c.budget_id = $1 AND ($5 OR ` + usedNow + ` + $2::numeric <= w.allowed
				AND NOT EXISTS (SELECT FROM budget_waits l WHERE l.budget_id = $1 AND l.number < $6 AND l.amount <= w.allowed))
			RETURNING c.begun)
		INSERT INTO budget_charges (intent_id, budget_id, generation, amount, begun)
		SELECT $3, $1, $4, $2::numeric, begun FROM counted`
	tag, err := tx.Exec(ctx, statement, c.budget, c.amount, a.id[:], a.generation, force, a.after(c))
	return tag.RowsAffected() == 1, err
}

// after is the number before which those in the budget's line come first. Where newcomers do not
// wait they pass a line, which is of those that waited when they did.
func (a admission) after(c count) int64 {
	switch {
	case a.number > 0:
		return a.number
	case c.waits:
		return math.MaxInt64
	}
	return 0
}

// room is how a budget stands to what asks for it.
type room int

const (
	enough room = iota // or the budget does not stand any more
	_                  // none now, or others come first
	never              // more is asked for than is allowed at all
)

func (a admission) room(ctx context.Context, tx pgx.Tx, c count) (Budget, room, error) {
	const query = `
		SELECT CASE WHEN $1::numeric > $2::numeric THEN 2
			WHEN $1::numeric > $2::numeric - $3::numeric
				OR EXISTS (SELECT FROM budget_waits l WHERE l.budget_id = $4 AND l.number < $5 AND l.amount <= $2::numeric) THEN 1
			ELSE 0 END`
	b, err := oneBudget(ctx, tx, c.budget)
	if err != nil || b.Allowed == "" {
		return b, enough, err
	}
	var has room
	err = tx.QueryRow(ctx, query, c.amount, b.Allowed, b.Used, c.budget, a.after(c)).Scan(&has)
	return b, has, err
}

// stoppedBy returns the first budget that the intent has to wait for, nil if all have room. The
// error has code budget_exceeded if one has none and refuses newcomers, or could never admit this.
func (a admission) stoppedBy(ctx context.Context, tx pgx.Tx, counts []count) (stop *count, err error) {
	for _, c := range counts {
		b, has, err := a.room(ctx, tx, c)
		switch {
		case err != nil:
			return nil, err
		case has == enough:
		case a.number == 0 && (!c.waits || has == never):
			return nil, intent.Errorf(intent.CodeBudgetExceeded, "budget %s (%s) has %s left and this asks for %s; %s", b.ID, b.told(),
				strings.TrimSpace(b.Left+" "+b.Currency), strings.TrimSpace(c.amount+" "+b.Currency), b.anew(has))
		case stop == nil:
			stop = &c
		}
	}
	return stop, nil
}

// told says in words what a budget counts and how much it allows.
func (b Budget) told() string {
	text := b.Allowed + " intents"
	switch b.Kind {
	case BudgetIntents:
	case BudgetMoney:
		text = strings.TrimSpace(b.Allowed + " " + b.Currency)
	case BudgetConcurrency:
		text = b.Allowed + " open intents"
	}
	if b.Window > 0 {
		text += " in " + b.Window.String()
	}
	text += " of tenant " + b.Tenant
	if b.Requester != "" {
		text += ", for " + b.Requester
	}
	if b.Tool != "" {
		text += ", by " + b.Tool
	}
	return text
}

// anew says when there will be room.
func (b Budget) anew(has room) string {
	switch {
	case has == never:
		return "that is more than is allowed at all"
	case b.Kind == BudgetConcurrency:
		return "ask again when one of those that are open has ended"
	}
	return "it begins anew at " + b.EndsAt.Format(time.RFC3339)
}
