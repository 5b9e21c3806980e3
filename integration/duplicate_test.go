package integration

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"writ"
	"writ/intent"
	"writ/receipts"
	"writ/tools"
	"writ/tools/sample"
	"writ/workflows"
)

// repeat asks for the action without a key, so that each call is an action of its own.
func (w *world) repeat(t testing.TB, a action, arguments ...string) *process {
	t.Helper()
	return w.writ(t, append([]string{"execute", a.tool, "--payload", a.payload, "--tenant", w.name}, arguments...)...)
}

// guarded is a sample tool with a duplicate guard of the test's own.
type guarded struct {
	tools.Reconciler
	action intent.DuplicateAction
}

func (g guarded) Spec() tools.Spec {
	spec := g.Reconciler.Spec()
	spec.Duplicates.Action = g.action
	return spec
}

// hostGuarded hosts the captures of the world's provider under the guard, and returns what
// stops the worker.
func (w *world) hostGuarded(t testing.TB, action intent.DuplicateAction) (stop func()) {
	t.Helper()
	list, err := sample.Tools(sample.Config{ProviderURL: w.provider.url})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		if captures, ok := tool.(tools.Reconciler); ok && tool.Spec().Name == capture.tool {
			return w.host(t, guarded{captures, action})
		}
	}
	t.Fatalf("there is no sample tool %s", capture.tool)
	return nil
}

func TestACaptureThatIsAskedForTwiceWithoutAKeyIsDoneTwiceAndFlagged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	first := w.repeat(t, capture).outcome(t)
	first.completed(t)
	asking := w.repeat(t, capture)
	second := asking.outcome(t)
	if r := second.completed(t); r.SuspectedDuplicateOf != first.Intent.ID || second.Intent.SuspectedDuplicateOf != first.Intent.ID {
		t.Errorf("the receipt names %s, the intent %s, want %s", r.SuspectedDuplicateOf, second.Intent.SuspectedDuplicateOf, first.Intent.ID)
	}
	if warned := asking.stderr.bytes(); !bytes.Contains(warned, []byte("warning")) || !bytes.Contains(warned, []byte(first.Intent.ID.String())) {
		t.Errorf("standard error does not warn: %s", warned)
	}
	named := w.ask(t, capture, requestKey).outcome(t)
	if r := named.completed(t); !r.SuspectedDuplicateOf.IsZero() {
		t.Errorf("one with a key of its own repeats %s", r.SuspectedDuplicateOf)
	}
	w.provider.effects(t, 3)
	var page writ.IntentPage
	w.writ(t, "intent", "list", "--tenant", w.name, "--suspected-duplicates").document(t, &page)
	if len(page.Intents) != 1 || page.Intents[0].ID != second.Intent.ID {
		t.Errorf("%+v", page)
	}
}

func TestOfEightCallsAtOnceForAToolThatRefusesRepeatsOneHasItsEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hostGuarded(t, intent.RefuseDuplicates)
	var asking [8]*process
	for i := range asking {
		asking[i] = w.repeat(t, capture)
	}
	var done outcome
	var refused []outcome
	for _, p := range asking {
		if got := p.outcome(t); got.status == 0 {
			done = got
		} else {
			refused = append(refused, got)
		}
	}
	if len(refused) != len(asking)-1 {
		t.Fatalf("%d calls were refused", len(refused))
	}
	for _, got := range refused {
		if got.status != 3 || got.Error.Code != intent.CodeDuplicateSuspected || got.Error.Effect != intent.NotApplied ||
			!strings.Contains(got.Error.Message, done.Intent.ID.String()) || !strings.Contains(got.Error.Message, "key of its own") {
			t.Errorf("status %d, %+v", got.status, got.Error)
		}
		got.receipt(t, intent.Refused, intent.NotApplied)
	}
	w.provider.effects(t, 1)
	w.ask(t, capture, requestKey).outcome(t).completed(t) // it is meant twice
	w.provider.effects(t, 2)
}

// held is a world in which one capture was done and a repeat of it waits for a person.
func held(t *testing.T) (w *world, id string, stop func()) {
	t.Helper()
	w = newWorld(t)
	stop = w.hostGuarded(t, intent.ConfirmDuplicates)
	first := w.repeat(t, capture).outcome(t)
	first.completed(t)
	got := w.repeat(t, capture).outcome(t)
	if got.status != 6 || got.Error.Code != intent.CodeConfirmationRequired || got.Error.Effect != intent.NotApplied ||
		got.Intent.State != intent.AwaitingConfirmation || got.Intent.SuspectedDuplicateOf != first.Intent.ID || got.Receipt != nil {
		t.Fatalf("status %d, %s", got.status, got.stdout)
	}
	id = got.Intent.ID.String()
	if !strings.Contains(got.Error.Message, "writ confirm "+id) {
		t.Errorf("the message does not say what to do: %s", got.Error.Message)
	}
	w.provider.effects(t, 1)
	return w, id, stop
}

// decided returns the intent as a decision left it.
func (w *world) decided(t testing.TB, arguments ...string) writ.Intent {
	t.Helper()
	return w.writ(t, arguments...).accepted(t)
}

// watched waits for the end of the intent.
func (w *world) watched(t testing.TB, id string) outcome {
	t.Helper()
	return w.writ(t, "intent", "watch", id).outcome(t)
}

