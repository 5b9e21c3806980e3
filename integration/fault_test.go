package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/sandbox"
)

func TestAKeyedEffectHappensOnceUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault sandbox.Fault
		// outcomes of the attempts, in order.
		outcomes []intent.Outcome
	}{
		"the answer is lost":         {sandbox.Fault{Fault: sandbox.FaultDropAfterAct}, outcomes(intent.Unknown, intent.Applied)},
		"the answer is lost twice":   {sandbox.Fault{Fault: sandbox.FaultDropAfterAct, Times: new(2)}, outcomes(intent.Unknown, intent.Unknown, intent.Applied)},
		"it says 500 after it acted": {sandbox.Fault{Fault: sandbox.FaultErrorAfterAct}, outcomes(intent.Unknown, intent.Applied)},
		"it is limited":              {sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 1}, outcomes(intent.NotApplied, intent.Applied)},
		"it hangs after it acted":    {sandbox.Fault{Fault: sandbox.FaultHangAfterAct}, outcomes(intent.Unknown, intent.Applied)},
		"it hangs and does not act":  {sandbox.Fault{Fault: sandbox.FaultHangBeforeAct}, outcomes(intent.Unknown, intent.Applied)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.fault(t, c.fault)
			w.startWorker(t)
			got := w.ask(t, capture, requestKey).outcome(t)
			got.completed(t)
			got.attempted(t, c.outcomes)
			w.provider.effects(t, 1)
		})
	}
}

func outcomes(list ...intent.Outcome) []intent.Outcome { return list }

// attempted fails unless the attempts had these outcomes, in this order.
func (o outcome) attempted(t testing.TB, want []intent.Outcome) {
	t.Helper()
	same := len(o.Intent.Attempts) == len(want)
	for i := 0; same && i < len(want); i++ {
		same = o.Intent.Attempts[i].Outcome == want[i]
	}
	if !same {
		t.Errorf("the attempts are %+v, want the outcomes %v", o.Intent.Attempts, want)
	}
}

func TestAnOpaqueEffectIsNeverSentAgainAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   string
		effects int
	}{
		"the answer is lost":         {sandbox.FaultDropAfterAct, 1},
		"it says 500 after it acted": {sandbox.FaultErrorAfterAct, 1},
		"it hangs after it acted":    {sandbox.FaultHangAfterAct, 1},
		"it hangs and does not act":  {sandbox.FaultHangBeforeAct, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.fault(t, sandbox.Fault{Fault: c.fault})
			w.startWorker(t)
			got := w.ask(t, notify, requestKey).outcome(t)
			got.inDoubt(t)
			got.attempted(t, outcomes(intent.Unknown))
			w.ask(t, notify, requestKey).outcome(t).inDoubt(t) // asking again sends nothing
			w.provider.await(t, sandbox.StateReceived, 1)
			w.provider.requests(t, 1)
			w.provider.effects(t, c.effects)
		})
	}
}

// requests fails unless the provider has received want requests.
func (p *provider) requests(t testing.TB, want int) []sandbox.Request {
	t.Helper()
	seen, err := p.Requests(t.Context(), sandbox.RequestFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != want {
		t.Errorf("the provider has received %d requests, want %d: %+v", len(seen), want, seen)
	}
	return seen
}

func TestADefiniteRefusalIsWaitedOutAsLongAsTheProviderAsks(t *testing.T) {
	t.Parallel()
	for _, a := range []action{capture, notify} {
		t.Run(a.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const wish = 3 * time.Second
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: int(wish.Seconds())})
			w.startWorker(t)
			w.ask(t, a, requestKey).outcome(t).completed(t)
			seen := w.provider.requests(t, 2)
			if len(seen) == 2 && seen[1].Time.Sub(seen[0].Time) < wish {
				t.Errorf("the second request came after %s, the provider asked for %s", seen[1].Time.Sub(seen[0].Time), wish)
			}
			w.provider.effects(t, 1)
		})
	}
}

func TestARequestThatTheProviderDoesNotTakeFailsWithoutAnEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	// Somebody else has used the key that the intent will get, so the provider answers 422.
	key := intent.DeriveKey(w.name, capture.tool, requestKey, 1)
	w.provider.perform(t, "/v1/documents/delete", string(key), `{"document_id":"doc_1"}`)

	got := w.ask(t, capture, requestKey).outcome(t)
	if got.status != 4 || got.Error.Code != intent.CodeFailed || got.Error.Effect != intent.NotApplied {
		t.Errorf("status %d, error %+v; want 4, failed, not_applied", got.status, got.Error)
	}
	r := got.receipt(t, intent.Failed, intent.NotApplied)
	if len(r.Attempts) != 1 || r.Attempts[0].Code != sandbox.CodeKeyReused {
		t.Errorf("the receipt has attempts %+v, want one with %s", r.Attempts, sandbox.CodeKeyReused)
	}
	if done := w.provider.effects(t, 1); done[0].Endpoint != "/v1/documents/delete" {
		t.Errorf("the provider did %+v", done)
	}
	again := w.ask(t, capture, requestKey).outcome(t)
	if again.status != 4 || string(again.Receipt) != string(got.Receipt) {
		t.Errorf("asked again: status %d, receipt %s; want 4 and %s", again.status, again.Receipt, got.Receipt)
	}
	w.provider.requests(t, 2)
}

// perform makes the provider act for somebody who does not use Writ.
func (p *provider) perform(t testing.TB, endpoint, key, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode >= 300 {
		t.Fatalf("the provider answers %s, %v", answer.Status, err)
	}
}

// The judge must be able to see a second effect, or its word means nothing. Writ promises
// one effect as far as the provider honours its key.
func TestTheLedgerShowsTwiceWhatAProviderThatIgnoresItsKeysDidTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultIgnoreKey})
	w.startWorker(t)
	got := w.ask(t, capture, requestKey).outcome(t)
	got.completed(t)
	for _, entry := range w.provider.effects(t, 2) {
		if entry.Key != string(got.Intent.IdempotencyKey) {
			t.Errorf("an effect under key %q, want %q", entry.Key, got.Intent.IdempotencyKey)
		}
	}
}
