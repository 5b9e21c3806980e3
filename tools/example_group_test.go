package tools_test

import (
	"context"
	"errors"
	"fmt"

	"writ/intent"
	"writ/tools"
)

// A tool that asks two services at once. A panic in one of them is an outcome that is not
// known, and the worker goes on.
func ExampleNewGroup() {
	publish := func(ctx context.Context) error {
		g, _ := tools.NewGroup(ctx)
		g.Go(func(context.Context) error {
			return tools.NotApplied(errors.New("the mirror refused")).WithCode("read_only")
		})
		g.Go(func(context.Context) error {
			var mirrors []string
			_ = mirrors[0]
			return nil
		})
		return g.Wait()
	}
	failure := tools.Classify(intent.Keyed, publish(context.Background()))
	fmt.Println(failure.Outcome, failure.Code)
	// Output: unknown panic
}
