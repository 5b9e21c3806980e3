package outbox_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// eurosADay counts the money of acme's intents.
var eurosADay = outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetMoney, Currency: "EUR", Window: 24 * time.Hour}

func (b bundle) allow(t *testing.T, on outbox.BudgetSubject, allowed string) outbox.Budget {
	t.Helper()
	return b.setBudget(t, on, allowed, outbox.OverDeny)
}

func (b bundle) setBudget(t *testing.T, on outbox.BudgetSubject, allowed string, over outbox.BudgetOver) outbox.Budget {
	t.Helper()
	set, err := b.SetBudget(t.Context(), on, allowed, over, eve)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// uses fails unless so much is used of the only budget.
func (b bundle) uses(t *testing.T, want string) {
	t.Helper()
	list, err := b.Budgets(t.Context(), "acme", true)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if list[0].Used != want {
		t.Errorf("%s are used, want %s", list[0].Used, want)
	}
}

// costing is a proposal that costs so many euros.
func costing(key, amount string) outbox.Proposal {
	p := propose(key, opaque())
	p.Money = &outbox.Money{Amount: amount, Currency: "EUR"}
	return p
}

func (b bundle) exceeds(t *testing.T, p outbox.Proposal, code intent.Code) error {
	t.Helper()
	_, err := b.Insert(t.Context(), p)
	if intent.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", p.RequestKey, err, code)
	}
	if _, err := b.Load(t.Context(), p.ID()); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("%s has a row: %v", p.RequestKey, err)
	}
	return err
}

func TestMoneyIsCountedExactlyUpToWhatIsAllowedAndAnewInTheNextWindow(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	budget := b.allow(t, eurosADay, "100.00")
	for i := range 3 {
		b.insert(t, costing(fmt.Sprintf("order-%d", i), "33.33"))
	}
	err := b.exceeds(t, costing("order-3", "0.02"), intent.CodeBudgetExceeded)
	for _, want := range []string{budget.ID.String(), "100.00 EUR in 24h0m0s of tenant acme", "0.01 EUR left", "asks for 0.02 EUR", "2026-03-02T00:00:00Z"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	b.insert(t, costing("order-4", "0.01"))
	b.uses(t, "100.00")
	b.setClock(t, noon.Add(12*time.Hour-time.Microsecond))
	b.exceeds(t, costing("order-5", "0.01"), intent.CodeBudgetExceeded)
	b.setClock(t, noon.Add(12*time.Hour))
	b.insert(t, costing("order-6", "100"))
	b.uses(t, "100")
}

func TestWhatIsInsertedTwiceIsCountedOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allow(t, eurosADay, "10")
	for range 3 {
		b.insert(t, costing("order-1", "10"))
	}
	b.uses(t, "10")
}

func TestABudgetIsReleasedOnlyOnProofThatNothingHappened(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(b bundle, t *testing.T, row outbox.Row) outbox.Row
		used string
	}{
		"open":      {func(_ bundle, _ *testing.T, row outbox.Row) outbox.Row { return row }, "10"},
		"completed": {ended(intent.Applied), "10"},
		"in doubt":  {ended(intent.Unknown), "10"},
		"failed":    {ended(intent.NotApplied), "0"},
		"refused": {func(b bundle, t *testing.T, row outbox.Row) outbox.Row {
			row, err := b.Refuse(t.Context(), denial(row), seal)
			if err != nil {
				t.Error(err)
			}
			return row
		}, "0"},
		"cancelled": {func(b bundle, t *testing.T, row outbox.Row) outbox.Row {
			row, err := b.Cancel(t.Context(), row.ID, eve, seal)
			if err != nil {
				t.Error(err)
			}
			return row
		}, "0"},
		"resolved as not applied": {func(b bundle, t *testing.T, row outbox.Row) outbox.Row {
			row, err := b.Resolve(t.Context(), ended(intent.Unknown)(b, t, row).ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, eve, seal)
			if err != nil {
				t.Error(err)
			}
			return row
		}, "0"},
		"resolved as applied": {func(b bundle, t *testing.T, row outbox.Row) outbox.Row {
			row, err := b.Resolve(t.Context(), ended(intent.Unknown)(b, t, row).ID, outbox.Resolution{Kind: intent.ResolveApplied}, eve, seal)
			if err != nil {
				t.Error(err)
			}
			return row
		}, "10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.allow(t, eurosADay, "10")
			c.end(b, t, b.insert(t, costing("order-1", "10")))
			b.uses(t, c.used)
		})
	}
}

