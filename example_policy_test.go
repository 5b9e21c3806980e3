package writ_test

import (
	"context"
	"fmt"
	"log"

	"writ"
)

// Put policies in force for all workers that have WorkerConfig.StoredPolicies.
func ExampleClient_PutPolicies() {
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

	change, err := client.PutPolicies(ctx, map[string]string{"refunds.cedar": `
		@id("support-refunds")
		permit (principal in Role::"support", action == Action::"tool.execute", resource == Tool::"payments.refund");
	`}, writ.Decider{Principal: "ada", Note: "as the audit asked"})
	if err != nil {
		log.Print(err) // names file and line of what does not fit the published tools
		return
	}
	fmt.Println(change.Digest, "is in force since", change.ChangedAt)
}
