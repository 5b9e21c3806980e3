package outbox_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// atOnce counts what acme has open.
var atOnce = outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetConcurrency}

// allowWaiting sets a budget that lets wait what it has no room for.
func (b bundle) allowWaiting(t *testing.T, on outbox.BudgetSubject, allowed string) outbox.Budget {
	t.Helper()
	return b.setBudget(t, on, allowed, outbox.OverWait)
}

// admits counts those that wait for budgets and checks which of the rows may go on by that.
func (b bundle) admits(t *testing.T, waiting []outbox.Row, want ...int) {
	t.Helper()
	admitted, err := b.AdmitWaiting(t.Context())
	if err != nil || len(admitted) != len(want) {
		t.Errorf("%d were admitted, want %d: %v", len(admitted), len(want), err)
	}
	for i, row := range waiting {
		expect := row.Version
		for _, w := range want {
			if w == i {
				expect++
			}
		}
		if now := b.load(t, row.ID); now.Version != expect || (now.Next().Kind == intent.Invoke) != (expect > row.Version) {
			t.Errorf("row %d has version %d, want %d: %+v", i, now.Version, expect, now.Next())
		}
	}
}

// waits inserts what has to wait for a budget.
func (b bundle) waits(t *testing.T, p outbox.Proposal) outbox.Row {
	t.Helper()
	row := b.insert(t, p)
	if step := row.Next(); step.Kind != intent.Wait || step.Reason != intent.ReasonAwaitsBudget {
		t.Fatalf("%s: %+v", p.RequestKey, step)
	}
	return row
}

func TestWhatABudgetLetsWaitIsNotCountedAndNotClaimedBeforeThereIsRoom(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, atOnce, "1")
	first := b.insert(t, propose("order-0", opaque()))
	waiting := []outbox.Row{b.waits(t, propose("order-1", opaque())), b.waits(t, propose("order-2", opaque()))}
	for range 2 { // a lost answer
		b.waits(t, propose("order-1", opaque()))
	}
	if c := b.claim(t, waiting[0]); c.Granted {
		t.Error("it was claimed")
	}
	b.uses(t, "1")
	b.admits(t, waiting)
	if done := ended(intent.Applied)(b, t, first); !done.Freed {
		t.Error("nobody is told that there is room")
	}
	b.admits(t, waiting, 0)
	b.uses(t, "1")
	ended(intent.Applied)(b, t, b.load(t, waiting[0].ID))
	b.admits(t, waiting[1:], 0)
}

func TestFirstComeFirstAdmittedAlsoWhereALaterOneWouldFit(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.allowWaiting(t, eurosADay, "100")
	b.insert(t, costing("order-0", "70"))
	waiting := []outbox.Row{b.waits(t, costing("order-1", "50")), b.waits(t, costing("order-2", "10"))}
	b.exceeds(t, costing("order-3", "100.01"), intent.CodeBudgetExceeded) // no wait would help it
	b.admits(t, waiting)
	b.setClock(t, noon.Add(12*time.Hour-time.Microsecond))
	b.admits(t, waiting)
	b.setClock(t, noon.Add(12*time.Hour))
	b.admits(t, waiting, 0, 1)
	b.uses(t, "60")
}

func TestWhoWaitsForOneBudgetDoesNotStandInTheWayOfAnother(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.allowWaiting(t, atOnce, "10")
	b.allowWaiting(t, outbox.BudgetSubject{Tenant: "acme", Tool: "payments.capture", Kind: outbox.BudgetIntents, Window: time.Hour}, "1")
	other := func(key string) outbox.Proposal {
		p := propose(key, opaque())
		p.Tool = "payments.refund"
		return p
	}
	b.insert(t, propose("order-0", opaque()))
	waiting := b.waits(t, propose("order-1", opaque()))
	for i := range 9 {
		b.insert(t, other(fmt.Sprintf("refund-%d", i)))
	}
	last := b.waits(t, other("refund-9"))
	b.setClock(t, noon.Add(time.Hour)) // the tool has room, the tenant has none
	b.admits(t, []outbox.Row{waiting, last})
	ended(intent.Applied)(b, t, b.load(t, propose("order-0", opaque()).ID()))
	b.admits(t, []outbox.Row{waiting, last}, 0) // it came first
}

func TestAWaitEndsWithTheBudgetOrTheIntent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(b bundle, t *testing.T, budget outbox.Budget, waiting []outbox.Row) []outbox.Row
		want   []int
	}{
		"raised": {func(b bundle, t *testing.T, _ outbox.Budget, w []outbox.Row) []outbox.Row {
			b.allowWaiting(t, eurosADay, "20")
			return w
		}, []int{0}},
		"removed": {func(b bundle, t *testing.T, budget outbox.Budget, w []outbox.Row) []outbox.Row {
			if _, err := b.RemoveBudget(t.Context(), budget.ID, eve); err != nil {
				t.Fatal(err)
			}
			return w
		}, []int{0, 1}},
		"lowered under what the first asks": {func(b bundle, t *testing.T, _ outbox.Budget, w []outbox.Row) []outbox.Row {
			b.allowWaiting(t, eurosADay, "9")
			b.setClock(t, noon.Add(12*time.Hour))
			return w
		}, []int{1}},
		"denies newcomers now": {func(b bundle, t *testing.T, _ outbox.Budget, w []outbox.Row) []outbox.Row {
			b.allow(t, eurosADay, "10")
			b.exceeds(t, costing("order-3", "1"), intent.CodeBudgetExceeded)
			b.setClock(t, noon.Add(12*time.Hour))
			return w
		}, []int{0}},
		"the first is cancelled": {func(b bundle, t *testing.T, _ outbox.Budget, w []outbox.Row) []outbox.Row {
			row, err := b.Cancel(t.Context(), w[0].ID, eve, seal)
			if err != nil || row.State != intent.Cancelled || !row.Freed {
				t.Errorf("%+v, %v", row, err)
			}
			b.setClock(t, noon.Add(12*time.Hour))
			return w[1:]
		}, []int{0}},
		"the first is refused": {func(b bundle, t *testing.T, _ outbox.Budget, w []outbox.Row) []outbox.Row {
			if row, err := b.Refuse(t.Context(), denial(w[0]), seal); err != nil || row.State != intent.Refused {
				t.Errorf("%+v, %v", row, err)
			}
			b.setClock(t, noon.Add(12*time.Hour))
			return w[1:]
		}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			budget := b.allowWaiting(t, eurosADay, "10")
			b.insert(t, costing("order-0", "10"))
			waiting := []outbox.Row{b.waits(t, costing("order-1", "10")), b.waits(t, costing("order-2", "1"))}
			b.admits(t, c.change(b, t, budget, waiting), c.want...)
		})
	}
}

