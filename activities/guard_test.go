package activities_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// unnamed makes the request one whose caller gave no key: the number-th such submission.
func unnamed(number byte) func(*activities.Request) {
	return func(r *activities.Request) {
		r.RequestKey = intent.MintedRequestKey(uuid.UUID{number, 6: 0x40, 8: 0x80})
	}
}

// again is the number-th submission of the same capture without a key.
func again(number byte, change ...func(*activities.Request)) activities.Input {
	return ask("payments.capture", append([]func(*activities.Request){unnamed(number)}, change...)...)
}

func guarding(action intent.DuplicateAction) tools.Spec {
	spec := keyed()
	spec.Duplicates.Action = action
	return spec
}

func TestARepeatWithoutAKeyRunsAndNamesTheFirst(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), applied)
	first, second := again(1), again(2)
	b.drive(t, first)
	if p, _ := b.drive(t, second); p.State != intent.Completed || len(provider.asked()) != 2 {
		t.Fatalf("%+v, asked %d times", p, len(provider.asked()))
	}
	if of := b.row(t, first).SuspectedDuplicateOf; !of.IsZero() {
		t.Errorf("the first one repeats %s", of)
	}
	row, r := b.row(t, second), b.receipt(t, second)
	if row.SuspectedDuplicateOf != first.IntentID || r.SuspectedDuplicateOf != first.IntentID {
		t.Errorf("row %s, receipt %s, want %s", row.SuspectedDuplicateOf, r.SuspectedDuplicateOf, first.IntentID)
	}
	var d policy.Decision
	if err := json.Unmarshal(row.Decision, &d); err != nil || !d.Allow || d.SuspectedDuplicateOf != first.IntentID {
		t.Errorf("%s, %v", row.Decision, err)
	}
	// The caller's own retry of the second joins it.
	if p, steps := b.drive(t, second); p.State != intent.Completed || len(steps) != 1 || len(provider.asked()) != 2 {
		t.Errorf("again: %v, %+v", steps, p)
	}
}

func TestARepeatIsRefusedWhereTheToolSaysSo(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, guarding(intent.RefuseDuplicates), applied)
	first, second := again(1), again(2)
	b.drive(t, first)
	p, steps := b.drive(t, second)
	if p.State != intent.Refused || len(steps) != 2 || len(provider.asked()) != 1 {
		t.Fatalf("%v, %+v, asked %d times", steps, p, len(provider.asked()))
	}
	r := b.receipt(t, second)
	if r.SuspectedDuplicateOf != first.IntentID || !strings.Contains(string(r.Decision), `"duplicate_suspected"`) ||
		!strings.Contains(string(r.Decision), first.IntentID.String()) {
		t.Errorf("%+v", r)
	}
	// Meant twice, and so given a key of its own.
	if p, _ := b.drive(t, ask("payments.capture")); p.State != intent.Completed {
		t.Errorf("with a key: %+v", p)
	}
	b.later(t, 10*time.Minute)
	if p, _ := b.drive(t, again(3)); p.State != intent.Completed || len(provider.asked()) != 3 {
		t.Errorf("after the window: %+v", p)
	}
}

func TestWhatIsNotTheSameActionOrHasAKeyIsNoRepeat(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*activities.Request){
		"another payload":   func(r *activities.Request) { r.Payload = []byte(`{"amount":"12.91"}`) },
		"another principal": func(r *activities.Request) { r.Context.Principal = "till-8" },
		"another tenant":    func(r *activities.Request) { r.Context.Tenant = "globex" },
		"another tool":      func(r *activities.Request) { r.Tool = "payments.refund" },
		"a key of its own":  func(r *activities.Request) { r.RequestKey = "order-4711" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := &provider{answers: []func() (tools.Result, error){applied}}
			other := guarding(intent.RefuseDuplicates)
			other.Name = "payments.refund"
			b := start(t, nil, tools.New(guarding(intent.RefuseDuplicates), provider.invoke), tools.New(other, provider.invoke))
			b.drive(t, again(1))
			in := again(2, change)
			if p, _ := b.drive(t, in); p.State != intent.Completed || !b.row(t, in).SuspectedDuplicateOf.IsZero() {
				t.Errorf("%+v", p)
			}
		})
	}
	t.Run("the same in another spelling is a repeat", func(t *testing.T) {
		t.Parallel()
		b, _ := hosting(t, guarding(intent.RefuseDuplicates), applied)
		b.drive(t, again(1))
		if p, _ := b.drive(t, again(2, func(r *activities.Request) { r.Payload = []byte(`{ "amount": "12\u002e90" }`) })); p.State != intent.Refused {
			t.Errorf("%+v", p)
		}
	})
}

