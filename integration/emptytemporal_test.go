package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"writ"
	"writ/intent"
	"writ/internal/loopback"
	"writ/internal/sandbox"
)

// openEach is how many intents of each class are open when Temporal loses everything.
const openEach = 100

// openKind is one class of effect. Its provider holds each first request, either before or after
// the effect; what has no provider is held by an operator instead.
type openKind struct {
	action
	class intent.Class
	// endpoint is the provider's; empty if there is none.
	endpoint string
	// early and late are how those end whose provider had not acted and had acted.
	early, late intent.State
}

var openKinds = []openKind{
	{action{"payments.capture", `{"payment_id":"%s","amount":"1.00","currency":"EUR"}`}, intent.Keyed, "/v1/payments/capture", intent.Completed, intent.Completed},
	{action{"transfers.create", `{"account_id":"%s","amount":"1.00","currency":"EUR"}`}, intent.Reconcilable, "/v1/transfers/create", intent.Completed, intent.Completed},
	{action{"notifications.send", `{"recipient":"%s","body":"Your order was sent."}`}, intent.Opaque, "/v1/notifications/send", intent.InDoubt, intent.InDoubt},
	{action{"documents.store", `{"document_id":"%s","title":"Terms","content":"All of them."}`}, intent.Transactional, "", intent.Completed, intent.Completed},
	{action{"echo", `{"said":"%s"}`}, intent.Read, "", intent.Completed, intent.Completed},
}

// request is the n-th of a kind. The provider acts before it hangs on every second one.
func (k openKind) request(tenant string, n int) (r writ.Request, late bool) {
	key := fmt.Sprintf("%s-early-%d", k.class, n)
	if late = n%2 == 1; late {
		key = fmt.Sprintf("%s-late-%d", k.class, n)
	}
	return writ.Request{Tool: k.tool, Payload: fmt.Appendf(nil, k.payload, key), RequestKey: key, Tenant: tenant, Principal: "shop"}, late
}

// everyOpen calls do for each of the intents.
func everyOpen(tenant string, do func(k openKind, r writ.Request, late bool)) {
	for _, k := range openKinds {
		for n := range openEach {
			r, late := k.request(tenant, n)
			do(k, r, late)
		}
	}
}

// The rows are all that is left: of the workflows, their histories and even the search attributes
// nothing is known any more. The worker lives on, with its calls in flight.
func TestAnEmptyTemporalUnderOpenIntentsOfAllClassesLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	first := temporalAt(t, port)
	w := worldOn(t, first)
	w.countStored(t)
	w.startWorkerWith(t, []string{"--recover-every", "500ms", "--breaker-failures", "0"})
	client := w.dial(t)
	holds := w.hangEveryFirst(t, client)
	w.submitOpen(t, client)
	hanging := 0
	for _, k := range openKinds {
		if k.endpoint != "" {
			hanging += openEach
		}
	}
	w.provider.await(t, sandbox.StateHanging, hanging)

	first.process.kill()
	temporalAt(t, port)
	for _, hold := range holds {
		if _, err := client.LiftHold(t.Context(), hold.ID, operator); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitOpenEnds(t, client)
	w.judgeOpen(t)
}

// temporalAt starts a Temporal with an empty store, beside the PostgreSQL that the tests share.
func temporalAt(t testing.TB, port int) *stack {
	t.Helper()
	p := start(t, "writ-dev", program("writ-dev"), []string{"DATABASE_URL=" + shared.DatabaseURL}, "--ephemeral", "--temporal-store", "memory",
		"--temporal-port", strconv.Itoa(port), "--no-worker", "--no-provider", "--no-ui", "-o", "json")
	line, err := p.readyLine()
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{process: p}
	if err := json.Unmarshal(line, s); err != nil || s.TemporalAddress == "" {
		t.Fatalf("the ready line of writ-dev is %q: %v", line, err)
	}
	return s
}

// hangEveryFirst keeps the first attempt of every intent open, by the provider or by a hold.
func (w *world) hangEveryFirst(t testing.TB, client *writ.Client) (holds []writ.Hold) {
	t.Helper()
	half := openEach / 2
	for _, k := range openKinds {
		if k.endpoint == "" {
			hold, _, err := client.SetHold(t.Context(), writ.HoldRequest{Scope: writ.HoldTool, Name: k.tool}, operator)
			if err != nil {
				t.Fatal(err)
			}
			holds = append(holds, hold)
			continue
		}
		w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangBeforeAct, Endpoint: k.endpoint, MatchBody: "-early-", Times: &half})
		w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct, Endpoint: k.endpoint, MatchBody: "-late-", Times: &half})
	}
	return holds
}

// submitOpen returns when all intents are accepted.
func (w *world) submitOpen(t testing.TB, client *writ.Client) {
	t.Helper()
	const atOnce = 25
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	everyOpen(w.name, func(_ openKind, r writ.Request, _ bool) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if _, err := client.Submit(t.Context(), r); err != nil {
				t.Errorf("%s: %v", r.RequestKey, err)
			}
		})
	})
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// awaitOpenEnds returns when every intent is as its class promises.
func (w *world) awaitOpenEnds(t testing.TB, client *writ.Client) {
	t.Helper()
	everyOpen(w.name, func(k openKind, r writ.Request, late bool) {
		want := k.early
		if late {
			want = k.late
		}
		eventually(t, r.RequestKey+" ends", func(ctx context.Context) error {
			got, err := client.Get(ctx, intent.IntentID(w.name, intent.RequestKey(r.RequestKey)))
			if err != nil {
				return err
			}
			if got.State.Ended() && got.State != want {
				t.Fatalf("%s is %s, want %s; attempts: %+v, lookups: %+v", r.RequestKey, got.State, want, got.Attempts, got.Lookups)
			}
			if got.State != want {
				return fmt.Errorf("it is %s, next %+v, attempts: %+v", got.State, got.Next, got.Attempts)
			}
			return nil
		})
	})
}

// judgeOpen compares the books of the world outside with what each class promises.
func (w *world) judgeOpen(t testing.TB) {
	t.Helper()
	ledger, err := w.provider.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]int{}
	var raw string
	query(t, w.database, `SELECT coalesce(json_object_agg(id, times), '{}')::text FROM (SELECT id, count(*) AS times FROM stored GROUP BY id) s`, &raw)
	if err := json.Unmarshal([]byte(raw), &stored); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	everyOpen(w.name, func(k openKind, r writ.Request, late bool) {
		want, happened := 1, 0
		switch k.class {
		case intent.Read:
			return
		case intent.Transactional:
			happened = stored[r.RequestKey]
		case intent.Opaque:
			if !late {
				want = 0 // it is never sent again
			}
			fallthrough
		case intent.Keyed, intent.Reconcilable:
			for _, e := range ledger {
				if bytes.Contains(e.Body, []byte(`"`+r.RequestKey+`"`)) {
					happened++
				}
			}
		}
		if happened != want {
			wrong++
			t.Errorf("the effect of %s happened %d times, want %d", r.RequestKey, happened, want)
		}
	})
	progress("an empty Temporal under %d open intents: %d of them lost or repeated", len(openKinds)*openEach, wrong)
}
