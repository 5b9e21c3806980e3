package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ"
	"writ/doctor"
	"writ/intent"
	"writ/internal/sandbox"
)

// When an intent lived that an older backup knows less of, or nothing.
const (
	ended      = "ended"      // before the backup
	performed  = "performed"  // accepted before it, and its effect and its end are lost
	unanswered = "unanswered" // accepted before it; the provider acted and had not answered
	unheard    = "unheard"    // accepted before it; the provider had the request and had not acted
	repeated   = "repeated"   // lost whole, and asked again before anybody has said what was lost
	belated    = "belated"    // lost whole, and asked again when that was said
	fresh      = "fresh"      // asked for the first time before that was said
)

// moments are those of each class. A transactional effect has no provider that could hang. Whether
// an opaque effect that is asked for again was performed before, nobody can tell when its row is gone
// and the history is trusted.
func (k openKind) moments() []string {
	switch k.class {
	case intent.Keyed, intent.Reconcilable:
		return []string{ended, performed, unanswered, unheard, repeated, belated, fresh}
	case intent.Opaque:
		return []string{ended, performed, unanswered, unheard, repeated, fresh}
	case intent.Transactional:
		return []string{ended, performed, repeated, belated, fresh}
	case intent.Read:
	}
	return nil
}

func (k openKind) at(tenant, moment string) writ.Request {
	key := string(k.class) + "-" + moment
	return writ.Request{Tool: k.tool, Payload: fmt.Appendf(nil, k.payload, key), RequestKey: key, Tenant: tenant, Principal: "shop"}
}

// submitAt asks for the intents of these moments and returns them.
func (w *world) submitAt(t testing.TB, moments ...string) (accepted []writ.Intent) {
	t.Helper()
	client := w.dial(t)
	for _, k := range openKinds {
		for _, moment := range k.moments() {
			if !slices.Contains(moments, moment) {
				continue
			}
			got, err := client.Submit(t.Context(), k.at(w.name, moment))
			if err != nil {
				t.Fatalf("%s %s: %v", k.class, moment, err)
			}
			accepted = append(accepted, got)
		}
	}
	return accepted
}

func (w *world) completeAll(t testing.TB, all []writ.Intent) {
	t.Helper()
	for _, i := range all {
		w.awaitState(t, string(i.RequestKey), intent.Completed)
	}
}

// The backup knows of some intents that they were accepted, and of others nothing. What happened
// then is only in the provider's books, and in Temporal, which goes on where the database does not.
func TestWhatAnOlderBackupDoesNotKnowOfHappensOnceOrIsInDoubtAndNeverTwice(t *testing.T) {
	t.Parallel()
	w := newMortal(t)
	w.countStored(t)
	waiting := w.liveBeforeTheBackup(t)
	w.backUp(t)
	lost := w.liveInWhatIsLost(t, waiting)
	w.restore(t)

	w.startHosted(t)
	w.wantNothingSent(t, waiting, lost)
	var done writ.AfterRestored
	w.recovery(t, &done, "--after-restore", "--principal", "ada", "--note", "the disk was lost")
	// Of three classes each: performed, unanswered, unheard, repeated and fresh; but for the transfer
	// that was repeated and is found; and the impatient one.
	if done.Marked != 15 || done.Parked != 1 || done.After.Number != done.Before.Number+1 {
		t.Errorf("%+v", done)
	}
	again := w.submitAt(t, belated)
	w.wantSameKeys(t, lost, again)
	w.writ(t, "enqueued", "retry", intent.IntentID(w.name, requestKey).String(), "--note", "it has a key").succeeds(t)
	w.judgeRestored(t)
	w.examine(t, nil)
}

// liveBeforeTheBackup returns what was accepted, and held, when the backup was taken. A request was
// enqueued as well, which nobody has dispatched.
func (m *mortal) liveBeforeTheBackup(t testing.TB) (waiting []writ.Intent) {
	t.Helper()
	worker := m.startHosted(t)
	m.completeAll(t, m.submitAt(t, ended))
	if _, _, err := m.dial(t).SetHold(t.Context(), writ.HoldRequest{Scope: writ.HoldTenant, Name: m.name}, operator); err != nil {
		t.Fatal(err)
	}
	waiting = m.submitAt(t, performed, unanswered, unheard)
	worker.stop(t)
	if err := enqueueIn(t.Context(), m.database, captureFor(m.name, requestKey), nil); err != nil {
		t.Fatal(err)
	}
	return waiting
}

// liveInWhatIsLost performs what was held and what was enqueued, and returns what was accepted only
// now. The worker is killed with requests in flight.
func (m *mortal) liveInWhatIsLost(t testing.TB, waiting []writ.Intent) (lost []writ.Intent) {
	t.Helper()
	m.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct, MatchBody: "-" + unanswered, Times: new(int)})
	m.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangBeforeAct, MatchBody: "-" + unheard, Times: new(int)})
	worker := m.startHosted(t)
	m.liftAll(t)
	lost = m.submitAt(t, repeated, belated)
	m.completeAll(t, lost)
	for _, i := range waiting {
		if strings.HasSuffix(string(i.RequestKey), "-"+performed) {
			m.awaitState(t, string(i.RequestKey), intent.Completed)
		}
	}
	m.captured(t, requestKey)
	m.provider.await(t, sandbox.StateHanging, 6)
	worker.kill()
	faults, err := m.provider.Faults(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if err := m.provider.RemoveFault(t.Context(), f.ID); err != nil {
			t.Fatal(err)
		}
	}
	return lost
}

