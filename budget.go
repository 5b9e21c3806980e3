package writ

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// BudgetKind says what a budget counts.
type BudgetKind = outbox.BudgetKind

// The kinds of budgets.
const (
	// BudgetIntents counts the intents that are admitted within a window.
	BudgetIntents = outbox.BudgetIntents
	// BudgetMoney counts their amounts, where the tool's spec names one.
	BudgetMoney = outbox.BudgetMoney
	// BudgetConcurrency counts the intents that are open.
	BudgetConcurrency = outbox.BudgetConcurrency
)

// BudgetOver says what becomes of an intent that a budget has no room for.
type BudgetOver = outbox.BudgetOver

const (
	// OverDeny refuses it as budget_exceeded.
	OverDeny = outbox.OverDeny
	// OverWait has it wait until there is room, unless it asks for more than is allowed at all.
	OverWait = outbox.OverWait
)

// BudgetRequest says what is to be counted, and how much of it is allowed.
type BudgetRequest struct {
	// Tenant is whose intents count. Required.
	Tenant string
	// Requester is the principal whose intents count, and Tool the tool; empty: any.
	Requester, Tool string
	Kind            BudgetKind
	// Allowed is an exact decimal of zero or more, in the unit of the payloads; whole, unless the
	// kind is BudgetMoney.
	Allowed string
	// Over is what becomes of an intent that there is no room for. Default: OverDeny.
	Over BudgetOver
	// Currency is spelled exactly as payloads spell it, in at most 16 letters and digits; empty for
	// tools whose spec names no currency. Only for BudgetMoney.
	Currency string
	// Window is the length of the windows, in whole seconds from a minute to 366 days. Days begin
	// at midnight UTC, and seven days on a Monday. Zero for BudgetConcurrency.
	Window time.Duration
}

