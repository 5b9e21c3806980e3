package outbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"writ/internal/pgtest"
	"writ/outbox"
)

// What budgets cost an intent that is admitted. The cases take turns, so that what else the machine
// does befalls all of them, and the medians and their ratios to the first are reported.
func BenchmarkAnAdmittedIntentUnderBudgetsBesideNone(b *testing.B) {
	url := pgtest.Schema(b)
	if err := outbox.Migrate(b.Context(), url); err != nil {
		b.Fatal(err)
	}
	pool, _ := pgtest.Pool(b, url)
	store := outbox.New(pool)
	money := outbox.BudgetSubject{Kind: outbox.BudgetMoney, Currency: "EUR", Window: 24 * time.Hour}
	intents := outbox.BudgetSubject{Kind: outbox.BudgetIntents, Window: time.Hour}
	open := outbox.BudgetSubject{Kind: outbox.BudgetConcurrency}
	cases := []struct {
		tenant  string
		over    outbox.BudgetOver
		budgets []outbox.BudgetSubject
	}{
		{"none", outbox.OverDeny, nil},
		{"money", outbox.OverDeny, []outbox.BudgetSubject{money}},
		{"money-waits", outbox.OverWait, []outbox.BudgetSubject{money}},
		{"three", outbox.OverDeny, []outbox.BudgetSubject{money, intents, open}},
	}
	for _, c := range cases {
		for _, on := range c.budgets {
			on.Tenant = c.tenant
			if _, err := store.SetBudget(b.Context(), on, "1000000000", c.over, eve); err != nil {
				b.Fatal(err)
			}
		}
	}
	took := make([][]time.Duration, len(cases))
	for n := 0; b.Loop(); n++ {
		for i, c := range cases {
			p := costing(fmt.Sprintf("order-%d", n), "1.00")
			p.Tenant = c.tenant
			began := time.Now()
			if err := life(b.Context(), store, p); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2].Microseconds())
	}
	for i, c := range cases {
		b.ReportMetric(median(i), c.tenant+"-µs")
		b.ReportMetric(median(i)/median(0), c.tenant+"-ratio")
	}
}
