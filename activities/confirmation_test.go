package activities_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// approvers is a policy that wants so many people; below 0 it says no.
type approvers struct{ atomic.Int32 }

func (*approvers) Name() string { return "a shop that wants people" }

func (a *approvers) Evaluate(context.Context, policy.Facts) (policy.Verdict, error) {
	n := int(a.Load())
	v := policy.Verdict{Allow: n >= 0, Reason: "the shop said so"}
	if n > 0 {
		v.Approval = &policy.Approval{Approvers: n}
	}
	return v, nil
}

func wants(n int) *approvers {
	a := new(approvers)
	a.Store(int32(n))
	return a
}

// confirmed is an intent that the policy wants two people to confirm, as they did.
func confirmed(t *testing.T, shop policy.Policy) (b bundle, in activities.Input, world *provider) {
	t.Helper()
	world = &provider{answers: []func() (tools.Result, error){applied}}
	b = start(t, shop, tools.New(keyed(), world.invoke))
	in = ask("payments.capture")
	if p, _ := b.drive(t, in); p.State != intent.AwaitingConfirmation {
		t.Fatalf("%+v", p)
	}
	for _, who := range []string{"eve", "ada"} {
		if _, err := b.store.Confirm(t.Context(), in.IntentID, outbox.Decider{
			Principal: who, Roles: []string{"finance"}, OnBehalfOf: []string{who + "-desk"}, AuthenticationSource: intent.AuthenticatedDirect,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return b, in, world
}

func TestWhatAsManyHaveConfirmedAsThePolicyWantsRuns(t *testing.T) {
	t.Parallel()
	b, in, world := confirmed(t, wants(2))
	if p, steps := b.drive(t, activities.Input{IntentID: in.IntentID}); p.State != intent.Completed {
		t.Errorf("%+v after %v", p, steps)
	}
	if len(world.asked()) != 1 {
		t.Errorf("the provider was called %d times", len(world.asked()))
	}
	r := b.receipt(t, in)
	if len(r.Decisions) != 2 || !strings.Contains(string(r.Decision), `"approvers":2`) {
		t.Errorf("%+v", r)
	}
	for _, d := range r.Decisions {
		if d.Kind != intent.Confirm || d.Commitment != r.Commitment {
			t.Errorf("%+v is not of commitment %s", d, r.Commitment)
		}
	}
}

func TestThePolicyIsAskedAgainAfterTheWaitForPeople(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then int
		code string // empty: it runs
	}{
		"it wants as many":        {2, ""},
		"it wants fewer":          {1, ""},
		"it wants nobody":         {0, ""},
		"it wants more":           {3, string(intent.CodeConfirmationInsufficient)},
		"it says no to all of it": {-1, string(intent.CodePolicyDenied)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := wants(2)
			b, in, world := confirmed(t, shop)
			shop.Store(int32(c.then))
			p, steps := b.drive(t, activities.Input{IntentID: in.IntentID})
			r := b.receipt(t, in)
			if c.code == "" {
				if p.State != intent.Completed || len(world.asked()) != 1 {
					t.Errorf("%+v after %v, %d calls", p, steps, len(world.asked()))
				}
				return
			}
			if p.State != intent.Refused || r.State != intent.Refused || r.Outcome != intent.NotApplied || len(world.asked()) != 0 {
				t.Errorf("%+v after %v, %d calls", p, steps, len(world.asked()))
			}
			if !strings.Contains(string(r.Decision), c.code) || len(r.Decisions) != 2 {
				t.Errorf("the receipt says %s and %+v", r.Decision, r.Decisions)
			}
		})
	}
}

func TestADemandThatCameAfterSomethingWasSentStopsTheRest(t *testing.T) {
	t.Parallel()
	shop := wants(0)
	world := &provider{answers: []func() (tools.Result, error){lost, applied}}
	b := start(t, shop, tools.New(keyed(), world.invoke))
	in := ask("payments.capture")
	out := b.invoke(t, b.recorded(t, in), in)
	shop.Store(1)
	fromRow := activities.Input{IntentID: in.IntentID}
	b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
	p, steps := b.drive(t, fromRow)
	if p.State != intent.InDoubt || len(world.asked()) != 1 {
		t.Errorf("%+v after %v, %d calls", p, steps, len(world.asked()))
	}
	if row := b.row(t, in); !strings.Contains(string(row.Revocation), string(intent.CodeConfirmationInsufficient)) {
		t.Errorf("revoked by %s", row.Revocation)
	}
}

func TestAReadThatPeopleHaveToConfirmIsNotAnsweredBefore(t *testing.T) {
	t.Parallel()
	world := &provider{answers: []func() (tools.Result, error){applied}}
	b := start(t, wants(1), tools.New(tools.Spec{Name: "accounts.read"}, world.invoke))
	in := ask("accounts.read")
	if p, steps := b.drive(t, in); p.State != intent.AwaitingConfirmation || len(world.asked()) != 0 {
		t.Errorf("%+v after %v, %d calls", p, steps, len(world.asked()))
	}
}

func TestAnIntentThatSomebodyChangedByHandAfterItWasConfirmedIsRefusedWithAReceipt(t *testing.T) {
	t.Parallel()
	b, in, world := confirmed(t, wants(2))
	b.exec(t, `ALTER TABLE intents DISABLE TRIGGER ALL`)
	b.exec(t, `UPDATE intents SET payload = '{"amount":"9999.00"}'`)
	b.exec(t, `ALTER TABLE intents ENABLE TRIGGER ALL`)
	if p, steps := b.drive(t, activities.Input{IntentID: in.IntentID}); p.State != intent.Refused {
		t.Errorf("%+v after %v", p, steps)
	}
	if r := b.receipt(t, in); !strings.Contains(string(r.Decision), string(intent.CodeIntentAltered)) || len(r.Decisions) != 2 || len(r.Attempts) != 0 {
		t.Errorf("%+v", r)
	}
	if len(world.asked()) != 0 {
		t.Errorf("the provider was called %d times", len(world.asked()))
	}
}

// The row says itself what had to be confirmed, also to a policy that asks for nobody any more and where
// only the duplicate guard had asked.
func TestWhatSomebodyLetGoOnByHandIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"its state alone":              `state = 'recorded'`,
		"its state and until when":     `state = 'recorded', confirm_by = NULL`,
		"how many people, and by when": `state = 'recorded', confirm_by = NULL, approvers = 1, suspected_duplicate_of = NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, world := wants(2), &provider{answers: []func() (tools.Result, error){applied}}
			b := start(t, shop, tools.New(keyed(), world.invoke))
			in := ask("payments.capture")
			if p, _ := b.drive(t, in); p.State != intent.AwaitingConfirmation {
				t.Fatalf("%+v", p)
			}
			b.exec(t, `ALTER TABLE intents DISABLE TRIGGER ALL`)
			b.exec(t, `UPDATE intents SET version = version + 1, `+change)
			b.exec(t, `ALTER TABLE intents ENABLE TRIGGER ALL`)
			shop.Store(0)
			if p, steps := b.drive(t, activities.Input{IntentID: in.IntentID}); !p.State.Ended() || len(world.asked()) > 0 {
				t.Errorf("%s by %v, sent %d times", p.State, steps, len(world.asked()))
			}
		})
	}
}