// Budget is what a tenant may have admitted, and how much of it is used.
type Budget struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Requester string     `json:"requester,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Kind      BudgetKind `json:"kind"`
	Currency  string     `json:"currency,omitempty"`
	// WindowMS is the length of its windows in milliseconds; absent for concurrency.
	WindowMS int64 `json:"window_ms,omitempty"`
	// Allowed is absent if the budget was removed. It, Used and Left are exact decimals, of the
	// window that runs.
	Allowed string     `json:"allowed,omitempty"`
	Over    BudgetOver `json:"over"`
	Used    string     `json:"used"`
	Left    string     `json:"left,omitempty"`
	// Waiting is how many intents wait for it.
	Waiting int `json:"waiting,omitempty"`
	// EndsAt is when the window ends that runs; absent for concurrency.
	EndsAt time.Time `json:"ends_at,omitzero"`
	// Principal is who changed it last, and Note says why.
	Principal string    `json:"principal"`
	Note      string    `json:"note,omitempty"`
	ChangedAt time.Time `json:"changed_at"`
	// Broken says that somebody changed its rows by hand, so that it cannot count. What falls under it
	// is refused as budget_uncountable until it is set again, or removed.
	Broken bool `json:"broken,omitempty"`
}

// BudgetChange is what somebody allowed, and when.
type BudgetChange struct {
	// Allowed is absent if the budget was removed.
	Allowed   string     `json:"allowed,omitempty"`
	Over      BudgetOver `json:"over"`
	Principal string     `json:"principal"`
	Note      string     `json:"note,omitempty"`
	ChangedAt time.Time  `json:"changed_at"`
}

// BudgetWait is what an intent waits for that no budget has counted yet.
type BudgetWait struct {
	// Budget is the one that had no room for it when it was last looked.
	Budget Budget `json:"budget"`
	// Asks is what it asks that budget for; absent if it cannot be counted.
	Asks string `json:"asks,omitempty"`
	// Ahead is how many wait for that budget and came before it, and Since is since when it waits.
	Ahead int       `json:"ahead"`
	Since time.Time `json:"since"`
}

// told names what is waited for, and since when.
func (w BudgetWait) told() string {
	text := fmt.Sprintf("budget %s has room for it, of which %s is left; it waits since %s", w.Budget.ID, w.Budget.Left, w.Since.Format(time.RFC3339))
	if w.Ahead > 0 {
		text += fmt.Sprintf(" with %d ahead of it", w.Ahead)
	}
	return text
}

// budgetWait returns what keeps an intent waiting; nil if no budget does.
func (c *Client) budgetWait(ctx context.Context, row outbox.Row) (*BudgetWait, error) {
	if row.BudgetUntil.IsZero() {
		return nil, nil
	}
	w, err := c.store.BudgetWaitOf(ctx, row.ID)
	if w == nil || err != nil {
		return nil, err // counted since
	}
	return &BudgetWait{Budget: budgetOf(w.Budget), Asks: w.Asks, Ahead: w.Ahead, Since: w.Since}, nil
}

// SetBudget allows so much, says what becomes of what is over it, and returns the budget as it
// stands then. It counts what is admitted after it was set for the first time. The budget of the
// same tenant, requester, tool, kind, currency and window is changed and keeps its count; what waits
// for it and has room by then goes on at once. A request that cannot be one has code invalid_budget
// or invalid_name.
func (c *Client) SetBudget(ctx context.Context, r BudgetRequest, by Decider) (Budget, error) {
	if err := r.check(); err != nil {
		return Budget{}, err
	}
	if err := by.check(); err != nil {
		return Budget{}, err
	}
	on := outbox.BudgetSubject{Tenant: r.Tenant, Requester: r.Requester, Tool: r.Tool, Kind: r.Kind, Currency: r.Currency, Window: r.Window}
	set, err := c.store.SetBudget(ctx, on, r.Allowed, cmp.Or(r.Over, OverDeny), by.recorded())
	if err != nil {
		return Budget{}, undecided(ctx, outbox.Row{}, err)
	}
	return c.changed(ctx, set), nil
}

// changed is a budget that was just changed. What waits for it goes on if there is room by now.
func (c *Client) changed(ctx context.Context, b outbox.Budget) Budget {
	if b.Waiting > 0 {
		ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
		defer cancel()
		c.admitWaiting(ctx)
	}
	return budgetOf(b)
}

// admitWaiting counts what waits for budgets that have room by now, and starts its workflows. What is
// left over is for the next sweep of recovery.
func (c *Client) admitWaiting(ctx context.Context) {
	admitted, err := c.store.AdmitWaiting(ctx)
	for _, id := range admitted {
		row, failed := c.store.Load(ctx, id)
		if failed == nil {
			failed = workflows.Wake(ctx, c.temporal, row)
		}
		err = cmp.Or(err, failed)
	}
	if err != nil {
		c.log.Warn("budgets have room, and not all that waited for it goes on at once; recovery goes on with the rest", "error", err)
	}
}

// The lengths of a window.
const (
	minBudgetWindow = time.Minute
	maxBudgetWindow = 366 * 24 * time.Hour
)

func (r BudgetRequest) check() error {
	err := cmp.Or(intent.CheckName("tenant", r.Tenant), intent.CheckOptionalName("requester", r.Requester), intent.CheckOptionalName("tool", r.Tool))
	if err != nil {
		return err
	}
	problem := ""
	switch r.Kind {
	case BudgetMoney:
		problem = r.badMoney()
	case BudgetIntents, BudgetConcurrency:
		if !intent.Countable(r.Allowed) || !digits(r.Allowed) || r.Currency != "" {
			problem = "it allows a whole number of intents, and has no currency"
		}
	default:
		problem = "its kind is intents, money or concurrency"
	}
	switch {
	case problem != "":
	case r.Over != "" && r.Over != OverDeny && r.Over != OverWait:
		problem = "what it has no room for is to deny or to wait"
	case r.Kind == BudgetConcurrency && r.Window != 0:
		problem = "what counts the open intents has no window"
	case r.Kind != BudgetConcurrency && (r.Window < minBudgetWindow || r.Window > maxBudgetWindow || r.Window%time.Second != 0):
		problem = "its window is 1 minute to 366 days long, in whole seconds"
	}
	if problem != "" {
		return intent.Errorf(intent.CodeInvalidBudget, "this budget cannot be set: %s", problem)
	}
	return nil
}

func (r BudgetRequest) badMoney() string {
	if !intent.Countable(r.Allowed) {
		return "it allows a decimal of zero or more, such as 100.00"
	}
	if len(r.Currency) > 16 {
		return "its currency has more than 16 letters"
	}
	for _, c := range []byte(r.Currency) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && !digits(string(c)) {
			return "its currency has other characters than letters and digits"
		}
	}
	return ""
}

func digits(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Budgets returns the budgets that stand of a tenant, or of every tenant if it is empty; with all
// also those that were removed. There are at most 1,000. The error has code invalid_name if the
// tenant is no name.
func (c *Client) Budgets(ctx context.Context, tenant string, all bool) ([]Budget, error) {
	if err := intent.CheckOptionalName("tenant", tenant); err != nil {
		return nil, err
	}
	list, err := c.store.Budgets(ctx, tenant, all)
	budgets := make([]Budget, len(list))
	for i, b := range list {
		budgets[i] = budgetOf(b)
	}
	return budgets, err
}

// RemoveBudget lifts a budget and returns it as it stood. The error has code budget_not_found if
// it does not stand, and invalid_budget if the id is none.
func (c *Client) RemoveBudget(ctx context.Context, id string, by Decider) (Budget, error) {
	if err := by.check(); err != nil {
		return Budget{}, err
	}
	parsed, err := budgetID(id)
	if err != nil {
		return Budget{}, err
	}
	removed, err := c.store.RemoveBudget(ctx, parsed, by.recorded())
	if err != nil {
		return Budget{}, undecided(ctx, outbox.Row{}, err)
	}
	return c.changed(ctx, removed), nil
}

// BudgetChanges returns who allowed how much under a budget, also one that was removed, oldest
// first. The error has code budget_not_found or invalid_budget.
func (c *Client) BudgetChanges(ctx context.Context, id string) ([]BudgetChange, error) {
	parsed, err := budgetID(id)
	if err != nil {
		return nil, err
	}
	list, err := c.store.BudgetChanges(ctx, parsed)
	changes := make([]BudgetChange, len(list))
	for i, change := range list {
		changes[i] = BudgetChange(change)
	}
	return changes, err
}

func budgetID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, intent.Errorf(intent.CodeInvalidBudget, "%.40q is no id of a budget; `writ budget list` shows the ids", text)
	}
	return id, nil
}

func budgetOf(b outbox.Budget) Budget {
	return Budget{
		ID: b.ID.String(), Tenant: b.Tenant, Requester: b.Requester, Tool: b.Tool, Kind: b.Kind, Currency: b.Currency,
		WindowMS: b.Window.Milliseconds(), Allowed: b.Allowed, Over: b.Over, Used: b.Used, Left: b.Left, EndsAt: b.EndsAt, Waiting: b.Waiting,
		Principal: b.Principal, Note: b.Note, ChangedAt: b.ChangedAt, Broken: b.Broken,
	}
}
