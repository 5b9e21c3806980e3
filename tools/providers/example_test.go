package providers_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"writ/tools"
	"writ/tools/providers"
)

// A tool takes its provider's contract into its spec, and may say more than the documentation.
func ExampleProfile_Contract() {
	contract := providers.Square.Contract()
	fmt.Println("documented:", contract.Remembers)

	contract.Remembers = tools.Window(24 * time.Hour) // by contract with the provider
	charge := tools.New(tools.Spec{
		Name: "square.charge", SideEffectful: true, Idempotent: true,
		Provider: providers.Square.Provider, Key: contract,
	}, func(context.Context, tools.Invocation) (tools.Result, error) { return tools.Result{}, nil })

	registry, err := tools.NewRegistry(charge)
	if err != nil {
		log.Fatal(err)
	}
	for _, registered := range registry.All() {
		behaviour := registered.Spec.Publish().Behaviour
		fmt.Println(behaviour.Name, "may be sent again for", behaviour.KeyWindow)
	}
	// Output:
	// documented: unknown
	// square.charge may be sent again for 24h0m0s
}
