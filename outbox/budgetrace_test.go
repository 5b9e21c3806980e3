package outbox_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/outbox"
)

// twoBudgets sets two budgets that count the same intents, ten of them at once, and returns them in
// the order in which counters are locked.
func (b bundle) twoBudgets(t *testing.T) (first, second outbox.Budget) {
	t.Helper()
	ofTool := atOnce
	ofTool.Tool = "payments.capture"
	first, second = b.allowWaiting(t, atOnce, "10"), b.allowWaiting(t, ofTool, "10")
	if first.ID.String() > second.ID.String() {
		return second, first
	}
	return first, second
}

// locked locks the budget's counter until release is called.
func (b bundle) locked(t *testing.T, budget outbox.Budget) (release func()) {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM budget_counters WHERE budget_id = $1 FOR UPDATE`, budget.ID); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestABudgetThatIsRemovedWhileAnIntentIsCountedIsInNobodysWay(t *testing.T) {
	t.Parallel()
	b := start(t)
	first, second := b.twoBudgets(t)
	release := b.locked(t, first)
	inserted := make(chan error, 1)
	go func() {
		_, err := b.Insert(t.Context(), propose("order-1", opaque()))
		inserted <- err
	}()
	b.awaitWaiting(t, "budget_counters", 1)
	if _, err := b.RemoveBudget(t.Context(), second.ID, eve); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-inserted; err != nil {
		t.Error(err)
	}
	if used := query[int](t, b, `SELECT count(*) FROM budget_charges`); used != 1 {
		t.Errorf("it is counted %d times", used)
	}
}

// onStatement calls do once, before the first statement that has the text in it.
type onStatement struct {
	text string
	do   func()
}

func (o *onStatement) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if do := o.do; do != nil && strings.Contains(data.SQL, o.text) {
		o.do = nil
		do()
	}
	return ctx
}

func (*onStatement) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// traced is the outbox over one connection of its own.
func (b bundle) traced(t *testing.T, trace *onStatement) *outbox.Store {
	t.Helper()
	cfg := b.pool.Config()
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, trace
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return outbox.New(pool)
}

func TestWhoFindsRoomJustBeforeItWaitsHoldsNoBudgetOutOfOrder(t *testing.T) {
	t.Parallel()
	b := start(t)
	first, second := b.twoBudgets(t)
	b.allowWaiting(t, second.BudgetSubject, "1")
	open := b.insert(t, propose("order-0", opaque()))
	var release func()
	store := b.traced(t, &onStatement{text: "FROM budget_counters WHERE", do: func() {
		ended(intent.Applied)(b, t, open) // there is room by now
		release = b.locked(t, first)
	}})
	inserted := make(chan error, 1)
	go func() {
		_, err := store.Insert(t.Context(), propose("order-1", opaque()))
		inserted <- err
	}()
	b.awaitWaiting(t, "budget_counters", 1)
	b.exec(t, `SELECT FROM budget_counters WHERE budget_id = $1 FOR UPDATE NOWAIT`, second.ID)
	release()
	if err := <-inserted; err != nil {
		t.Error(err)
	}
}

func TestWhatIsIssuedAgainWhenNoBudgetStoodIsNotCountedByTheOneThatCountedItBefore(t *testing.T) {
	t.Parallel()
	b := start(t)
	budget := b.allow(t, eurosADay, "10")
	failed := ended(intent.NotApplied)(b, t, b.insert(t, costing("order-1", "10")))
	if _, err := b.RemoveBudget(t.Context(), budget.ID, eve); err != nil {
		t.Fatal(err)
	}
	again, err := b.Reissue(t.Context(), failed.ID, eve, &outbox.Money{Amount: "10", Currency: "EUR"}, renewal)
	if err != nil {
		t.Fatal(err)
	}
	b.allow(t, eurosADay, "10")
	ended(intent.Applied)(b, t, again)
	b.uses(t, "0")
}

func TestWhatNoBudgetCouldCountIsAdmittedOnceOneCan(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, atOnce, "1")
	open := b.insert(t, costing("order-0", "1"))
	waiting := []outbox.Row{b.waits(t, costing("order-1", "1"))}
	dollars := eurosADay
	dollars.Currency = "USD"
	b.allowWaiting(t, dollars, "10")
	ended(intent.Applied)(b, t, open)
	b.admits(t, waiting)
	b.allowWaiting(t, eurosADay, "10")
	b.insert(t, costing("order-2", "1")) // a newcomer can be counted
	ended(intent.Applied)(b, t, b.load(t, costing("order-2", "1").ID()))
	b.admits(t, waiting, 0)
}

func TestOneThatCannotBeReadDoesNotHoldUpTheLinesOfOthers(t *testing.T) {
	t.Parallel()
	b := start(t)
	lines := map[uuid.UUID]outbox.Row{}
	var ids []uuid.UUID
	for _, tool := range []string{"payments.capture", "payments.refund"} {
		on := atOnce
		on.Tool = tool
		budget := b.allowWaiting(t, on, "1")
		first := b.insert(t, tooled(tool+"-first", tool))
		lines[budget.ID], ids = b.waits(t, tooled(tool, tool)), append(ids, budget.ID)
		ended(intent.Applied)(b, t, first)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	b.byHand(t, lines[ids[0]].ID, `rules = '[]'`)
	admitted, err := b.AdmitWaiting(t.Context())
	if len(admitted) != 1 || err == nil {
		t.Errorf("%d were admitted, %v", len(admitted), err)
	}
	if row := b.load(t, lines[ids[1]].ID); row.Next().Kind != intent.Invoke {
		t.Errorf("%+v", row.Next())
	}
}

func TestAWorkerThatIsFrozenWhileItHoldsABudgetHoldsItForSecondsAndNotForEver(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, atOnce, "1")
	open := b.insert(t, propose("order-0", opaque()))
	waiting := b.waits(t, propose("order-1", opaque()))
	frozen, thaw := make(chan struct{}), make(chan struct{})
	cancelled := make(chan error, 1)
	go func() {
		_, err := b.Cancel(t.Context(), open.ID, eve, func(context.Context, pgx.Tx, outbox.Row, string, *outbox.Answer) error {
			close(frozen)
			<-thaw
			return nil
		})
		cancelled <- err
	}()
	<-frozen
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Store.Cancel(ctx, open.ID, eve, seal); err != nil {
		t.Error(err)
	}
	b.admits(t, []outbox.Row{waiting}, 0)
	close(thaw)
	if err := <-cancelled; intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
		t.Errorf("what was frozen: %v", err)
	}
	if row := b.load(t, open.ID); row.State != intent.Cancelled {
		t.Errorf("it is %s", row.State)
	}
}
