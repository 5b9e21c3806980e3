package writ_test

import (
	"context"
	"fmt"
	"log"

	"writ"
)

// Record that Ada consents to advertising, and that contact data may go to the mailer for it.
func ExampleClient_GrantConsent() {
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

	by := writ.Decider{Principal: "grace", Note: "signed on 2 March"}
	consent, err := client.GrantConsent(ctx, writ.ConsentSubject{Tenant: "acme", Person: "ada", Purpose: "marketing"}, by)
	if err != nil {
		log.Print(err)
		return
	}
	rule, err := client.AllowEgress(ctx, writ.EgressSubject{Tenant: "acme", DataClass: "contact", Provider: "mailer"}, by)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(consent.Granted, rule.Verdict)
}
