package writ_test

import (
	"context"
	"fmt"
	"log"

	"writ"
)

// Stop everything that would be sent to a provider, and let it go on afterwards.
func ExampleClient_SetHold() {
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

	ada := writ.Decider{Principal: "ada", Note: "the bank migrates until 14:00"}
	hold, inFlight, err := client.SetHold(ctx, writ.HoldRequest{Scope: writ.HoldProvider, Name: "bank"}, ada)
	if err != nil {
		log.Print(err)
		return
	}
	for _, f := range inFlight {
		fmt.Println(f.Tool, f.RequestKey, "may still be sent until", f.LeaseUntil)
	}

	// What waited for it goes on by itself.
	if _, err := client.LiftHold(ctx, hold.ID, writ.Decider{Principal: "ada", Note: "the bank is back"}); err != nil {
		log.Print(err)
	}
}
