package outbox_test

import (
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

func (b bundle) audit(t *testing.T) outbox.BudgetAudit {
	t.Helper()
	i, err := b.Inspector(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Close(t.Context()) }()
	audit, err := i.Budgets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return audit
}

func TestAnAuditFindsBudgetsThatAreUsedUpAndCountersThatWereChanged(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	if a := b.audit(t); a.Standing != 0 || a.Waiting != 0 || len(a.Low)+len(a.Wrong) != 0 {
		t.Errorf("without budgets: %+v", a)
	}
	money, open := b.allow(t, eurosADay, "10"), b.allowWaiting(t, atOnce, "1")
	row := b.insert(t, costing("order-1", "9"))
	b.waits(t, costing("order-2", "1"))
	if a := b.audit(t); a.Standing != 2 || a.Waiting != 1 || !a.Since.Equal(noon) || len(a.Low) != 1 || a.Low[0] != open.ID || len(a.Wrong) != 0 {
		t.Errorf("with nine of ten: %+v", a)
	}
	ended(intent.Applied)(b, t, row)
	b.admits(t, []outbox.Row{b.load(t, costing("order-2", "1").ID())}, 0)
	if a := b.audit(t); len(a.Low) != 2 || len(a.Wrong) != 0 {
		t.Errorf("used up: %+v", a)
	}
	b.setClock(t, noon.Add(24*time.Hour)) // the counter still is yesterday's
	if a := b.audit(t); len(a.Low) != 1 || len(a.Wrong) != 0 {
		t.Errorf("the next day: %+v", a)
	}
	b.exec(t, `UPDATE budget_counters SET used = used - 1 WHERE budget_id = $1`, money.ID)
	if a := b.audit(t); len(a.Wrong) != 1 || a.Wrong[0] != (outbox.WrongBudget{ID: money.ID, Counter: "9", Charged: "10"}) {
		t.Errorf("changed by hand: %+v", a)
	}
}
