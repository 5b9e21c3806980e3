package integration

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"writ"
	"writ/intent"
	"writ/internal/killpoint"
)

// gate is the policy of a hosted worker, as a file that it reads.
type gate struct{ file string }

func newGate(t testing.TB, says string) gate {
	t.Helper()
	g := gate{filepath.Join(t.TempDir(), "forbidden")}
	g.says(t, says)
	return g
}

func (g gate) environment() string { return forbiddenVariable + "=" + g.file }

// says makes the policy say something, or allow everything if it is nothing.
func (g gate) says(t testing.TB, what string) {
	t.Helper()
	err := os.Remove(g.file)
	if what != "" {
		err = os.WriteFile(g.file, []byte(what), 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// deniedIn is denied in this generation.
func (o outcome) deniedIn(t testing.TB, code intent.Code, generation int) {
	t.Helper()
	o.denied(t, code)
	if r := o.receipt(t, intent.Refused, intent.NotApplied); r.Generation != generation || o.Intent.Generation != generation {
		t.Errorf("the intent is of generation %d and its receipt of %d; want %d", o.Intent.Generation, r.Generation, generation)
	}
}

// journaled returns the generations of the world that have a receipt, in order.
func (w *world) journaled(t testing.TB) string {
	t.Helper()
	var list string
	query(t, w.database, `SELECT coalesce(string_agg(r.generation || ' ' || i.request_key, ', ' ORDER BY r.generation), '')
		FROM receipts r JOIN intents i ON i.id = r.intent_id WHERE r.number = 0`, &list)
	return strings.ReplaceAll(list, " "+requestKey, "")
}

func TestARequestThatWasRefusedRunsOnceWhenItComesAgainAndIsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := newGate(t, policyFails)
	w.startHosted(t, policy.environment())
	first := w.ask(t, capture, requestKey).outcome(t)
	first.deniedIn(t, intent.CodeGateError, 1)
	if !first.Error.TryAgain {
		t.Error("it is not said that the same request again can help")
	}
	for range 3 {
		w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodeGateError, 1)
	}
	if got := w.journaled(t); got != "1" {
		t.Errorf("receipts of generations %s: the same refusal is written again", got)
	}

	policy.says(t, "denied")
	w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodePolicyDenied, 2)
	w.provider.effects(t, 0)

	policy.says(t, "")
	other := w.ask(t, capture, requestKey, "--role", "admin").outcome(t)
	if other.Error.Code != intent.CodeContextMismatch {
		t.Errorf("who asks is another one than who was refused: %+v", other.Error)
	}
	again := w.ask(t, capture, requestKey).outcome(t)
	r := again.completed(t)
	w.provider.effects(t, 1)
	if got := w.journaled(t); got != "1, 2, 3" || r.Generation != 3 || again.Intent.Attempts[0].IdempotencyKey != first.Intent.IdempotencyKey {
		t.Errorf("receipts of generations %s, the last of %d, under key %s and not %s", got, r.Generation, again.Intent.Attempts[0].IdempotencyKey, first.Intent.IdempotencyKey)
	}

	policy.says(t, "denied")
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)
}

// askOnce asks, either for the end or for acceptance, which is then watched.
func askOnce(t *testing.T, c *writ.Client, r writ.Request, waits bool) (writ.Intent, error) {
	if waits {
		done, err := c.Execute(t.Context(), r)
		return done.Intent, err
	}
	accepted, err := c.Submit(t.Context(), r)
	if err != nil {
		return accepted, err
	}
	done, err := c.Watch(t.Context(), accepted.ID, nil)
	return done.Intent, err
}

func TestManyRepeatsOfARefusedRequestAreDecidedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says string
		code intent.Code // of what each of them is answered; empty: it completed
	}{
		"allowed now":                {"", ""},
		"refused for something else": {"denied", intent.CodePolicyDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			policy := newGate(t, policyFails)
			w.startHosted(t, policy.environment())
			w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodeGateError, 1)
			policy.says(t, c.says)

			asks := w.dial(t)
			request := writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), RequestKey: requestKey, Tenant: w.name, Principal: "shop", Service: "writ-cli"}
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					got, err := askOnce(t, asks, request, i%2 == 0)
					for intent.CodeOf(err) == intent.CodeTemporalUnavailable { // on a busy machine
						got, err = askOnce(t, asks, request, i%2 == 0)
					}
					if intent.CodeOf(err) != c.code || got.Generation != 2 {
						t.Errorf("%v, generation %d", err, got.Generation)
					}
				})
			}
			all.Wait()
			effects := 0
			if c.code == "" {
				effects = 1
			}
			w.provider.effects(t, effects)
			if got := w.journaled(t); got != "1, 2" {
				t.Errorf("receipts of generations %s", got)
			}
		})
	}
}

func TestAWorkerThatIsKilledWhileARefusedRequestIsDecidedAgainHasItRunOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []killpoint.Point{
		killpoint.BeforePersist, killpoint.AfterPersist, killpoint.BeforeClaim, killpoint.BeforeSend, killpoint.DuringCall, killpoint.AfterJournal,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			policy := newGate(t, policyFails)
			first := w.startHosted(t, policy.environment())
			w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodeGateError, 1)
			first.kill()

			policy.says(t, "")
			trap := newAmbush(t, point)
			doomed := w.startHosted(t, append(trap.environment(), policy.environment())...)
			caller := w.ask(t, capture, requestKey)
			trap.await(t, 1)
			doomed.kill()
			w.startHosted(t, policy.environment())
			caller.outcome(t).completed(t)
			w.provider.effects(t, 1)
			if got := w.journaled(t); got != "1, 2" {
				t.Errorf("receipts of generations %s", got)
			}
		})
	}
}

func TestABudgetThatIsRaisedLetsTheSameRequestThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	budget := []string{"budget", "set", "--tenant", w.name, "--per", "1h", "--principal", "eve", "--note", "a test", "--intents"}
	w.writ(t, append(budget, "0")...).succeeds(t)
	w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodeBudgetExceeded, 1)
	w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodeBudgetExceeded, 1)
	w.writ(t, append(budget, "1")...).succeeds(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.ask(t, notify, "another").outcome(t).deniedIn(t, intent.CodeBudgetExceeded, 1)
	w.provider.effects(t, 1)
}

// Whoever starts the workflow again without a client asks again, too.
func TestARawStartOfARefusedIntentIsTheSameRequestAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := newGate(t, policyFails)
	w.startHosted(t, policy.environment())
	w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodeGateError, 1)
	policy.says(t, "")
	if ended := w.startRaw(t, asker{principal: "shop", service: "writ-cli"}, requestKey); ended.State != intent.Completed || ended.DecidedAgain != 1 {
		t.Errorf("%+v", ended)
	}
	w.provider.effects(t, 1)
}
