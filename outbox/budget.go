package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// BudgetKind says what a budget counts.
type BudgetKind string

// The kinds of budgets.
const (
	// BudgetIntents: intents that were admitted within a window.
	BudgetIntents BudgetKind = "intents"
	// BudgetMoney: the amounts of intents that were admitted within a window.
	BudgetMoney BudgetKind = "money"
	// BudgetConcurrency: intents that were admitted and have not ended.
	BudgetConcurrency BudgetKind = "concurrency"
)

// BudgetOver says what becomes of an intent that a budget has no room for.
type BudgetOver string

const (
	// OverDeny: it is refused.
	OverDeny BudgetOver = "deny"
	// OverWait: it waits until there is room.
	OverWait BudgetOver = "wait"
)

// BudgetSubject is what tells one budget from another.
type BudgetSubject struct {
	Tenant string
	// Requester and Tool are whose intents count, and of which tool; empty: of any.
	Requester, Tool string
	Kind            BudgetKind
	// Currency is spelled as payloads spell it; empty for tools whose spec names no currency.
	// Only of money.
	Currency string
	// Window is the length of the windows, in whole seconds; zero for concurrency.
	Window time.Duration
}

// Budget is what is allowed of a subject, and how it stands.
type Budget struct {
	ID uuid.UUID
	BudgetSubject
	// Allowed is an exact decimal; empty if the budget was removed.
	Allowed string
	Over    BudgetOver
	// Waiting is how many intents stand in its line.
	Waiting int
	// Used is what counts in the window that runs, or what is open, as an exact decimal.
	Used string
	// Left is what is left of Allowed; never negative.
	Left string
	// EndsAt is when the window ends that runs; zero for concurrency.
	EndsAt time.Time
	// Principal is who changed it last, and Note says why.
	Principal, Note string
	ChangedAt       time.Time
	// Broken says that somebody changed its rows by hand, so that it cannot count.
	Broken bool
}

// datable says that the windows of budget b have a length: months have none.
const datable = `(extract(year FROM b.span) = 0 AND extract(month FROM b.span) = 0 AND b.span <= interval '366 days')`

// sound says that budget b and its counter c hold what SetBudget and intents write. What somebody
// changed by hand may hold more than any number, as NaN is to PostgreSQL, and would let everything
// through.
const sound = `(c.budget_id IS NOT NULL AND coalesce(b.allowed, 0) < 'infinity'::numeric AND c.used < 'infinity'::numeric AND isfinite(c.begun) AND ` + datable + `)`

// windowBegin is the beginning of the window of budget b that runs, by the database's clock:
// windows begin at whole multiples of their span since a Monday, 2001-01-01 00:00 UTC, so that
// days begin at midnight UTC and weeks on Mondays. Concurrency has one window for ever, and so has
// what has no other.
const windowBegin = `
	CASE WHEN b.kind = 'concurrency' OR NOT ` + datable + ` THEN timestamptz '2001-01-01 00:00Z'
	ELSE date_bin(b.span, writ_now(), timestamptz '2001-01-01 00:00Z') END`

// budgetsNow are the budgets b with their counters c, if nobody deleted them by hand, and with w.begin
// of the window that runs.
const budgetsNow = `
	budgets b LEFT JOIN budget_counters c ON c.budget_id = b.id, LATERAL (SELECT ` + windowBegin + ` AS begin OFFSET 0) w`

// usedNow is what counter c counts in the window that begins at w.begin: nothing, if its own is over.
const usedNow = `CASE WHEN c.begun >= w.begin THEN c.used ELSE 0 END`

// budgetState reads how budgets stand.
const budgetState = `
	SELECT s.id, s.tenant, s.requester, s.tool, s.kind, s.currency, s.span, coalesce(s.allowed::text, ''), s.over, s.used::text,
		CASE WHEN s.sound THEN greatest(s.allowed - s.used, 0)::text END, CASE WHEN s.sound THEN s.begin + s.span ELSE s.begin END,
		coalesce(h.principal, ''), coalesce(h.note, ''), coalesce(h.changed_at, s.begin),
		(SELECT count(*) FROM budget_waits WHERE budget_id = s.id), NOT s.sound
	FROM (
		SELECT b.*, ` + sound + ` AS sound, CASE WHEN isfinite(c.begun) THEN greatest(c.begun, w.begin) ELSE w.begin END AS begin,
			` + usedNow + ` AS used
		FROM ` + budgetsNow + `) s
		LEFT JOIN LATERAL (SELECT principal, note, changed_at FROM budget_changes WHERE budget_id = s.id ORDER BY number DESC LIMIT 1) h ON true`

