package policy

import (
	"context"
	"testing"

	"writ/intent"
)

func TestAVerdictThatWantsPeopleIsADecisionThatSaysHowMany(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approval  *Approval
		canonical string
		quorum    int
	}{
		"nobody":   {nil, `{"allow":true,"policy":"fake"}`, 0},
		"somebody": {&Approval{}, `{"allow":true,"confirm":true,"policy":"fake"}`, 1},
		"one":      {&Approval{Approvers: 1}, `{"allow":true,"confirm":true,"policy":"fake"}`, 1},
		"three":    {&Approval{Approvers: 3}, `{"allow":true,"approvers":3,"confirm":true,"policy":"fake"}`, 3},
	} {
		host := fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Allow: true, Approval: c.approval}, nil })
		d, err := NewEngine(host, quiet).Decide(t.Context(), Facts{Context: intent.EffectContext{Principal: "till-7"}})
		if err != nil || d.Quorum() != c.quorum {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if canonical, err := d.Canonical(); err != nil || string(canonical) != c.canonical {
			t.Errorf("%s: %s, %v", name, canonical, err)
		}
	}
	denied := fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Approval: &Approval{Approvers: 2}}, nil })
	if d, err := NewEngine(denied, quiet).Decide(t.Context(), Facts{Context: intent.EffectContext{Principal: "till-7"}}); err != nil || d.Allow || d.Confirm || d.Quorum() != 0 {
		t.Errorf("a denial waits for nobody: %+v, %v", d, err)
	}
}

func TestADemandForMorePeopleThanHaveConfirmedIsADenial(t *testing.T) {
	t.Parallel()
	wants := func(n int) Decision { return Decision{Allow: true, Policy: "fake"}.demand(&Approval{Approvers: n}) }
	for _, c := range []struct {
		decision  Decision
		confirmed int
		allow     bool
	}{
		{Decision{Allow: true, Policy: "fake"}, 0, true},
		{wants(1), 0, false}, {wants(1), 1, true}, {wants(2), 1, false}, {wants(2), 2, true}, {wants(1), 2, true},
	} {
		got := c.decision.suffices(tally{count: c.confirmed})
		if got.Allow != c.allow || !c.allow && (got.Code != intent.CodeConfirmationInsufficient || got.Policy != "fake" || got.Reason == "") {
			t.Errorf("%+v after %d: %+v", c.decision, c.confirmed, got)
		}
	}
	denied := Decision{Policy: "fake", Code: intent.CodePolicyDenied}
	if got := denied.suffices(tally{count: 5}); got.Code != intent.CodePolicyDenied {
		t.Errorf("a denial became %+v", got)
	}
}