func TestARepeatOfWhatProvablyFailedIsNone(t *testing.T) {
	t.Parallel()
	declined := tools.NotApplied(errors.New("card declined")).AsFinal()
	b, _ := hosting(t, guarding(intent.RefuseDuplicates), answering(declined), applied)
	if p, _ := b.drive(t, again(1)); p.State != intent.Failed {
		t.Fatalf("%+v", p)
	}
	if p, _ := b.drive(t, again(2)); p.State != intent.Completed {
		t.Errorf("%+v", p)
	}
}

func TestAGuardThatIsTurnedOffLooksForNothing(t *testing.T) {
	t.Parallel()
	spec := keyed()
	spec.Duplicates.Window = tools.NoGuard
	b, _ := hosting(t, spec, applied)
	b.drive(t, again(1))
	in := again(2)
	if p, _ := b.drive(t, in); p.State != intent.Completed || !b.row(t, in).SuspectedDuplicateOf.IsZero() {
		t.Errorf("%+v", p)
	}
}

// Both were authorized before either had a row: persist decides again.
func TestOfTwoRepeatsAtOnceTheSecondIsDecidedAgainWhenItIsPersisted(t *testing.T) {
	t.Parallel()
	for action, want := range map[intent.DuplicateAction]intent.State{
		intent.FlagDuplicates: intent.Recorded, intent.RefuseDuplicates: intent.Refused, intent.ConfirmDuplicates: intent.AwaitingConfirmation,
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			b, _ := hosting(t, guarding(action), applied)
			first, second := again(1), again(2)
			decidedFirst, decidedSecond := b.authorize(t, first), b.authorize(t, second)
			if p := b.persist(t, first, decidedFirst); p.State != intent.Recorded {
				t.Fatalf("the first: %+v", p)
			}
			if p := b.persist(t, second, decidedSecond); p.State != want {
				t.Fatalf("the second: %+v", p)
			}
			row := b.row(t, second)
			if row.SuspectedDuplicateOf != first.IntentID {
				t.Errorf("it repeats %s", row.SuspectedDuplicateOf)
			}
			if committed := intent.Commitment(intent.Authorized{Fingerprint: row.Fingerprint, SpecDigest: row.SpecDigest, Context: row.EffectContext,
				Decision: row.Decision, Key: row.IdempotencyKey, Generation: 1}); committed != row.Commitment {
				t.Error("the commitment is not over the decision that stands")
			}
		})
	}
}

// What it repeated came to nothing between the decision and the row.
func TestARepeatOfWhatHasFailedMeanwhileIsDecidedAgain(t *testing.T) {
	t.Parallel()
	declined := tools.NotApplied(errors.New("card declined")).AsFinal()
	b, _ := hosting(t, guarding(intent.ConfirmDuplicates), answering(declined), applied)
	first, second := again(1), again(2)
	b.recorded(t, first)
	decided := b.authorize(t, second)
	if p, _ := b.drive(t, first); p.State != intent.Failed {
		t.Fatalf("%+v", p)
	}
	if p := b.persist(t, second, decided); p.State != intent.Recorded || !b.row(t, second).SuspectedDuplicateOf.IsZero() {
		t.Errorf("%+v", p)
	}
}

// held drives a repeat to its wait for a person.
func held(t *testing.T) (b bundle, provider *provider, in activities.Input) {
	t.Helper()
	b, provider = hosting(t, guarding(intent.ConfirmDuplicates), applied)
	b.drive(t, again(1))
	in = again(2)
	p, _ := b.drive(t, in)
	if p.State != intent.AwaitingConfirmation || p.Step.Reason != intent.ReasonAwaitsConfirmation || len(provider.asked()) != 1 {
		t.Fatalf("%+v, asked %d times", p, len(provider.asked()))
	}
	return b, provider, in
}

var eve = outbox.Decider{Principal: "eve", Note: "two deliveries"}