// SetBudget allows so much of the subject, in one flushed commit, and returns the budget. It counts
// what is admitted after that; of one that has a budget the count goes on. allowed is an exact
// decimal, and was checked. The change is kept for ever. What waits already goes on waiting,
// whatever becomes of newcomers.
func (s *Store) SetBudget(ctx context.Context, on BudgetSubject, allowed string, over BudgetOver, by Decider) (Budget, error) {
	const upsert = `
		INSERT INTO budgets (id, tenant, requester, tool, kind, currency, span, allowed, over)
		VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (tenant, requester, tool, kind, currency, span) DO UPDATE SET allowed = excluded.allowed, over = excluded.over
		RETURNING id`
	// A counter that was changed by hand, or is missing, is what was counted in the window that runs.
	const counter = `
		INSERT INTO budget_counters AS c (budget_id, begun, used)
		SELECT b.id, w.begin, coalesce((SELECT sum(h.amount) FROM budget_charges h WHERE h.budget_id = b.id AND h.begun = w.begin AND h.released_at IS NULL), 0)
		FROM budgets b, LATERAL (SELECT ` + windowBegin + ` AS begin OFFSET 0) w WHERE b.id = $1
		ON CONFLICT (budget_id) DO UPDATE SET begun = excluded.begun, used = excluded.used
		WHERE NOT (c.used < 'infinity'::numeric AND isfinite(c.begun))`
	var set Budget
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		var id uuid.UUID
		err := tx.QueryRow(ctx, upsert, on.Tenant, on.Requester, on.Tool, string(on.Kind), on.Currency, on.Window, allowed, string(over)).Scan((*[16]byte)(&id))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, counter, id); err != nil {
			return err
		}
		if err := recordChange(ctx, tx, id, by); err != nil {
			return err
		}
		set, err = oneBudget(ctx, tx, id)
		return err
	})
	return set, err
}

// RemoveBudget lifts a budget, in one flushed commit, and returns it as it stood. The error has
// code budget_not_found if there is none with the id, or if it was removed before.
func (s *Store) RemoveBudget(ctx context.Context, id uuid.UUID, by Decider) (Budget, error) {
	var removed Budget
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		tag, err := tx.Exec(ctx, `UPDATE budgets SET allowed = NULL WHERE id = $1 AND allowed IS NOT NULL`, id)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return intent.Errorf(intent.CodeBudgetNotFound, "no budget %s stands; `writ budget list` shows those that do", id)
		}
		if err := recordChange(ctx, tx, id, by); err != nil {
			return err
		}
		removed, err = oneBudget(ctx, tx, id)
		return err
	})
	return removed, err
}

// recordChange keeps who changed the budget, whose row the transaction has locked, to what it is.
func recordChange(ctx context.Context, tx pgx.Tx, id uuid.UUID, by Decider) error {
	const statement = `
		INSERT INTO budget_changes (budget_id, number, allowed, over, principal, note, changed_at)
		SELECT b.id, 1 + coalesce((SELECT max(number) FROM budget_changes WHERE budget_id = b.id), 0), b.allowed, b.over, $2, $3, writ_now()
		FROM budgets b WHERE b.id = $1`
	_, err := tx.Exec(ctx, statement, id, by.Principal, by.Note)
	return err
}

// maxBudgets bounds a list of budgets.
const maxBudgets = 1000

// Budgets returns the budgets of a tenant, or of all if it is empty, with those that were removed
// if all is set; ordered by subject, and at most 1,000.
func (s *Store) Budgets(ctx context.Context, tenant string, all bool) ([]Budget, error) {
	const query = budgetState + `
		WHERE ($1 = '' OR s.tenant = $1) AND ($2 OR s.allowed IS NOT NULL)
		ORDER BY s.tenant, s.requester, s.tool, s.kind, s.currency, s.span LIMIT $3`
	rows, err := s.pool.Query(ctx, query, tenant, all, maxBudgets)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, scanBudget)
	return list, DatabaseError(err)
}

// BudgetChange is what somebody allowed, and when.
type BudgetChange struct {
	// Allowed is empty if the budget was removed.
	Allowed         string
	Over            BudgetOver
	Principal, Note string
	ChangedAt       time.Time
}

// BudgetChanges returns the history of a budget, oldest first. The error has code
// budget_not_found if there never was one with the id.
func (s *Store) BudgetChanges(ctx context.Context, id uuid.UUID) ([]BudgetChange, error) {
	const query = `
		SELECT coalesce(allowed::text, ''), over, principal, note, changed_at FROM budget_changes WHERE budget_id = $1 ORDER BY number`
	rows, err := s.pool.Query(ctx, query, id)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (BudgetChange, error) {
		var c BudgetChange
		err := row.Scan(&c.Allowed, &c.Over, &c.Principal, &c.Note, &c.ChangedAt)
		c.ChangedAt = c.ChangedAt.UTC()
		return c, err
	})
	if err == nil && len(list) == 0 {
		err = intent.Errorf(intent.CodeBudgetNotFound, "there never was a budget %s; `writ budget list --all` shows all", id)
	}
	return list, DatabaseError(err)
}

func oneBudget(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Budget, error) {
	rows, err := tx.Query(ctx, budgetState+` WHERE s.id = $1`, id)
	if err != nil {
		return Budget{}, err
	}
	b, err := pgx.CollectExactlyOneRow(rows, scanBudget)
	if errors.Is(err, pgx.ErrNoRows) {
		return b, fmt.Errorf("there is no budget %s: %w", id, err)
	}
	return b, err
}

func scanBudget(row pgx.CollectableRow) (Budget, error) {
	var b Budget
	var left *string
	err := row.Scan((*[16]byte)(&b.ID), &b.Tenant, &b.Requester, &b.Tool, &b.Kind, &b.Currency, &b.Window, &b.Allowed, &b.Over, &b.Used,
		&left, &b.EndsAt, &b.Principal, &b.Note, &b.ChangedAt, &b.Waiting, &b.Broken)
	b.Left, b.EndsAt, b.ChangedAt = value(left), b.EndsAt.UTC(), b.ChangedAt.UTC()
	if b.Kind == BudgetConcurrency || b.Broken {
		b.EndsAt = time.Time{}
	}
	return b, err
}
