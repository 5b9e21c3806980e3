package policy

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"writ/intent"
)

var quiet = slog.New(slog.DiscardHandler)

type fakePolicy func(ctx context.Context) (Verdict, error)

func (fakePolicy) Name() string { return "fake" }

func (f fakePolicy) Evaluate(ctx context.Context, _ Facts) (Verdict, error) { return f(ctx) }

func TestEveryRequestGetsARecordedDecision(t *testing.T) {
	t.Parallel()
	known := Facts{Context: intent.EffectContext{Principal: "till-7", Tenant: "default"}, Tool: Tool{Name: "payments.capture"}}
	for name, tc := range map[string]struct {
		policy Policy
		facts  Facts
		want   Decision
	}{
		"allowed by the default": {nil, known,
			Decision{Allow: true, Policy: "allow-registered", Reason: "the worker was given this tool"}},
		"no principal": {nil, Facts{Tool: Tool{Name: "payments.capture"}},
			Decision{Policy: "writ", Code: intent.CodeUnauthenticated, Reason: "the request names no principal"}},
		"denied": {fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Reason: "not after midnight"}, nil }), known,
			Decision{Policy: "fake", Code: intent.CodePolicyDenied, Reason: "not after midnight"}},
		"a policy that fails is a denial": {fakePolicy(func(context.Context) (Verdict, error) {
			return Verdict{Allow: true}, errors.New("secret backend text")
		}), known, Decision{Policy: "fake", Code: intent.CodeGateError, Reason: "fake gave no answer"}},
		"a policy that panics is a denial": {fakePolicy(func(context.Context) (Verdict, error) { panic("no") }), known,
			Decision{Policy: "fake", Code: intent.CodeGateError, Reason: "fake gave no answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := NewEngine(tc.policy, quiet).Decide(context.Background(), tc.facts)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("decided %+v (%v), want %+v", got, err, tc.want)
			}
		})
	}
}

func TestAPolicyThatNeverAnswersIsADenial(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	engine := NewEngine(fakePolicy(func(context.Context) (Verdict, error) {
		<-release // ignores its context on purpose
		return Verdict{Allow: true}, nil
	}), quiet)
	engine.timeout = time.Millisecond
	got, err := engine.Decide(context.Background(), Facts{Context: intent.EffectContext{Principal: "till-7"}})
	if err != nil || got.Allow || got.Code != intent.CodeGateError {
		t.Errorf("decided %+v, want a denial with code %s", got, intent.CodeGateError)
	}
}

func TestAWorkerThatStopsWhileThePolicyThinksDecidesNothing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	engine := NewEngine(fakePolicy(func(ctx context.Context) (Verdict, error) {
		stop()
		<-ctx.Done()
		return Verdict{}, ctx.Err()
	}), quiet)
	got, err := engine.Decide(ctx, Facts{Context: intent.EffectContext{Principal: "till-7"}})
	if !errors.Is(err, context.Canceled) || !reflect.DeepEqual(got, Decision{}) {
		t.Errorf("decided %+v, %v", got, err)
	}
}