func ended(outcome intent.Outcome) func(b bundle, t *testing.T, row outbox.Row) outbox.Row {
	return func(b bundle, t *testing.T, row outbox.Row) outbox.Row {
		t.Helper()
		c := b.granted(t, row)
		ev := of(c, outcome, "")
		ev.Final = outcome == intent.NotApplied
		return b.journal(t, c.Row, &ev)
	}
}

func TestLateEvidenceOfAnEffectCountsAgainWhateverIsLeft(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allow(t, eurosADay, "10")
	row := b.insert(t, costing("order-1", "10"))
	c := b.granted(t, row)
	unknown := of(c, intent.Unknown, "")
	parked := b.journal(t, c.Row, &unknown)
	if _, err := b.Resolve(t.Context(), parked.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, eve, seal); err != nil {
		t.Fatal(err)
	}
	b.insert(t, costing("order-2", "10")) // takes what was released
	late := of(c, intent.Applied, "")
	if after := b.evidence(t, parked, late); after.Alert != intent.ReasonAppliedAfterAll {
		t.Errorf("alert %q", after.Alert)
	}
	b.uses(t, "20")
	b.exceeds(t, costing("order-3", "1"), intent.CodeBudgetExceeded)
}

func TestAReissueIsCountedAgainAndRefusedWhereThereIsNoRoom(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allow(t, eurosADay, "10")
	failed := ended(intent.NotApplied)(b, t, b.insert(t, costing("order-1", "10")))
	taken := b.insert(t, costing("order-2", "10"))
	money := &outbox.Money{Amount: "10", Currency: "EUR"}
	if _, err := b.Reissue(t.Context(), failed.ID, eve, money, renewal); intent.CodeOf(err) != intent.CodeBudgetExceeded {
		t.Errorf("%v", err)
	}
	if row := b.load(t, failed.ID); row.State != intent.Failed || row.Generation != 1 || row.Version != failed.Version {
		t.Errorf("it became %+v", row)
	}
	if _, err := b.Cancel(t.Context(), taken.ID, eve, seal); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the answer may be lost
		if row, err := b.Reissue(t.Context(), failed.ID, eve, money, renewal); err != nil || row.Generation != 2 {
			t.Errorf("%+v, %v", row, err)
		}
	}
	b.uses(t, "10")
}

func TestConcurrencyCountsWhatIsOpenAndIntentsThoseOfTheirWindow(t *testing.T) {
	t.Parallel()
	for kind, free := range map[outbox.BudgetKind]bool{outbox.BudgetConcurrency: true, outbox.BudgetIntents: false} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			on := outbox.BudgetSubject{Tenant: "acme", Kind: kind}
			if kind == outbox.BudgetIntents {
				on.Window = 24 * time.Hour
			}
			b.setClock(t, noon)
			b.allow(t, on, "1")
			row := b.insert(t, propose("order-1", opaque()))
			b.exceeds(t, propose("order-2", opaque()), intent.CodeBudgetExceeded)
			ended(intent.Applied)(b, t, row)
			if free {
				b.insert(t, propose("order-2", opaque()))
			} else {
				b.exceeds(t, propose("order-2", opaque()), intent.CodeBudgetExceeded)
			}
		})
	}
}

