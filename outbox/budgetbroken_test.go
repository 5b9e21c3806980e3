package outbox_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

var hourly = outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetIntents, Window: time.Hour}

func (b bundle) audited(t *testing.T) outbox.BudgetAudit {
	t.Helper()
	i, err := b.Inspector(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	audit, err := i.Budgets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return audit
}

// To PostgreSQL NaN is more than any number: everything would have room.
func TestUnderABudgetThatWasChangedByHandNothingIsLetThroughUntilItIsMended(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"what is allowed is no number":   `UPDATE budgets SET allowed = 'NaN' WHERE tenant = 'acme'`,
		"there is no end to it":          `UPDATE budgets SET allowed = 'Infinity' WHERE tenant = 'acme'`,
		"what is used is no number":      `UPDATE budget_counters SET used = 'NaN' WHERE budget_id = (SELECT id FROM budgets WHERE tenant = 'acme')`,
		"it is used without end":         `UPDATE budget_counters SET used = 'Infinity' WHERE budget_id = (SELECT id FROM budgets WHERE tenant = 'acme')`,
		"its window began at no time":    `UPDATE budget_counters SET begun = 'infinity' WHERE budget_id = (SELECT id FROM budgets WHERE tenant = 'acme')`,
		"it has no counter":              `DELETE FROM budget_counters WHERE budget_id = (SELECT id FROM budgets WHERE tenant = 'acme')`,
		"its window is a month":          `UPDATE budgets SET span = '1 month' WHERE tenant = 'acme'`,
		"its window is longer than time": `UPDATE budgets SET span = '2000000000 hours' WHERE tenant = 'acme'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			broken, err := b.SetBudget(t.Context(), hourly, "2", outbox.OverWait, eve)
			if err != nil {
				t.Fatal(err)
			}
			other := hourly
			other.Tenant = "globex"
			if _, err := b.SetBudget(t.Context(), other, "1", outbox.OverWait, eve); err != nil {
				t.Fatal(err)
			}
			of := func(tenant, key string) outbox.Proposal {
				p := propose(key, keyed())
				p.Tenant = tenant
				return p
			}
			counted := b.insert(t, of("acme", "a"))
			b.insert(t, of("acme", "b"))
			waits := b.insert(t, of("acme", "c"))
			b.exec(t, statement)

			if _, err := b.Insert(t.Context(), of("acme", "d").Bound()); intent.CodeOf(err) != intent.CodeBudgetUncountable || !strings.Contains(err.Error(), broken.ID.String()) {
				t.Errorf("another one: %v", err)
			}
			if list, err := b.AdmitWaiting(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("%d that waited are counted: %v", len(list), err)
			}
			if row := b.insert(t, of("globex", "a")); !row.BudgetUntil.IsZero() {
				t.Error("another tenant's waits")
			}
			b.insert(t, of("globex", "b"))
			list, err := b.Budgets(t.Context(), "", false)
			if err != nil || len(list) != 2 || !list[0].Broken || list[1].Broken {
				t.Errorf("listed: %+v, %v", list, err)
			}
			if audit := b.audited(t); !slices.Contains(audit.Broken, broken.ID) || len(audit.Broken) != 1 || audit.Standing != 2 {
				t.Errorf("audited: %+v", audit)
			}
			if _, err := b.Cancel(t.Context(), counted.ID, eve, seal); err != nil {
				t.Errorf("an intent under it does not end: %v", err)
			}

			if strings.Contains(statement, "span") {
				if _, err := b.RemoveBudget(t.Context(), broken.ID, eve); err != nil {
					t.Fatal(err)
				}
			} else if _, err := b.SetBudget(t.Context(), hourly, "2", outbox.OverWait, eve); err != nil {
				t.Fatal(err)
			}
			if list, err := b.AdmitWaiting(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("mended: %d are counted: %v", len(list), err)
			}
			if row, err := b.Load(t.Context(), waits.ID); err != nil || !row.BudgetUntil.IsZero() {
				t.Errorf("it still waits: %v", err)
			}
			if audit := b.audited(t); len(audit.Broken) != 0 || len(audit.Wrong) != 0 {
				t.Errorf("mended: %+v", audit)
			}
		})
	}
}

func TestARowOfTheLineThatWasChangedByHandKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"an amount that is no object": `UPDATE budget_waits SET money = '"x"' WHERE intent_id = $1`,
		"an amount that is null":      `UPDATE budget_waits SET money = 'null' WHERE intent_id = $1`,
		"an amount that is no number": `UPDATE budget_waits SET money = '{"amount":"NaN","currency":"EUR"}' WHERE intent_id = $1`,
		"a budget that there is not":  `UPDATE budget_waits SET budget_id = gen_random_uuid() WHERE intent_id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			if _, err := b.SetBudget(t.Context(), hourly, "1", outbox.OverWait, eve); err != nil {
				t.Fatal(err)
			}
			b.insert(t, propose("a", keyed()))
			first, second := b.insert(t, propose("b", keyed())), b.insert(t, propose("c", keyed()))
			b.exec(t, statement, first.ID[:])
			if list, err := b.AdmitWaiting(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("without room %d are counted: %v", len(list), err)
			}
			if _, err := b.SetBudget(t.Context(), hourly, "3", outbox.OverWait, eve); err != nil {
				t.Fatal(err)
			}
			if list, err := b.AdmitWaiting(t.Context()); err != nil || len(list) != 2 {
				t.Errorf("%d are counted: %v", len(list), err)
			}
			for _, row := range []outbox.Row{first, second} {
				if row, err := b.Load(t.Context(), row.ID); err != nil || !row.BudgetUntil.IsZero() {
					t.Errorf("%s still waits: %v", row.RequestKey, err)
				}
			}
			if audit := b.audited(t); len(audit.Wrong) != 0 || audit.Waiting != 0 {
				t.Errorf("%+v", audit)
			}
		})
	}
}

// What a budget of money cannot count is not let through, also where it could be counted when it came.
func TestAnAmountThatWasChangedByHandWaitsForTheBudgetThatCannotCountIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	line := hourly
	line.Kind, line.Currency = outbox.BudgetMoney, "EUR"
	set, err := b.SetBudget(t.Context(), line, "10", outbox.OverWait, eve)
	if err != nil {
		t.Fatal(err)
	}
	costs := func(key string) outbox.Proposal {
		p := propose(key, keyed())
		p.Money = &outbox.Money{Amount: "10", Currency: "EUR"}
		return p
	}
	b.insert(t, costs("a"))
	waits, behind := b.insert(t, costs("b")), b.insert(t, costs("c"))
	b.exec(t, `UPDATE budget_waits SET money = '{"amount":"-5","currency":"EUR"}' WHERE intent_id = $1`, waits.ID[:])
	if _, err := b.SetBudget(t.Context(), line, "100", outbox.OverWait, eve); err != nil {
		t.Fatal(err)
	}
	if list, err := b.AdmitWaiting(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%d are counted: %v", len(list), err)
	}
	if row, err := b.Load(t.Context(), behind.ID); err != nil || !row.BudgetUntil.IsZero() {
		t.Errorf("who stood behind it waits: %v", err)
	}
	if w, err := b.BudgetWaitOf(t.Context(), waits.ID); err != nil || w == nil || w.Budget.ID != set.ID || w.Asks != "" {
		t.Errorf("%+v, %v", w, err)
	}
}
