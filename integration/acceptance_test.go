package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
)

// Five hundred callers of one client ask for fifty captures, and each stops waiting
// later than the one before, from at once to ten seconds: while it looks for the key, while it starts the
// workflow, while it waits for the row, or after it was answered.
func TestFiveHundredClientsThatVanishInMidSubmitLeaveThePoolWholeAndNothingUndecided(t *testing.T) {
	t.Parallel()
	const clients, keys = 500, 50
	w := newWorld(t)
	w.startWorker(t)
	config := w.config()
	config.DatabaseURL += "&pool_max_conns=8&application_name=" + w.name
	client, err := writ.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	request := func(i int) writ.Request {
		return writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), Tenant: w.name, Principal: "shop", RequestKey: fmt.Sprintf("order-%d", i%keys)}
	}
	submitted := make([]error, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			ctx, vanish := context.WithTimeout(t.Context(), time.Duration(i*i)*40*time.Microsecond)
			defer vanish()
			_, submitted[i] = client.Submit(ctx, request(i))
		})
	}
	all.Wait()

	answered := 0
	for i, err := range submitted {
		var failure *writ.Error
		switch {
		case err == nil:
			answered++
		case !errors.As(err, &failure), failure.Code != intent.CodeNotYetKnown, !failure.TryAgain, !strings.Contains(failure.Message, request(i).RequestKey),
			failure.Effect == intent.NotApplied: // it goes on, or it happened
			t.Errorf("caller %d is told %v", i, err)
		}
	}
	if answered == 0 || answered == clients {
		t.Errorf("%d of %d callers were answered; nobody vanished in the middle", answered, clients)
	}
	eventually(t, "the pool is whole", func(context.Context) error {
		const sessions = `SELECT count(*), count(*) FILTER (WHERE state <> 'idle') FROM pg_stat_activity WHERE application_name = '`
		var connections, busy int
		if query(t, w.database, sessions+w.name+`'`, &connections, &busy); connections > 8 || busy != 0 {
			return fmt.Errorf("%d connections are left for a pool of 8, and %d of them are busy", connections, busy)
		}
		return nil
	})
	for i := range keys {
		done, err := client.Execute(t.Context(), request(i))
		if err != nil || done.Intent.State != intent.Completed {
			t.Errorf("asked again: %+v, %v", done.Intent, err)
		}
	}
	w.provider.effects(t, keys)
}

func TestAnAcceptedIntentGoesOnWithoutItsCallerAndTheCallerIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	w.startWorker(t)
	client := w.dial(t)
	request := writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), Tenant: w.name, Principal: "shop", RequestKey: requestKey}
	ctx, stopWaiting := context.WithCancel(t.Context())
	told := make(chan error, 1)
	go func() {
		_, err := client.Execute(ctx, request)
		told <- err
	}()
	w.provider.await(t, sandbox.StateHanging, 1)
	stopWaiting()
	var failure *writ.Error
	if err := <-told; !errors.As(err, &failure) || failure.Code != intent.CodeNotYetKnown || failure.Effect != intent.Unknown || !failure.TryAgain ||
		!strings.Contains(failure.Message, "was accepted and goes on") {
		t.Errorf("the caller is told %v", err)
	}
	if _, err := w.provider.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.awaitReceipt(t)
	if done, err := client.Execute(t.Context(), request); err != nil || done.Intent.State != intent.Completed {
		t.Errorf("%+v, %v", done.Intent, err)
	}
	w.provider.effects(t, 1)
}

func TestNothingIsAcceptedBeforeItsRowIsCommitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t).stop(t) // it has published its tools, and nobody polls any more
	client := w.dial(t)
	request := writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), Tenant: w.name, Principal: "shop", RequestKey: requestKey}
	ctx, stopWaiting := context.WithTimeout(t.Context(), time.Second)
	defer stopWaiting()
	var failure *writ.Error
	if _, err := client.Submit(ctx, request); !errors.As(err, &failure) || failure.Code != intent.CodeNotYetKnown || failure.Effect != intent.Unknown || !failure.TryAgain ||
		!strings.Contains(failure.Message, "not known whether") {
		t.Errorf("the caller is told %v", err)
	}
	var rows int
	if query(t, w.database, `SELECT count(*) FROM intents`, &rows); rows != 0 {
		t.Error("a row was committed although nobody was there to decide")
	}
	w.startWorker(t)
	if accepted, err := client.Submit(t.Context(), request); err != nil || accepted.State == "" {
		t.Errorf("%+v, %v", accepted, err)
	}
	w.awaitReceipt(t)
	w.provider.effects(t, 1)
}