func TestWhatAMoneyBudgetCannotCountIsNotLetThrough(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allow(t, eurosADay, "10")
	unnamed := propose("unnamed", opaque())
	b.insert(t, unnamed) // a tool that costs nothing

	unread, dollars := costing("unread", "-1"), costing("dollars", "1")
	unread.Money.Problem, dollars.Money.Currency = "the amount is negative", "USD"
	b.exceeds(t, unread, intent.CodeBudgetUncountable)
	b.exceeds(t, dollars, intent.CodeBudgetUncountable)
	inDollars := eurosADay
	inDollars.Currency = "USD"
	b.allow(t, inDollars, "10")
	b.insert(t, dollars)

	ofTool := eurosADay
	ofTool.Tool = unnamed.Tool
	b.allow(t, ofTool, "10")
	another := propose("another", opaque())
	b.exceeds(t, another, intent.CodeBudgetUncountable)
}

func TestOnlyTheIntentsOfItsTenantRequesterAndToolAreCounted(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, on := range []outbox.BudgetSubject{
		{Tenant: "globex"}, {Tenant: "acme", Requester: "till-8"}, {Tenant: "acme", Tool: "payments.refund"}, {Tenant: "acme", Requester: "till-7", Tool: "payments.refund"},
	} {
		on.Kind, on.Window = outbox.BudgetIntents, time.Hour
		b.allow(t, on, "0")
	}
	b.insert(t, propose("order-1", opaque()))
	b.allow(t, outbox.BudgetSubject{Tenant: "acme", Requester: "till-7", Tool: "payments.capture", Kind: outbox.BudgetIntents, Window: time.Hour}, "0")
	b.exceeds(t, propose("order-2", opaque()), intent.CodeBudgetExceeded)
}

func TestARefusalByOneBudgetLeavesTheOthersAsTheyWere(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allow(t, eurosADay, "10")
	b.allow(t, outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetConcurrency}, "0")
	b.exceeds(t, costing("order-1", "1"), intent.CodeBudgetExceeded)
	list, err := b.Budgets(t.Context(), "", false)
	if err != nil || len(list) != 2 || list[0].Used != "0" || list[1].Used != "0" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAChangedBudgetKeepsItsCountAndItsHistory(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.allow(t, eurosADay, "10")
	b.insert(t, costing("order-1", "10"))
	raised := b.allow(t, eurosADay, "11.5")
	if raised.ID != first.ID || raised.Used != "10" || raised.Left != "1.5" {
		t.Errorf("%+v", raised)
	}
	if removed, err := b.RemoveBudget(t.Context(), first.ID, statement); err != nil || removed.Allowed != "" || removed.Principal != "eve" {
		t.Errorf("%+v, %v", removed, err)
	}
	b.insert(t, costing("order-2", "1000"))
	if _, err := b.RemoveBudget(t.Context(), first.ID, eve); intent.CodeOf(err) != intent.CodeBudgetNotFound {
		t.Errorf("removed twice: %v", err)
	}
	if list, err := b.Budgets(t.Context(), "acme", false); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	changes, err := b.BudgetChanges(t.Context(), first.ID)
	if err != nil || len(changes) != 3 || changes[0].Allowed != "10" || changes[1].Allowed != "11.5" || changes[2].Allowed != "" || changes[2].Note != statement.Note {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestOfFourHundredThatCompeteExactlyAHundredAreAdmittedWithoutADeadlock(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allow(t, eurosADay, "100.00")
	b.allow(t, outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetConcurrency}, "1000")
	var admitted, refused atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for worker := range 8 {
		group.Go(func() {
			for i := range 50 {
				row, err := b.Insert(t.Context(), costing(fmt.Sprintf("order-%d-%d", worker, i), "1.00"))
				switch {
				case intent.CodeOf(err) == intent.CodeBudgetExceeded:
					refused.Add(1)
				case err != nil:
					t.Error(err)
				default:
					admitted.Add(1)
					if i%2 == 0 { // ends release one counter and keep the other meanwhile
						ended(intent.Applied)(b, t, row)
					}
				}
			}
		})
	}
	group.Wait()
	t.Logf("400 intents in %s", time.Since(began))
	if admitted.Load() != 100 || refused.Load() != 300 {
		t.Errorf("%d were admitted and %d refused", admitted.Load(), refused.Load())
	}
}
