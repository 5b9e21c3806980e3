package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/tools"
	"writ/tools/sample"
)

// lost is a world in which a notification was asked for and is in doubt, because its request
// met the fault.
func lost(t *testing.T, fault string) (w *world, id string) {
	t.Helper()
	w = newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: fault})
	w.startWorker(t)
	w.ask(t, notify, requestKey).outcome(t).inDoubt(t)
	return w, w.intentID().String()
}

// inbox returns what `writ doubt` lists.
func (w *world) inbox(t testing.TB) []writ.Doubt {
	t.Helper()
	var page writ.DoubtPage
	w.writ(t, "doubt", "--tenant", w.name).document(t, &page)
	return page.Doubts
}

func TestADoubtfulEffectIsFoundInTheInboxResolvedAndAnsweredWithTheOperatorsResult(t *testing.T) {
	t.Parallel()
	w, id := lost(t, sandbox.FaultDropAfterAct)
	list := w.inbox(t)
	if len(list) != 1 || list[0].Intent.ID.String() != id || list[0].Reason != intent.ReasonNeverSentTwice || !strings.HasPrefix(list[0].Ask, "ask sandbox what it did at ") {
		t.Fatalf("the inbox holds %+v", list)
	}
	if got := w.writ(t, "resolve", id, "--retry", "--note", "again").outcome(t); got.status != 3 || got.Error.Code != intent.CodeRetryRefused {
		t.Errorf("a retry: status %d, %s", got.status, got.stdout)
	}
	// What the operator reads in the provider's books.
	effect := w.provider.effects(t, 1)[0]
	result := fmt.Sprintf(`{"id":%q}`, effect.EffectID)
	done := w.decided(t, "resolve", id, "--applied", "--result", result, "--principal", "eve", "--note", "in their books")
	if done.State != intent.Completed {
		t.Errorf("%+v", done)
	}
	got := w.ask(t, notify, requestKey).outcome(t)
	if r := got.completed(t); r.Reason != intent.ReasonResolvedApplied || len(r.Decisions) != 1 || r.Decisions[0].Principal != "eve" || r.Decisions[0].Note != "in their books" {
		t.Errorf("the receipt says %+v", r)
	}
	if got.Answer == nil || string(got.Answer.JSON) != result {
		t.Errorf("the answer is %+v, want %s", got.Answer, result)
	}
	if list := w.inbox(t); len(list) != 0 {
		t.Errorf("the inbox still holds %+v", list)
	}
	w.provider.effects(t, 1)
	w.provider.requests(t, 1)
}

// Each decision is a row first: what Temporal was not told of, recovery finds.
func TestDecisionsOfWhichTemporalIsNotToldAreHeardLater(t *testing.T) {
	t.Parallel()
	w, id := lost(t, sandbox.FaultDropBeforeAct)
	const away = "127.0.0.1:1"
	if v := w.decided(t, "resolve", id, "--not-applied", "--note", "not in their books", "--temporal-address", away); v.State != intent.Failed {
		t.Fatalf("%+v", v)
	}
	w.provider.effects(t, 0)
	again := w.decided(t, "reissue", id, "--principal", "eve", "--note", "still wanted", "--temporal-address", away)
	if again.State != intent.Recorded || again.Generation != 2 {
		t.Fatalf("%+v", again)
	}
	w.aheadBy(t, "1 minute")
	r := w.watched(t, id).completed(t)
	if r.Generation != 2 || len(r.Attempts) != 2 || len(r.Decisions) != 2 {
		t.Errorf("%+v", r)
	}
	w.provider.effects(t, 1)
}

func TestWhatIsCancelledWhileItWaitsIsNotSentAndItsCallerIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.postponed(t, capture, time.Hour)
	caller := w.ask(t, capture, requestKey)
	w.decided(t, "intent", "cancel", w.intentID().String(), "--principal", "eve", "--note", "withdrawn")
	got := caller.outcome(t)
	if r := got.cancelled(t); len(r.Decisions) != 1 || r.Decisions[0].Kind != intent.Cancel || r.Decisions[0].Note != "withdrawn" {
		t.Errorf("%+v", r)
	}
	w.aheadBy(t, "2 hours")
	w.ask(t, capture, requestKey).outcome(t).cancelled(t)
	w.provider.effects(t, 0)
	w.provider.requests(t, 1)
}

func TestAProviderIsAskedForAnOperatorAndWhatItSaysDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list, err := sample.Tools(sample.Config{ProviderURL: w.provider.url, Timeout: time.Second, Lookup: tools.LookupContract{Max: 1, SettleDelay: tools.Immediate}})
	if err != nil {
		t.Fatal(err)
	}
	w.host(t, list...)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultLookupError})
	w.ask(t, transfer, requestKey).outcome(t).inDoubt(t)
	if list := w.inbox(t); len(list) != 1 || !list[0].CanInquire || list[0].LastLookup == nil || list[0].Reason != intent.ReasonLookupsSpent || list[0].Stake == nil {
		t.Fatalf("the inbox holds %+v", list)
	}
	var said struct{ Asked []writ.Inquired }
	w.writ(t, "doubt", "--lookup", "--tenant", w.name, "--timeout", "1m").document(t, &said)
	if len(said.Asked) != 1 || said.Asked[0].Lookup == nil || said.Asked[0].Lookup.Finding != intent.Found {
		t.Fatalf("%+v", said)
	}
	if r := w.watched(t, w.intentID().String()).completed(t); r.Reason != intent.ReasonFound || len(r.Lookups) != 2 {
		t.Errorf("%+v", r)
	}
	w.provider.effects(t, 1)
}

func TestAFileOfResolutionsDecidesManyAndIsHarmlessTheSecondTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	always := 0
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropBeforeAct, Times: &always})
	w.startWorker(t)
	file := filepath.Join(t.TempDir(), "resolutions.jsonl")
	var text strings.Builder
	callers := map[string]*process{}
	for _, key := range []string{"order-1", "order-2", "order-3"} {
		callers[key] = w.ask(t, notify, key)
	}
	for key, caller := range callers {
		got := caller.outcome(t)
		got.inDoubt(t)
		fmt.Fprintf(&text, `{"intent_id":"%s","resolution":"not_applied","note":"%s is not in their books"}`+"\n", got.Intent.ID, key)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, outcome := range []string{"resolved", "unchanged"} {
		p := w.writ(t, "resolve", "--from", file)
		if status := p.status(t); status != 0 || strings.Count(string(p.stdout.bytes()), `"outcome":"`+outcome+`"`) != 3 {
			t.Errorf("%s", p.transcript())
		}
	}
	for key := range callers {
		if got := w.ask(t, notify, key).outcome(t); got.status != 4 || got.Intent.State != intent.Failed {
			t.Errorf("status %d, %s", got.status, got.stdout)
		}
	}
	w.provider.effects(t, 0)
}
