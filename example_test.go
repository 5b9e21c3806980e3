package writ_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"writ"
	"writ/intent"
	"writ/tools"
	"writ/tools/effecthttp"
)

// Capture a payment and wait for the end. The request key is the caller's own name for
// the action: asking again with it, after whatever went wrong, captures nothing twice.
func ExampleClient_Execute() {
	cfg, err := writ.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	client, err := writ.Dial(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	execution, err := client.Execute(ctx, writ.Request{
		Tool:       "payments.capture",
		RequestKey: "capture-order-4711",
		Principal:  "till-7",
		Payload:    []byte(`{"payment_id":"pay_1","amount":"12.90","currency":"EUR"}`),
	})
	if err == nil {
		fmt.Printf("captured; the receipt: %s\n", execution.Receipt)
		return
	}
	var failed *writ.Error
	if !errors.As(err, &failed) {
		log.Print(err) // says nothing of the effect: take it as unknown
		return
	}
	switch failed.Effect {
	case intent.Applied:
		log.Printf("captured, but the answer is not at hand: %v", failed)
	case intent.NotApplied:
		log.Printf("not captured, and that is certain: %v", failed)
	case intent.Unknown:
		log.Printf("intent %s may have captured; ask again with the same key (helps: %v): %v", execution.Intent.ID, failed.TryAgain, failed)
	}
}

// Hand a payment over and look at it later. The intent goes on also if this process ends
// as soon as Submit has returned.
func ExampleClient_Submit() {
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

	// Whoever has no name of their own for the action keeps a minted one before asking.
	key, err := writ.NewRequestKey()
	if err != nil {
		log.Print(err)
		return
	}
	log.Printf("request key %s", key)
	accepted, err := client.Submit(ctx, writ.Request{
		Tool:       "payments.refund",
		RequestKey: string(key),
		Principal:  "till-7",
		Payload:    []byte(`{"payment_id":"pay_1","amount":"12.90"}`),
	})
	var failed *writ.Error
	switch {
	case errors.As(err, &failed) && failed.Effect == intent.NotApplied && !failed.TryAgain:
		log.Printf("refused, and nothing was refunded: %v", failed)
		return
	case err != nil:
		log.Printf("the same key again is safe: %v", err)
		return
	}

	later, err := client.Get(ctx, accepted.ID)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(later.State, later.Next.Kind, later.Next.Reason)
}

// Host a tool until the process is told to stop.
func ExampleNewWorker() {
	cfg, err := writ.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	provider, err := effecthttp.New(effecthttp.Config{
		BaseURL: "https://api.example.com/v2",
		Header:  http.Header{"Authorization": {"Bearer " + os.Getenv("PROVIDER_TOKEN")}},
	})
	if err != nil {
		log.Fatal(err)
	}
	capture := tools.New(tools.Spec{
		Name:          "payments.capture",
		SideEffectful: true,
		Idempotent:    true,
		Key:           tools.KeyContract{Remembers: tools.Window(24 * time.Hour)},
	}, func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
		answer, err := provider.Do(ctx, inv, effecthttp.Request{Path: "/captures", Body: inv.Payload()})
		if err != nil {
			return tools.Result{}, err // says what is known of the effect
		}
		return answer.Result()
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	worker, err := writ.NewWorker(ctx, writ.WorkerConfig{Config: cfg, TaskQueue: "payments"}, capture)
	if err != nil {
		log.Print(err)
		return
	}
	err = worker.Run(ctx)
	var failed *writ.Error
	switch {
	case errors.As(err, &failed) && failed.TryAgain:
		log.Printf("start the worker again (effect: %s): %v", failed.Effect, failed)
	case err != nil:
		log.Print(err)
	}
}
