package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/tools/sample"
)

var operator = writ.Decider{Principal: "operator", Note: "the provider migrates"}

// holdProvider sets a hold on the sandbox provider.
func holdProvider(t testing.TB, c *writ.Client) (writ.Hold, []writ.Flight) {
	t.Helper()
	hold, flights, err := c.SetHold(t.Context(), writ.HoldRequest{Scope: writ.HoldProvider, Name: sample.Provider}, operator)
	if err != nil {
		t.Fatal(err)
	}
	return hold, flights
}

// holdsAre waits until the list of holds is as wanted.
func holdsAre(t testing.TB, c *writ.Client, all bool, what string, wanted func([]writ.Hold) bool) {
	t.Helper()
	eventually(t, what, func(ctx context.Context) error {
		list, err := c.Holds(ctx, all)
		if err == nil && !wanted(list) {
			err = fmt.Errorf("the holds are %+v", list)
		}
		return err
	})
}

// awaitHeld returns when the intent waits for the hold, in a workflow that has seen it.
func (w *world) awaitHeld(t testing.TB, key string, hold writ.Hold) {
	t.Helper()
	w.awaitKey(t, key, "it waits for the hold", func(got writ.Intent) error {
		if got.Next.Reason != intent.ReasonHeld || len(got.Holds) != 1 || got.Holds[0].ID != hold.ID {
			return fmt.Errorf("next %+v, holds %+v", got.Next, got.Holds)
		}
		return nil
	})
}

func TestWhatIsHeldIsNotSentAndGoesOnByItselfOnceEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.dial(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 2})
	w.startWorker(t)
	callers := map[string]*process{"in backoff": w.ask(t, capture, "in backoff")}
	w.provider.await(t, sandbox.StateReceived, 1)

	hold, _ := holdProvider(t, c)
	for i := range 4 {
		key := fmt.Sprintf("order-%d", i)
		callers[key] = w.ask(t, capture, key)
	}
	callers["a message"] = w.ask(t, notify, "a message")
	for key := range callers {
		w.awaitHeld(t, key, hold)
	}
	w.ask(t, echo, "of no provider").outcome(t).completed(t)
	if sent := w.provider.posted(t); sent != 1 {
		t.Errorf("%d requests were sent, all but the first under the hold", sent)
	}

	lifted := time.Now()
	w.writ(t, "hold", "lift", "--provider", sample.Provider).succeeds(t)
	for _, caller := range callers {
		caller.outcome(t).completed(t)
	}
	if took := time.Since(lifted); took > 45*time.Second {
		t.Errorf("they went on after %s, when their own wait was over", took)
	}
	keys := map[string]bool{}
	for _, effect := range w.provider.effects(t, len(callers)) {
		if effect.Key != "" {
			keys[effect.Key] = true
		}
	}
	if len(keys) != len(callers)-1 { // the message has none
		t.Errorf("the effects have the keys %v", keys)
	}
}

func TestAfterAHoldIsSetOnlyWhatItListsIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.dial(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangBeforeAct})
	w.startWorker(t)
	hanging := w.ask(t, notify, "in flight")
	w.provider.await(t, sandbox.StateHanging, 1)

	var submitting sync.WaitGroup
	submit := func(key string) {
		request := writ.Request{Tool: capture.tool, Payload: json.RawMessage(capture.payload), RequestKey: key, Principal: "shop", Tenant: w.name}
		if _, err := c.Submit(t.Context(), request); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	const racing = 20
	for i := range racing {
		submitting.Go(func() { submit(fmt.Sprintf("order-%d", i)) })
	}
	w.provider.await(t, sandbox.StateReceived, 3) // some are sent while the hold is set
	hold, flights := holdProvider(t, c)
	set := time.Now()
	submitting.Go(func() { submit("too late") })
	submitting.Wait()

	// Every intent has seen the hold, or is past it.
	for i := range racing {
		w.awaitKey(t, fmt.Sprintf("order-%d", i), "it is done or held", func(got writ.Intent) error {
			if got.State != intent.Completed && got.Next.Reason != intent.ReasonHeld {
				return fmt.Errorf("%s, next %+v", got.State, got.Next)
			}
			return nil
		})
	}
	w.awaitHeld(t, "too late", hold)
	listed := map[string]bool{}
	for _, f := range flights {
		listed[string(intent.DeriveKey(f.Tenant, f.Tool, f.RequestKey, 1))] = true
	}
	if !slices.ContainsFunc(flights, func(f writ.Flight) bool { return f.RequestKey == "in flight" }) {
		t.Errorf("what the provider holds is not listed: %+v", flights)
	}
	requests, err := w.provider.Requests(t.Context(), sandbox.RequestFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if r.Time.After(set) && !listed[r.Key] {
			t.Errorf("sent %s after the hold was set, and not listed: %+v", r.Time.Sub(set), r)
		}
	}
	t.Logf("%d requests before, %d in flight", len(requests), len(flights))

	// What is in flight is not interrupted.
	if _, err := w.provider.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := hanging.outcome(t); got.Intent.State != intent.Completed && got.Intent.State != intent.InDoubt {
		t.Errorf("it was %s", got.stdout)
	}
	if _, err := c.LiftHold(t.Context(), hold.ID, operator); err != nil {
		t.Fatal(err)
	}
	for _, key := range append(keysOf(racing), "too late") {
		w.awaitKey(t, key, "it is completed", func(got writ.Intent) error {
			if got.State != intent.Completed {
				return errors.New(string(got.State))
			}
			return nil
		})
		effects, err := w.provider.Effects(t.Context(), string(intent.DeriveKey(w.name, capture.tool, intent.RequestKey(key), 1)))
		if err != nil || len(effects) != 1 {
			t.Errorf("%s has %d effects, %v", key, len(effects), err)
		}
	}
}

// keysOf returns the request keys order-0 to order-(n-1).
func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("order-%d", i)
	}
	return keys
}

func TestAProviderThatIsGoneIsHeldByItselfAndUsedAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.dial(t)
	address := w.moveProvider(t) // where nobody listens
	w.startWorker(t)
	callers := make([]*process, 6)
	for i, key := range keysOf(len(callers)) {
		callers[i] = w.ask(t, capture, key)
	}
	holdsAre(t, c, false, "the breaker holds the provider", func(list []writ.Hold) bool {
		return len(list) == 1 && list[0].Automatic && list[0].Name == sample.Provider && strings.Contains(list[0].Note, "connection_refused")
	})

	start(t, "provider", program("writ-provider"), nil, "--listen", address, "--ledger", filepath.Join(t.TempDir(), "ledger.jsonl"), "-o", "json")

	for _, caller := range callers {
		caller.outcome(t).completed(t)
	}
	holdsAre(t, c, true, "the breaker has lifted its hold", func(list []writ.Hold) bool {
		return len(list) >= 1 && !slices.ContainsFunc(list, func(h writ.Hold) bool { return h.LiftedBy != "writ:breaker" })
	})
	w.provider.effects(t, len(callers))
}

// moveProvider makes the world's provider one that is not there yet, at an address that is free
// now, and returns it.
func (w *world) moveProvider(t testing.TB) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	w.provider = &provider{Client: sandbox.NewClient("http://" + address), url: "http://" + address}
	return address
}
