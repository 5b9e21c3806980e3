package outbox_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// Whatever is done to intents and budgets at the same time, midnight included: no transaction is in
// the way of another for ever, counters agree with what was counted, what is over gives its place
// back, and what waits goes on.
func TestBudgetsAgreeWithTheirIntentsWhateverIsDoneToBothAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	lines := []outbox.BudgetSubject{atOnce, eurosADay,
		{Tenant: "acme", Tool: "payments.refund", Kind: outbox.BudgetConcurrency},
		{Tenant: "acme", Requester: "till-7", Kind: outbox.BudgetIntents, Window: time.Hour}}
	set := func(r *rand.Rand) {
		line := lines[r.IntN(len(lines))]
		over := outbox.OverWait
		if r.IntN(4) == 0 {
			over = outbox.OverDeny
		}
		budget, err := b.SetBudget(t.Context(), line, fmt.Sprint(2+r.IntN(8)), over, eve)
		if err != nil {
			t.Error(err)
		}
		if r.IntN(3) == 0 {
			if _, err := b.RemoveBudget(t.Context(), budget.ID, eve); err != nil && intent.CodeOf(err) != intent.CodeBudgetNotFound {
				t.Error(err)
			}
		}
	}
	var workers, others sync.WaitGroup
	for worker := range 6 {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 7))
			for i := range 40 {
				p := costing(fmt.Sprintf("order-%d-%d", worker, i), fmt.Sprint(1+r.IntN(3)))
				if r.IntN(2) == 0 {
					p.Tool = "payments.refund"
				}
				if r.IntN(2) == 0 {
					p.Principal, p.EffectContext = "till-8", []byte(`{"principal":"till-8","tenant":"acme"}`)
				}
				row, err := b.Insert(t.Context(), p.Bound())
				if intent.CodeOf(err) == intent.CodeBudgetExceeded {
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				if row.Next().Kind == intent.Wait || r.IntN(3) == 0 {
					if r.IntN(2) == 0 {
						continue // it waits, or stays open
					}
					if _, err := b.Cancel(t.Context(), row.ID, eve, seal); err != nil {
						t.Error(err)
					}
					continue
				}
				done := ended([]intent.Outcome{intent.Applied, intent.NotApplied, intent.Unknown}[r.IntN(3)])(b, t, row)
				if done.State != intent.Failed || r.IntN(2) == 0 {
					continue
				}
				if _, err := b.Reissue(t.Context(), row.ID, eve, p.Money, renewal); err != nil && intent.CodeOf(err) != intent.CodeBudgetExceeded {
					t.Error(err)
				}
			}
		})
	}
	over := make(chan struct{})
	admit := func(*rand.Rand) {
		if _, err := b.AdmitWaiting(t.Context()); err != nil {
			t.Error(err)
		}
	}
	at := noon
	pass := func(*rand.Rand) {
		at = at.Add(time.Hour)
		b.setClock(t, at)
	}
	for i, do := range []func(*rand.Rand){set, admit, admit, pass} {
		others.Go(func() {
			for r := rand.New(rand.NewPCG(uint64(i), 8)); ; do(r) {
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	workers.Wait()
	close(over)
	others.Wait()

	if a := b.audit(t); len(a.Wrong) != 0 {
		t.Errorf("counters are wrong: %+v", a.Wrong)
	}
	for _, line := range lines { // room for all
		b.allowWaiting(t, line, "1000")
	}
	if _, err := b.AdmitWaiting(t.Context()); err != nil {
		t.Error(err)
	}
	if n := query[int](t, b, `SELECT count(*) FROM budget_waits`); n != 0 {
		t.Errorf("%d wait although there is room", n)
	}
	ids, err := b.pool.Query(t.Context(), `SELECT id FROM intents WHERE ended_at IS NULL`)
	if err != nil {
		t.Fatal(err)
	}
	open, err := pgx.CollectRows(ids, pgx.RowTo[[16]byte])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range open {
		if row := b.load(t, id); row.State == intent.InDoubt {
			_, err = b.Resolve(t.Context(), id, outbox.Resolution{Kind: intent.ResolveApplied}, eve, seal)
		} else {
			_, err = b.Cancel(t.Context(), id, eve, seal)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if a := b.audit(t); len(a.Wrong) != 0 {
		t.Errorf("counters are wrong at the end: %+v", a.Wrong)
	}
	if used := query[string](t, b, `SELECT string_agg(used::text, ' ') FROM budget_counters c JOIN budgets b ON b.id = c.budget_id WHERE b.kind = 'concurrency'`); used != "0 0" {
		t.Errorf("%s are open", used)
	}
}
