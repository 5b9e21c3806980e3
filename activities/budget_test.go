package activities_test

import (
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

// budget allows so much of the kind to acme in an hour.
func (b bundle) budget(t *testing.T, kind outbox.BudgetKind, allowed string) {
	t.Helper()
	b.allow(t, outbox.BudgetSubject{Tenant: "acme", Kind: kind, Window: time.Hour}, allowed)
}

// priced is the capture whose spec names its amount.
func priced() tools.Spec {
	spec := keyed()
	spec.Stake = tools.Stake{Amount: "/amount"}
	return spec
}

func withKey(key intent.RequestKey) func(*activities.Request) {
	return func(r *activities.Request) { r.RequestKey = key }
}

func TestWhatABudgetHasNoRoomForIsRefusedWithAReceiptBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, priced(), applied)
	b.budget(t, outbox.BudgetMoney, "20.00")
	if p, _ := b.drive(t, ask("payments.capture")); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	for range 2 { // the second joins the first
		p, _ := b.drive(t, ask("payments.capture", withKey("order-4712")))
		if p.State != intent.Refused || len(provider.asked()) != 1 {
			t.Errorf("%+v, asked %d times", p, len(provider.asked()))
		}
	}
	r := b.receipt(t, ask("payments.capture", withKey("order-4712")))
	if r.Outcome != intent.NotApplied || !strings.Contains(string(r.Decision), `"code":"budget_exceeded"`) || !strings.Contains(string(r.Decision), "has 7.10 left and this asks for 12.90") {
		t.Errorf("%s, %s", r.Outcome, r.Decision)
	}
}

func TestAnAmountThatCannotBeCountedIsRefusedWhereMoneyIsBudgeted(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, priced(), applied)
	b.budget(t, outbox.BudgetMoney, "20.00")
	in := ask("payments.capture", func(r *activities.Request) { r.Payload = []byte(`{"amount":"a lot"}`) })
	if p, _ := b.drive(t, in); p.State != intent.Refused || len(provider.asked()) != 0 {
		t.Errorf("%+v, asked %d times", p, len(provider.asked()))
	}
	if d := string(b.receipt(t, in).Decision); !strings.Contains(d, `"code":"budget_uncountable"`) || strings.Contains(d, "a lot") {
		t.Errorf("%s", d)
	}
}

func TestAReadUnderABudgetIsCountedBeforeItRuns(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, read(), applied)
	b.budget(t, outbox.BudgetIntents, "1")
	if p, steps := b.drive(t, ask("echo")); p.State != intent.Completed || steps[0] != string(activities.StepPersist) {
		t.Errorf("%v, %+v", steps, p)
	}
	if p, _ := b.drive(t, ask("echo", withKey("order-4712"))); p.State != intent.Refused || len(provider.asked()) != 1 {
		t.Errorf("%+v, asked %d times", p, len(provider.asked()))
	}
}

func TestABudgetsDenialComesBeforeThatOfTheDuplicateGuard(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, guarding(intent.RefuseDuplicates), applied)
	b.drive(t, again(1))
	b.budget(t, outbox.BudgetIntents, "0")
	b.drive(t, again(2))
	if d := string(b.receipt(t, again(2)).Decision); !strings.Contains(d, `"code":"budget_exceeded"`) {
		t.Errorf("%s", d)
	}
	b.budget(t, outbox.BudgetIntents, "9")
	b.drive(t, again(3))
	if d := string(b.receipt(t, again(3)).Decision); !strings.Contains(d, `"code":"duplicate_suspected"`) {
		t.Errorf("%s", d)
	}
}

func TestWhatWaitsForABudgetIsAskedAboutAgainWhenItsTurnHasCome(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string]bool{"the policy still allows": false, "the policy says no by then": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, provider := &verdict{allow: true}, &provider{answers: []func() (tools.Result, error){applied}}
			b := start(t, v, tools.New(priced(), provider.invoke))
			on := outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetMoney, Window: time.Hour}
			set := func(allowed string) {
				if _, err := b.store.SetBudget(t.Context(), on, allowed, outbox.OverWait, eve); err != nil {
					t.Fatal(err)
				}
			}
			set("20.00")
			b.drive(t, ask("payments.capture"))
			second := ask("payments.capture", withKey("order-4712"))
			p, err := b.Authorize(t.Context(), second)
			if err == nil {
				p, err = b.Persist(t.Context(), activities.PersistInput{Input: second, Decision: p.Decision})
			}
			if err != nil || p.Step.Reason != intent.ReasonAwaitsBudget || p.WaitMS < 1 || len(provider.asked()) != 1 {
				t.Fatalf("%+v, %v", p, err)
			}
			if p, err = b.Authorize(t.Context(), activities.Input{IntentID: second.IntentID}); err != nil || p.Step.Kind != intent.Wait {
				t.Errorf("%+v, %v", p, err)
			}
			set("30.00")
			if admitted, err := b.store.AdmitWaiting(t.Context()); err != nil || len(admitted) != 1 {
				t.Errorf("%d, %v", len(admitted), err)
			}
			want, effects := intent.Completed, 2
			if denied {
				v.set(false, nil)
				want, effects = intent.Refused, 1
			}
			if p, _ := b.drive(t, second); p.State != want || len(provider.asked()) != effects {
				t.Errorf("%+v, asked %d times", p, len(provider.asked()))
			}
		})
	}
}

func TestWhatABudgetRefusedAndThenLetsWaitRunsOnceWhenItIsAskedAgain(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, priced(), applied)
	on := outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetMoney, Window: time.Hour}
	set := func(allowed string, over outbox.BudgetOver) {
		t.Helper()
		if _, err := b.store.SetBudget(t.Context(), on, allowed, over, eve); err != nil {
			t.Fatal(err)
		}
	}
	set("20.00", outbox.OverDeny)
	b.drive(t, ask("payments.capture"))
	second := ask("payments.capture", withKey("order-4712"))
	if p, _ := b.drive(t, second); p.State != intent.Refused {
		t.Fatalf("%+v", p)
	}
	set("20.00", outbox.OverWait)
	decided := b.authorize(t, second)
	for range 2 { // the first answer was lost
		if p := b.persist(t, second, decided); p.Step.Reason != intent.ReasonAwaitsBudget || p.WaitMS < 1 || len(provider.asked()) != 1 {
			t.Fatalf("%+v, asked %d times", p, len(provider.asked()))
		}
	}
	set("25.80", outbox.OverWait)
	if admitted, err := b.store.AdmitWaiting(t.Context()); err != nil || len(admitted) != 1 {
		t.Errorf("%d, %v", len(admitted), err)
	}
	for range 2 { // the second is told how it ended
		if p, _ := b.drive(t, second); p.State != intent.Completed || len(provider.asked()) != 2 {
			t.Errorf("%+v, asked %d times", p, len(provider.asked()))
		}
	}
	list, err := b.store.Budgets(t.Context(), "acme", false)
	if err != nil || len(list) != 1 || list[0].Used != "25.80" || b.receipt(t, second).Generation != 2 {
		t.Errorf("%+v, generation %d, %v", list, b.receipt(t, second).Generation, err)
	}
}
