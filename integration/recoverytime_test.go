package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
)

// The time that a caller waits for its receipt after the SIGKILL of the worker that had its
// intent, while another worker runs: both as they are by default.
const (
	// recoveryCallers ask at once at each point; about half of them meet the worker that is killed.
	// They are fewer than the circuit breaker needs to hold a provider.
	recoveryCallers = 8
	// recoveryWorlds are made until a point has so many samples.
	recoveryWorlds  = 6
	recoverySamples = 5
)

// recoveryAction is what is asked for at a point: something keyed where a keyed tool gets there,
// with an answer that was lost where only a lookup does.
func recoveryAction(point killpoint.Point) (action, sandbox.Fault) {
	switch point {
	case killpoint.InTransaction, killpoint.AfterTransaction:
		return action{"documents.store", `{"document_id":"%s","title":"Terms","content":"All of them."}`}, sandbox.Fault{}
	case killpoint.BeforeLookup, killpoint.DuringLookup, killpoint.AfterLookup:
		always := 0
		return action{"transfers.create", `{"account_id":"%s","amount":"1.00","currency":"EUR"}`}, sandbox.Fault{Fault: sandbox.FaultDropAfterAct, Times: &always}
	case killpoint.BeforePersist, killpoint.AfterPersist, killpoint.BeforeClaim, killpoint.BeforeSend, killpoint.DuringCall,
		killpoint.BeforeEvidence, killpoint.AfterEvidence, killpoint.BeforeJournal, killpoint.AfterJournal,
		killpoint.BeforeDecision, killpoint.AfterDecision, killpoint.AfterWake, killpoint.Reauthorized:
	}
	return action{"payments.capture", `{"payment_id":"%s","amount":"1.00","currency":"EUR"}`}, sandbox.Fault{}
}

// It measures, so its points take turns. What it demands is one effect for each caller; the times
// are printed, because a busy machine says nothing about them.
func TestEveryCallerGetsItsReceiptSoonAfterItsWorkerWasKilled(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, point := range killpoint.Points {
		t.Run(string(point), func(t *testing.T) {
			a, fault := recoveryAction(point)
			var took []time.Duration
			for range recoveryWorlds {
				if took = append(took, recoveryTimes(t, point, a, fault)...); len(took) >= recoverySamples || t.Failed() {
					break
				}
			}
			if len(took) == 0 {
				t.Fatalf("nobody met the worker that was killed in any of %d worlds", recoveryWorlds)
			}
			slices.Sort(took)
			fmt.Fprintf(&table, "\n%-18s %-18s %3d samples, median %5.2f s, longest %5.2f s",
				point, a.tool, len(took), took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
		})
	}
	progress("from the SIGKILL of a worker to the receipt in the caller's hands:%s", table.String())
}

// waiting is a caller of writ.Client.Execute.
type waiting struct {
	key      string
	answered time.Time // zero while it waits
}

// recoveryTimes kills a worker at a point and returns how long those waited who had met it there.
func recoveryTimes(t *testing.T, point killpoint.Point, a action, fault sandbox.Fault) (took []time.Duration) {
	t.Helper()
	w := newWorld(t)
	if fault.Fault != "" {
		w.provider.fault(t, fault)
	}
	w.countStored(t)
	trap := newAmbush(t, point)
	// Transactions that meet at a point keep their connections.
	doomed := w.startWorkerWith(t, nil, append(trap.environment(), "DATABASE_URL="+w.database+"&pool_max_conns=20")...)
	w.startWorkerWith(t, nil)
	callers := w.askAtOnce(t, a)
	met := map[string]bool{}
	trap.awaitAll(t, func(arrived map[string]bool) []string {
		var missing []string
		for _, c := range callers.now() {
			switch there := w.isAt(arrived, a, c.key); {
			case there:
				met[c.key] = true
			case c.answered.IsZero():
				missing = append(missing, c.key)
			}
		}
		return missing
	})
	killed := time.Now()
	doomed.kill()
	callers.await()
	for _, c := range callers.now() {
		if met[c.key] && c.answered.After(killed) {
			took = append(took, c.answered.Sub(killed))
		}
	}
	w.wantOneEach(t, a)
	return took
}

// countStored keeps a book of what the transactional tool does.
func (w *world) countStored(t testing.TB) {
	t.Helper()
	query(t, w.database, `
		CREATE TABLE stored (id text);
		CREATE FUNCTION book() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN INSERT INTO stored VALUES (NEW.id); RETURN NULL; END $$;
		CREATE TRIGGER book AFTER INSERT OR UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION book()`)
}

// wantOneEach fails unless there was one effect for each caller.
func (w *world) wantOneEach(t testing.TB, a action) {
	t.Helper()
	if a.tool != store.tool {
		bodies := map[string]bool{}
		for _, e := range w.provider.effects(t, recoveryCallers) {
			bodies[string(e.Body)] = true
		}
		if len(bodies) != recoveryCallers {
			t.Errorf("they are for %d callers, want %d", len(bodies), recoveryCallers)
		}
		return
	}
	var all, different int
	query(t, w.database, `SELECT count(*), count(DISTINCT id) FROM stored`, &all, &different)
	if all != recoveryCallers || different != recoveryCallers {
		t.Errorf("%d documents were stored, %d different ones, want %d", all, different, recoveryCallers)
	}
}

// isAt reports whether the intent with the request key has arrived: a point knows it by its id or
// by its idempotency key.
func (w *world) isAt(arrived map[string]bool, a action, key string) bool {
	request := intent.RequestKey(key)
	return arrived[intent.IntentID(w.name, request).String()] || arrived[string(intent.DeriveKey(w.name, a.tool, request, 1))]
}

// crowd are callers who ask at once.
type crowd struct {
	mu      sync.Mutex
	waiting []waiting
	all     sync.WaitGroup
}

// askAtOnce lets everybody ask for the action, each with its own key in the payload.
func (w *world) askAtOnce(t testing.TB, a action) *crowd {
	t.Helper()
	client := w.dial(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	c := &crowd{waiting: make([]waiting, recoveryCallers)}
	t.Cleanup(func() { cancel(); c.all.Wait() })
	for i := range c.waiting {
		key := fmt.Sprintf("order-%d", i)
		c.waiting[i].key = key
		request := writ.Request{Tool: a.tool, Payload: fmt.Appendf(nil, a.payload, key), RequestKey: key, Tenant: w.name, Principal: "shop"}
		c.all.Go(func() {
			got, err := client.Execute(ctx, request)
			if err != nil || got.Receipt == nil {
				t.Errorf("%s ends with %v, receipt %s", key, err, got.Receipt)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.waiting[i].answered = time.Now()
		})
	}
	return c
}

func (c *crowd) now() []waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waiting)
}

func (c *crowd) await() { c.all.Wait() }