func TestARepeatThatAPersonConfirmedRunsOnceAndItsReceiptSaysWhoDecided(t *testing.T) {
	t.Parallel()
	b, provider, in := held(t)
	// Asked for again, it waits on.
	if p, steps := b.drive(t, in); p.State != intent.AwaitingConfirmation || len(steps) != 1 {
		t.Errorf("%v, %+v", steps, p)
	}
	waited := b.row(t, in)
	if wait := waited.ConfirmBy.Sub(waited.CreatedAt); wait != 24*time.Hour {
		t.Errorf("it waits %s", wait)
	}
	if _, err := b.store.Confirm(t.Context(), in.IntentID, eve); err != nil {
		t.Fatal(err)
	}
	if p, _ := b.drive(t, activities.Input{IntentID: in.IntentID}); p.State != intent.Completed || len(provider.asked()) != 2 {
		t.Fatalf("%+v, asked %d times", p, len(provider.asked()))
	}
	r := b.receipt(t, in)
	if len(r.Decisions) != 1 || r.Decisions[0].Kind != intent.Confirm || r.Decisions[0].Principal != "eve" || r.Decisions[0].Note != "two deliveries" ||
		r.Decisions[0].Commitment != waited.Commitment || r.Commitment != waited.Commitment || r.Decisions[0].DecidedAt.IsZero() {
		t.Errorf("%+v", r)
	}
}

func TestARepeatThatAPersonDeniedIsRefused(t *testing.T) {
	t.Parallel()
	b, provider, in := held(t)
	waited := b.row(t, in)
	refusal, err := activities.Denial(waited, eve)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Deny(t.Context(), refusal, eve, activities.Seal); err != nil {
		t.Fatal(err)
	}
	if p, steps := b.drive(t, in); p.State != intent.Refused || len(steps) != 1 || len(provider.asked()) != 1 {
		t.Errorf("%v, %+v", steps, p)
	}
	r := b.receipt(t, in)
	if r.Commitment == waited.Commitment || len(r.Decisions) != 1 || r.Decisions[0].Commitment != waited.Commitment ||
		!strings.Contains(string(r.Decision), `"confirmation_denied"`) || !strings.Contains(string(r.Decision), "eve denied it: two deliveries") {
		t.Errorf("%+v", r)
	}
}

func TestARepeatThatNobodyConfirmedInTimeIsRefused(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(in activities.Input) activities.Input{
		"found by recovery": func(in activities.Input) activities.Input { return activities.Input{IntentID: in.IntentID} },
		"asked for again":   func(in activities.Input) activities.Input { return in },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, provider, in := held(t)
			b.later(t, 24*time.Hour)
			// Also a worker that does not host the tool can end it.
			p, steps := b.worker(t, nil, tools.New(read(), provider.invoke)).drive(t, from(in))
			if p.State != intent.Refused || len(steps) != 2 || steps[0] != "persist" || len(provider.asked()) != 1 {
				t.Fatalf("%v, %+v", steps, p)
			}
			if r := b.receipt(t, in); len(r.Decisions) != 0 || !strings.Contains(string(r.Decision), `"confirmation_expired"`) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAConfirmationAtTheLastMomentIsNotUndoneByTheEndOfTheWait(t *testing.T) {
	t.Parallel()
	b, provider, in := held(t)
	b.later(t, 24*time.Hour)
	p := b.authorize(t, activities.Input{IntentID: in.IntentID})
	if p.Step.Kind != activities.StepPersist {
		t.Fatalf("%+v", p)
	}
	b.later(t, -time.Minute) // the confirmation was begun in time, and is committed only now
	if _, err := b.store.Confirm(t.Context(), in.IntentID, eve); err != nil {
		t.Fatal(err)
	}
	b.later(t, time.Minute)
	if p := b.persist(t, activities.Input{IntentID: in.IntentID}, p); p.State != intent.Recorded {
		t.Fatalf("%+v", p)
	}
	if p, _ := b.drive(t, in); p.State != intent.Completed || len(provider.asked()) != 2 {
		t.Errorf("%+v", p)
	}
}

func TestPolicyIsAskedAgainAfterAConfirmation(t *testing.T) {
	t.Parallel()
	b, provider, in := held(t)
	if _, err := b.store.Confirm(t.Context(), in.IntentID, eve); err != nil {
		t.Fatal(err)
	}
	closed := policyFunc(func() (policy.Verdict, error) { return policy.Verdict{Reason: "the till is closed"}, nil })
	p, _ := b.worker(t, closed, tools.New(guarding(intent.ConfirmDuplicates), provider.invoke)).drive(t, in)
	if r := b.receipt(t, in); p.State != intent.Refused || len(provider.asked()) != 1 || len(r.Decisions) != 1 ||
		!strings.Contains(string(r.Decision), `"policy_denied"`) {
		t.Errorf("%+v, %+v", p, r)
	}
}
