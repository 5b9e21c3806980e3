package writ_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"writ"
)

// Let a tenant refund no more than 100 euros a day.
func ExampleClient_SetBudget() {
	ctx := context.Background()
	cfg, err := writ.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	client, err := writ.Dial(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	budget, err := client.SetBudget(ctx, writ.BudgetRequest{
		Tenant: "acme", Tool: "payments.refund", Kind: writ.BudgetMoney, Allowed: "100.00", Currency: "EUR", Window: 24 * time.Hour,
	}, writ.Decider{Principal: "ada", Note: "until the audit"})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(budget.Left, "left until", budget.EndsAt)
}
