package writ_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"writ"
	"writ/intent"
)

// Find what waits for somebody to look: everything of the last day that is in doubt.
func ExampleClient_List() {
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

	filter := writ.ListFilter{
		States: []intent.State{intent.InDoubt},
		Since:  writ.ListBound{Ago: 24 * time.Hour},
		Limit:  100,
	}
	for {
		page, err := client.List(ctx, filter)
		if err != nil {
			log.Print(err)
			return
		}
		for _, v := range page.Intents {
			fmt.Println(v.ID, v.Tool, v.RequestKey, v.CreatedAt.Format(time.RFC3339))
		}
		if page.Next == "" {
			return
		}
		filter.After = page.Next // the same filter, behind the last intent of this page
	}
}

// Follow an intent that somebody else asked for, and say what becomes of it.
func ExampleClient_Watch() {
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

	id := intent.IntentID("default", "order-4711") // what Submit returned, or the tenant and the request key give
	done, err := client.Watch(ctx, id, func(v writ.Intent) error {
		fmt.Println(v.State, v.Next.Kind, v.Next.Reason)
		return nil
	})
	if err != nil {
		log.Printf("not completed, or not known yet: %v", err)
		return
	}
	fmt.Printf("completed; the receipt: %s\n", done.Receipt)
}
