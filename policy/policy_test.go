package policy

import (
	"context"
	"errors"
	"testing"
	"time"

	"writ/intent"
)

type fakePolicy func(ctx context.Context) (Verdict, error)

func (fakePolicy) Name() string { return "fake" }

func (f fakePolicy) Evaluate(ctx context.Context, _ Facts) (Verdict, error) { return f(ctx) }

func TestEveryRequestGetsARecordedDecision(t *testing.T) {
	known := Facts{Context: intent.EffectContext{Principal: "till-7", Tenant: "default"}, Tool: "payments.capture"}
	for name, tc := range map[string]struct {
		policy Policy
		facts  Facts
		want   Decision
	}{
		"allowed by the default": {nil, known,
			Decision{Allow: true, Policy: "allow-registered", Reason: "the worker was given this tool"}},
		"no principal": {nil, Facts{Tool: "payments.capture"},
			Decision{Policy: "writ", Code: intent.CodeUnauthenticated, Reason: "the request names no principal"}},
		"denied": {fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Reason: "not after midnight"}, nil }), known,
			Decision{Policy: "fake", Code: intent.CodePolicyDenied, Reason: "not after midnight"}},
		"a policy that fails is a denial": {fakePolicy(func(context.Context) (Verdict, error) {
			return Verdict{Allow: true}, errors.New("secret backend text")
		}), known, Decision{Policy: "fake", Code: intent.CodeGateError, Reason: "the policy gave no answer"}},
		"a policy that panics is a denial": {fakePolicy(func(context.Context) (Verdict, error) { panic("no") }), known,
			Decision{Policy: "fake", Code: intent.CodeGateError, Reason: "the policy gave no answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewEngine(tc.policy).Decide(context.Background(), tc.facts); got != tc.want {
				t.Errorf("decided %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestAPolicyThatNeverAnswersIsADenial(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	engine := NewEngine(fakePolicy(func(context.Context) (Verdict, error) {
		<-release // ignores its context on purpose
		return Verdict{Allow: true}, nil
	}))
	engine.timeout = time.Millisecond
	got := engine.Decide(context.Background(), Facts{Context: intent.EffectContext{Principal: "till-7"}})
	if got.Allow || got.Code != intent.CodeGateError {
		t.Errorf("decided %+v, want a denial with code %s", got, intent.CodeGateError)
	}
}