func TestARepeatThatSomebodyElseConfirmsIsDoneOnceMore(t *testing.T) {
	t.Parallel()
	w, id, _ := held(t)
	if got := w.writ(t, "confirm", id).outcome(t); got.status != 3 || got.Error.Code != intent.CodeSelfConfirmation {
		t.Errorf("confirmed by who asked for it: status %d, %s", got.status, got.stdout)
	}
	w.decided(t, "confirm", id, "--principal", "eve", "--note", "two deliveries")
	done := w.watched(t, id)
	r := done.completed(t)
	want := receipts.Decision{Kind: intent.Confirm, Principal: "eve", Note: "two deliveries", AuthenticationSource: intent.AuthenticatedDirect, Commitment: r.Commitment}
	if len(r.Decisions) == 1 {
		want.DecidedAt = r.Decisions[0].DecidedAt
	}
	if len(r.Decisions) != 1 || !reflect.DeepEqual(r.Decisions[0], want) || want.DecidedAt.IsZero() {
		t.Errorf("the receipt has the decisions %+v, want %+v", r.Decisions, want)
	}
	if got := w.writ(t, "confirm", id, "--principal", "bob").outcome(t); got.status != 7 || !strings.Contains(got.Error.Message, "eve confirmed it") {
		t.Errorf("confirmed again: status %d, %s", got.status, got.stdout)
	}
	w.provider.effects(t, 2)
}

func TestARepeatThatIsDeniedIsNotDone(t *testing.T) {
	t.Parallel()
	w, id, _ := held(t)
	if denied := w.decided(t, "deny", id, "--principal", "eve", "--note", "sent twice by mistake"); denied.State != intent.Refused {
		t.Errorf("%+v", denied)
	}
	got := w.watched(t, id)
	if got.status != 3 || got.Error.Code != intent.CodeConfirmationDenied || !strings.Contains(got.Error.Message, "sent twice by mistake") {
		t.Errorf("status %d, %s", got.status, got.stdout)
	}
	if r := got.receipt(t, intent.Refused, intent.NotApplied); len(r.Decisions) != 1 || r.Decisions[0].Kind != intent.Deny {
		t.Errorf("%+v", r)
	}
	w.provider.effects(t, 1)
}

func TestAConfirmationIsKeptWhileNoWorkerIsThere(t *testing.T) {
	t.Parallel()
	w, id, stop := held(t)
	stop()
	if confirmed := w.decided(t, "confirm", id, "--principal", "eve"); confirmed.State != intent.Recorded {
		t.Errorf("%+v", confirmed)
	}
	w.provider.effects(t, 1)
	w.hostGuarded(t, intent.ConfirmDuplicates)
	w.watched(t, id).completed(t)
	w.provider.effects(t, 2)
}

func TestAConfirmationOfWhichTemporalIsNotToldIsFoundByRecovery(t *testing.T) {
	t.Parallel()
	w, id, _ := held(t)
	w.decided(t, "confirm", id, "--principal", "eve", "--temporal-address", "127.0.0.1:1")
	w.watched(t, id).completed(t)
	w.provider.effects(t, 2)
}

func TestAnIntentThatWaitsForAPersonNeedsNoWorkflow(t *testing.T) {
	t.Parallel()
	w, id, _ := held(t)
	w.forgetID(t, workflows.Type+"/"+id)
	recovered := w.writ(t, "recover", "--once", "-o", "json")
	if status := recovered.status(t); status != 0 || !bytes.Contains(recovered.stdout.bytes(), []byte(`"started":0,"failed":0`)) {
		t.Errorf("recovery found something to start\n%s", recovered.transcript())
	}
	var state string
	query(t, w.database, `SELECT state FROM intents WHERE id = '`+id+`'`, &state)
	if state != string(intent.AwaitingConfirmation) {
		t.Errorf("it is %s", state)
	}
	w.provider.effects(t, 1)
	w.decided(t, "confirm", id, "--principal", "eve")
	w.watched(t, id).completed(t)
	w.provider.effects(t, 2)
}

func TestARepeatThatNobodyConfirmsInTimeIsRefused(t *testing.T) {
	t.Parallel()
	w, id, _ := held(t)
	w.aheadBy(t, "25 hours")
	got := w.watched(t, id)
	if got.status != 3 || got.Error.Code != intent.CodeConfirmationExpired || got.Error.Effect != intent.NotApplied {
		t.Errorf("status %d, %s", got.status, got.stdout)
	}
	got.receipt(t, intent.Refused, intent.NotApplied)
	if late := w.writ(t, "confirm", id, "--principal", "eve").outcome(t); late.status != 7 {
		t.Errorf("a late confirmation: status %d, %s", late.status, late.stdout)
	}
	w.provider.effects(t, 1)
}

func TestALibraryCallerLearnsThatItsRequestWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hostGuarded(t, intent.ConfirmDuplicates)
	client := w.dial(t)
	request := writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), Tenant: w.name, Principal: "shop"}
	if _, err := client.Execute(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	accepted, err := client.Submit(t.Context(), request)
	if err != nil || accepted.State != intent.AwaitingConfirmation {
		t.Fatalf("%+v, %v", accepted, err)
	}
	request.RequestKey = string(accepted.RequestKey)
	var waits *writ.Error
	if _, err := client.Execute(t.Context(), request); !errors.As(err, &waits) || waits.Code != intent.CodeConfirmationRequired || !waits.TryAgain {
		t.Fatalf("%v", err)
	}
	if _, err := client.Confirm(t.Context(), accepted.ID, writ.Decider{Principal: "eve"}); err != nil {
		t.Fatal(err)
	}
	if done, err := client.Execute(t.Context(), request); err != nil || done.Intent.ID != accepted.ID {
		t.Errorf("%+v, %v", done, err)
	}
	w.provider.effects(t, 2)
}
