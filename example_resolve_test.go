package writ_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"writ"
	"writ/intent"
)

// Resolve what is in doubt by the provider's own books, here a statement by idempotency key.
func ExampleClient_Resolve() {
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

	statement := map[intent.IdempotencyKey]string{"0b0f5c2e-8f0e-8d11-9c3c-0242ac120002": "cap_1"}
	inbox, err := client.Doubt(ctx, writ.DoubtFilter{Tool: "payments.capture"})
	if err != nil {
		log.Print(err)
		return
	}
	for _, d := range inbox.Doubts {
		r := writ.Resolution{As: writ.ResolveNotApplied}
		if id, ok := statement[d.Intent.IdempotencyKey]; ok {
			r = writ.Resolution{As: writ.ResolveApplied, Result: json.RawMessage(fmt.Sprintf(`{"id":%q}`, id))}
		}
		v, err := client.Resolve(ctx, d.Intent.ID, r, writ.Decider{Principal: "ada", Note: "statement of 2 March"})
		var refused *writ.Error
		if errors.As(err, &refused) && refused.Code == intent.CodeNotInDoubt {
			continue // evidence or somebody else was first; the message says who
		}
		if err != nil {
			log.Print(err)
			continue
		}
		fmt.Println(v.ID, "is", v.State)
	}
}
