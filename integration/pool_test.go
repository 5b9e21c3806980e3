package integration

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"writ"
	"writ/tools"
)

// A worker's pool has two connections, and ten of its calls are in flight all the while. The rest
// queue for the two: whoever waits for a connection is late, and nothing worse.
func TestCallsInFlightHoldNoConnectionAndAPoolThatIsEmptyFailsNothing(t *testing.T) {
	t.Parallel()
	const hanging, others = 10, 60
	w := newWorld(t)
	w.database += "&pool_max_conns=2"
	begun, release := make(chan struct{}, hanging), make(chan struct{})
	// Opaque ones are not called again when a busy machine makes their worker look lost.
	spec := tools.Spec{SideEffectful: true, Timeout: patience}
	slow, quick := spec, spec
	slow.Name, quick.Name = "slow.call", "quick.call"
	w.host(t,
		tools.New(slow, func(context.Context, tools.Invocation) (tools.Result, error) {
			begun <- struct{}{}
			<-release
			return tools.Result{}, nil
		}),
		tools.New(quick, func(context.Context, tools.Invocation) (tools.Result, error) { return tools.Result{}, nil }))
	client := w.dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	execute := func(all *sync.WaitGroup, tool string, count int) {
		for n := range count {
			all.Go(func() {
				got, err := client.Execute(ctx, writ.Request{Tool: tool, Payload: []byte(`{}`), RequestKey: fmt.Sprintf("%s-%d", tool, n), Tenant: w.name, Principal: "shop"})
				if err != nil || len(got.Intent.Attempts) != 1 {
					t.Errorf("%s %d ends with %v after the attempts %+v", tool, n, err, got.Intent.Attempts)
				}
			})
		}
	}
	var inFlight, passing sync.WaitGroup
	execute(&inFlight, slow.Name, hanging)
	for range hanging {
		select {
		case <-begun:
		case <-time.After(patience):
			t.Fatal("not all calls are in flight")
		}
	}
	execute(&passing, quick.Name, others)
	passing.Wait() // every slow one is still in flight
	close(release)
	inFlight.Wait()
}
