package writ_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"writ"
	"writ/intent"
)

// Confirm what waits for a person, in the name of somebody who did not ask for it.
func ExampleClient_Confirm() {
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

	waiting, err := client.List(ctx, writ.ListFilter{States: []intent.State{intent.AwaitingConfirmation}})
	if err != nil {
		log.Print(err)
		return
	}
	for _, v := range waiting.Intents {
		fmt.Println(v.ID, v.Tool, "may repeat", v.SuspectedDuplicateOf)
		_, err := client.Confirm(ctx, v.ID, writ.Decider{Principal: "ada", Note: "two deliveries, asked the shop"})
		var refused *writ.Error
		if errors.As(err, &refused) && refused.Code == intent.CodeNotAwaiting {
			continue // somebody else was first; the message says who
		}
		if err != nil {
			log.Print(err)
		}
	}
}