func (w *world) liftAll(t testing.TB) {
	t.Helper()
	client := w.dial(t)
	holds, err := client.Holds(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, hold := range holds {
		if _, err := client.LiftHold(t.Context(), hold.ID, operator); err != nil {
			t.Fatal(err)
		}
	}
}

// wantNothingSent looks what happens before an operator has said what may be lost: nothing, of
// what the backup knows and of what callers ask again.
func (m *mortal) wantNothingSent(t *testing.T, waiting, lost []writ.Intent) {
	t.Helper()
	before := m.provider.posted(t)
	for _, i := range lost {
		if _, err := m.dial(t).Get(t.Context(), i.ID); intent.CodeOf(err) != intent.CodeIntentNotFound {
			t.Errorf("the backup knows of %s, or: %v", i.RequestKey, err)
		}
	}
	m.liftAll(t) // that it was lifted is lost, too
	again := m.submitAt(t, repeated, fresh)
	m.wantSameKeys(t, lost, again)
	for _, i := range append(again, waiting...) {
		if i.Class == intent.Reconcilable && strings.HasSuffix(string(i.RequestKey), "-"+repeated) {
			m.awaitState(t, string(i.RequestKey), intent.Completed) // its provider was asked, and knows it
			continue
		}
		m.awaitKey(t, string(i.RequestKey), "it waits for an operator", func(got writ.Intent) error {
			sent := slices.ContainsFunc(got.Attempts, func(a writ.Attempt) bool { return !a.Presumed })
			if got.Next.Kind != intent.Wait || got.Next.Reason != intent.ReasonRestored || sent {
				return fmt.Errorf("next %+v, attempts %+v", got.Next, got.Attempts)
			}
			return nil
		})
	}
	for _, i := range again {
		if i.Class != intent.Reconcilable {
			m.awaitTimer(t, i)
		}
	}
	caller := m.ask(t, capture, "impatient", "--timeout", "5s").outcome(t)
	if caller.status != 1 || caller.Error.Code != intent.CodeNotYetKnown || !strings.Contains(caller.Error.Message, "writ recover --after-restore") {
		t.Errorf("a caller is told, with status %d: %+v", caller.status, caller.Error)
	}
	m.examine(t, map[string]doctor.Status{"timeline": doctor.Fail})
	if after := m.provider.posted(t); after != before {
		t.Errorf("%d requests were sent before anybody said what was lost", after-before)
	}
}

// awaitTimer returns when the intent's workflow has been told to wait.
func (w *world) awaitTimer(t testing.TB, i writ.Intent) {
	t.Helper()
	eventually(t, string(i.RequestKey)+" waits", func(context.Context) error {
		for _, event := range w.historyOf(t, i.WorkflowID).Events {
			if event.GetTimerStartedEventAttributes() != nil {
				return nil
			}
		}
		return errors.New("its workflow has no timer")
	})
}

// wantSameKeys fails unless what was asked again is what it was to its provider.
func (w *world) wantSameKeys(t testing.TB, lost, again []writ.Intent) {
	t.Helper()
	known := map[intent.ID]intent.IdempotencyKey{}
	for _, i := range lost {
		known[i.ID] = i.IdempotencyKey
	}
	for _, i := range again {
		if key, was := known[i.ID]; was && i.IdempotencyKey != key {
			t.Errorf("%s had the key %s and has %s", i.RequestKey, key, i.IdempotencyKey)
		}
	}
}

// judgeRestored waits for every end and compares it with the books of the world outside.
func (m *mortal) judgeRestored(t testing.TB) {
	t.Helper()
	for _, k := range openKinds {
		for _, moment := range k.moments() {
			state := intent.Completed
			if k.class == intent.Opaque && moment != ended {
				state = intent.InDoubt
			}
			m.awaitState(t, string(k.at(m.name, moment).RequestKey), state)
		}
	}
	m.captured(t, requestKey)
	m.captured(t, "impatient")
	happened := m.happened(t)
	for _, k := range openKinds {
		for _, moment := range k.moments() {
			want := 1
			if k.class == intent.Opaque && (moment == unheard || moment == fresh) {
				want = 0 // and in doubt
			}
			if r := k.at(m.name, moment); happened[r.RequestKey] != want {
				t.Errorf("the effect of %s happened %d times, want %d", r.RequestKey, happened[r.RequestKey], want)
			}
		}
	}
}

// happened counts the effects of each request, by the provider's books and by those of the database.
func (w *world) happened(t testing.TB) map[string]int {
	t.Helper()
	ledger, err := w.provider.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var raw string
	query(t, w.database, `SELECT coalesce(json_object_agg(id, times), '{}')::text FROM (SELECT id, count(*) AS times FROM stored GROUP BY id) s`, &raw)
	counts := map[string]int{}
	if err := json.Unmarshal([]byte(raw), &counts); err != nil {
		t.Fatal(err)
	}
	for _, k := range openKinds {
		for _, moment := range k.moments() {
			key := k.at(w.name, moment).RequestKey
			for _, e := range ledger {
				if bytes.Contains(e.Body, []byte(`"`+key+`"`)) {
					counts[key]++
				}
			}
		}
	}
	return counts
}
