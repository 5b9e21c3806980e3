package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// BudgetAudit is what an operator has to know of the budgets.
type BudgetAudit struct {
	// Standing is how many budgets stand, and Waiting how many intents wait for one, since Since
	// the one that came first.
	Standing, Waiting int
	Since             time.Time
	// Wrong are the budgets whose counter is not the sum of what was counted in its window.
	Wrong []WrongBudget
	// Broken are those that stand and cannot count, because somebody changed their rows by hand:
	// everything under them is refused.
	Broken []uuid.UUID
	// Low are those of which less than a tenth is left in a window, or no place is.
	Low []uuid.UUID
}

// WrongBudget is a budget whose counter does not agree with what intents were charged with.
type WrongBudget struct {
	ID uuid.UUID
	// Counter and Charged are exact decimals.
	Counter, Charged string
}

// Budgets looks at all budgets in one snapshot. It adds up the charges of the window that each
// counter is in, from budget_charges_counting.
func (i *Inspector) Budgets(ctx context.Context) (audit BudgetAudit, err error) {
	const query = `
		SELECT s.id, s.used::text, coalesce(charged.amount, 0)::text, coalesce(s.used <> coalesce(charged.amount, 0), false), s.allowed IS NOT NULL AND NOT s.sound,
			s.allowed > 0 AND CASE s.kind WHEN 'concurrency' THEN s.current >= s.allowed ELSE s.current > 0.9 * s.allowed END, s.allowed IS NOT NULL
		FROM (SELECT b.id, b.kind, b.allowed, c.begun, c.used, ` + sound + ` AS sound, ` + usedNow + ` AS current FROM ` + budgetsNow + `) s
		CROSS JOIN LATERAL (SELECT sum(h.amount) AS amount FROM budget_charges h
			WHERE h.budget_id = s.id AND h.begun = s.begun AND h.released_at IS NULL) charged
		ORDER BY s.id`
	const waiting = `SELECT count(*), coalesce(min(since), writ_now()) FROM budget_waits`
	rows, err := i.conn.Query(ctx, query)
	if err != nil {
		return audit, wrap("read the budgets", err)
	}
	var w WrongBudget
	var wrong, broken, standing bool
	var counter *string
	var low *bool
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&w.ID), &counter, &w.Charged, &wrong, &broken, &low, &standing}, func() error {
		if w.Counter = value(counter); wrong {
			audit.Wrong = append(audit.Wrong, w)
		}
		if broken {
			audit.Broken = append(audit.Broken, w.ID)
		}
		if standing {
			audit.Standing++
		}
		if value(low) {
			audit.Low = append(audit.Low, w.ID)
		}
		return nil
	})
	if err == nil {
		err = i.conn.QueryRow(ctx, waiting).Scan(&audit.Waiting, &audit.Since)
	}
	audit.Since = audit.Since.UTC()
	return audit, wrap("read the budgets", err)
}
