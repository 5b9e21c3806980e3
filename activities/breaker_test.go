package activities_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

// unsteady is a tool of the bank that is refused connections while *down is set.
func unsteady(down *bool) tools.Tool {
	spec := tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, Retryable: true, Provider: "bank"}
	return tools.New(spec, func(context.Context, tools.Invocation) (tools.Result, error) {
		if *down {
			return tools.Result{}, tools.NotApplied(errors.New("connect: connection refused")).WithCode("connection_refused").AsUnanswered()
		}
		return tools.JSON(map[string]bool{"captured": true})
	})
}

// attempt takes an intent as far as it goes without waiting.
func (b bundle) attempt(t *testing.T, key string) (activities.Input, activities.Progress) {
	t.Helper()
	in := ask("payments.capture", func(r *activities.Request) { r.RequestKey = intent.RequestKey(key) })
	in.IntentID = intent.IntentID("acme", in.Request.RequestKey)
	return in, b.goOn(t, in, b.authorize(t, in))
}

func (b bundle) goOn(t *testing.T, in activities.Input, p activities.Progress) activities.Progress {
	t.Helper()
	if p.Step.Kind == activities.StepPersist {
		p = b.persist(t, in, p)
	}
	if p.Step.Kind != intent.Invoke {
		return p
	}
	out := b.invoke(t, p, activities.Input{IntentID: in.IntentID})
	return out.Progress
}

func (b bundle) standing(t *testing.T) []outbox.Hold {
	t.Helper()
	list, err := b.store.Holds(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTenAttemptsWithoutAnAnswerHoldTheProviderUntilOneIsAnswered(t *testing.T) {
	t.Parallel()
	down := true
	b := start(t, nil, unsteady(&down))
	var first activities.Input
	for i := range activities.DefaultBreakerFailures {
		if list := b.standing(t); len(list) != 0 {
			t.Fatalf("held after %d: %+v", i, list)
		}
		in, p := b.attempt(t, fmt.Sprintf("order-%d", i))
		if i == 0 {
			first = in
		}
		if p.Step.Kind != intent.Wait {
			t.Fatalf("attempt %d: %+v", i, p.Step)
		}
	}
	list := b.standing(t)
	if len(list) != 1 || !list[0].Automatic || list[0].Name != "bank" {
		t.Fatalf("holds %+v", list)
	}
	waiting, p := b.attempt(t, "order-held")
	if p.Step.Reason != intent.ReasonHeld || len(b.row(t, waiting).Attempts) != 0 {
		t.Errorf("under the hold: %+v", p.Step)
	}

	b.later(t, 6*time.Second) // the first probe
	if _, p = b.attempt(t, "probe-1"); p.Step.Kind != intent.Wait {
		t.Errorf("the first probe: %+v", p.Step)
	}
	if list = b.standing(t); len(list) != 1 || list[0].Probes != 1 {
		t.Fatalf("after a probe without an answer: %+v", list)
	}
	down = false
	if _, p = b.attempt(t, "too early"); p.Step.Reason != intent.ReasonHeld {
		t.Errorf("between probes: %+v", p.Step)
	}
	b.later(t, 10*time.Second) // the second probe
	if _, p = b.attempt(t, "probe-2"); p.Step.Kind != intent.Settle {
		t.Errorf("the second probe: %+v", p.Step)
	}
	if list = b.standing(t); len(list) != 0 {
		t.Errorf("after an answer: %+v", list)
	}
	for _, in := range []activities.Input{first, waiting} {
		if p, _ := b.drive(t, in); p.State != intent.Completed {
			t.Errorf("afterwards: %+v", p)
		}
	}
}

func TestAReadWithoutARowWaitsForAHoldToo(t *testing.T) {
	t.Parallel()
	asked := 0
	read := tools.New(tools.Spec{Name: "balance.get", Provider: "bank"}, func(context.Context, tools.Invocation) (tools.Result, error) {
		asked++
		return tools.JSON(1)
	})
	b := start(t, nil, read)
	hold, err := b.store.SetHold(t.Context(), outbox.Subject{Scope: outbox.HoldProvider, Name: "bank"}, outbox.Decider{Principal: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	in := ask("balance.get")
	if p := b.goOn(t, in, b.authorize(t, in)); p.Step.Reason != intent.ReasonHeld || asked != 0 {
		t.Errorf("it was asked %d times: %+v", asked, p.Step)
	}
	if _, err := b.store.LiftHold(t.Context(), hold.ID, outbox.Decider{Principal: "ada"}); err != nil {
		t.Fatal(err)
	}
	if p, _ := b.drive(t, in); p.State != intent.Completed || asked != 1 {
		t.Errorf("afterwards it was asked %d times: %+v", asked, p)
	}
}

func TestAWaitedReadIsNotRunAfterAHoldWasSet(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, read(), applied)
	in := ask("echo")
	p := b.authorize(t, in)
	if p.Step.Kind != activities.StepAnswer {
		t.Fatalf("%+v", p)
	}
	if _, err := b.store.SetHold(t.Context(), outbox.Subject{Scope: outbox.HoldTool, Name: "echo"}, outbox.Decider{Principal: "eve"}); err != nil {
		t.Fatal(err)
	}
	if out := b.invoke(t, p, in); out.Evidence != nil || len(provider.asked()) != 0 {
		t.Errorf("it ran: %+v", out)
	}
}

func TestWhatBreaksBesideTheProviderSaysNothingOfIt(t *testing.T) {
	t.Parallel()
	refused := errors.New("connect: connection refused")
	for name, tc := range map[string]struct {
		answer func() (tools.Result, error)
		want   intent.Contact
	}{
		"an answer":            {applied, intent.Answered},
		"a refusal":            {answering(tools.NotApplied(refused).WithCode("card_declined")), intent.Answered},
		"a refused connection": {answering(tools.NotApplied(refused).WithCode("refused").AsUnanswered()), intent.Unanswered},
		"an unknown outcome":   {answering(tools.Unknown(refused)), intent.Unanswered},
		"a bare error":         {answering(refused), intent.Unanswered},
		"no request":           {answering(tools.NotApplied(refused).WithCode("invalid").AsUncontacted()), intent.NoContact},
		"a panic":              {func() (tools.Result, error) { panic("boom") }, intent.NoContact},
		"a panic in a goroutine": {func() (tools.Result, error) {
			g, _ := tools.NewGroup(context.Background())
			g.Go(func(context.Context) error { panic("boom") })
			return tools.Result{}, g.Wait()
		}, intent.NoContact},
		"an end of its goroutine": {func() (tools.Result, error) { runtime.Goexit(); return tools.Result{}, nil }, intent.NoContact},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := hosting(t, keyed(), tc.answer)
			in := ask("payments.capture", detached)
			ev := b.invoke(t, b.recorded(t, in), in).Evidence
			if got := ev.Contact.Given(ev.Outcome); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