func TestARefusingBudgetRefusesAlsoWhereAnotherLetsWait(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, atOnce, "0.5")
	b.allow(t, eurosADay, "10")
	b.exceeds(t, costing("order-1", "1"), intent.CodeBudgetExceeded) // asks for more than is ever allowed
	b.allowWaiting(t, atOnce, "1")
	b.insert(t, costing("order-1", "1"))
	b.exceeds(t, costing("order-2", "10"), intent.CodeBudgetExceeded)
	b.waits(t, costing("order-3", "1"))
}

func TestWhatWaitsForABudgetIsNoAlarm(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.allowWaiting(t, atOnce, "1")
	ended(intent.Unknown)(b, t, b.insert(t, propose("order-0", opaque()))) // in doubt, which nobody resolves
	row := b.waits(t, propose("order-1", opaque()))
	for at := noon; at.Before(noon.Add(30 * time.Minute)); at = at.Add(20 * time.Second) {
		b.setClock(t, at)
		taken, err := b.TakeStalled(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range taken {
			if st.Alarm || !st.Since.IsZero() {
				t.Errorf("at %s: %+v", at, st)
			}
		}
	}
	if stuck, err := b.Stuck(t.Context(), 1); err != nil || stuck.Count != 0 {
		t.Errorf("%+v, %v", stuck, err)
	}
	w, err := b.BudgetWaitOf(t.Context(), row.ID)
	if err != nil || w == nil || w.Asks != "1" || w.Ahead != 0 || !w.Since.Equal(noon) || w.Budget.Waiting != 1 || w.Budget.Used != "1" {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWhatMayHaveBeenSentInWhatWasLostIsCountedAlthoughItWaits(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, eurosADay, "10")
	b.insert(t, costing("order-0", "10"))
	row := b.waits(t, costing("order-1", "10"))
	if _, err := b.AfterRestore(t.Context(), outbox.Restore{SameTimeline: true}, eve); err != nil {
		t.Fatal(err)
	}
	if now := b.load(t, row.ID); now.State != intent.Invoking || !now.BudgetUntil.IsZero() {
		t.Errorf("%s, waits until %s", now.State, now.BudgetUntil)
	}
	b.uses(t, "20")
}

func TestAReissueWaitsWhereTheBudgetSaysSo(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, eurosADay, "10")
	failed := ended(intent.NotApplied)(b, t, b.insert(t, costing("order-1", "10")))
	taken := b.insert(t, costing("order-2", "10"))
	row, err := b.Reissue(t.Context(), failed.ID, eve, &outbox.Money{Amount: "10", Currency: "EUR"}, renewal)
	if err != nil || row.Generation != 2 || row.Next().Reason != intent.ReasonAwaitsBudget {
		t.Fatalf("%+v, %v", row, err)
	}
	if _, err := b.Cancel(t.Context(), taken.ID, eve, seal); err != nil {
		t.Fatal(err)
	}
	b.admits(t, []outbox.Row{row}, 0)
	ended(intent.NotApplied)(b, t, b.load(t, row.ID))
	b.uses(t, "0")
}

// The budget of what is open is never exceeded, everybody who waits is admitted in the end, and no
// wake-up is missed: there are no sweeps here but those that an end asks for.
func TestAllThatCompeteForFewPlacesAreAdmittedInTheEnd(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, atOnce, "3")
	b.allowWaiting(t, eurosADay, "1000")
	var done, most atomic.Int64
	var wake sync.Mutex
	finish := func(row outbox.Row) {
		open := query[int64](t, b, `SELECT used FROM budget_counters c JOIN budgets b ON b.id = c.budget_id WHERE b.kind = 'concurrency'`)
		for was := most.Load(); open > was && !most.CompareAndSwap(was, open); was = most.Load() {
		}
		if freed := ended(intent.Applied)(b, t, row).Freed; freed {
			wake.Lock()
			defer wake.Unlock()
			if _, err := b.AdmitWaiting(t.Context()); err != nil {
				t.Error(err)
			}
		}
		done.Add(1)
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 20 {
				row := b.insert(t, costing(fmt.Sprintf("order-%d-%d", worker, i), "1"))
				for deadline := time.Now().Add(time.Minute); row.Next().Kind == intent.Wait; {
					if time.Now().After(deadline) {
						t.Errorf("%s still waits", row.RequestKey)
						return
					}
					row = b.load(t, row.ID)
				}
				finish(row)
			}
		})
	}
	group.Wait()
	if done.Load() != 160 || most.Load() > 3 {
		t.Errorf("%d ended, at most %d were open", done.Load(), most.Load())
	}
}
