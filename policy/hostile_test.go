package policy

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/intent"
)

func TestAnAnswerThatNoDecisionCouldHoldIsNoAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxID+1)
	for name, v := range map[string]Verdict{
		"a huge reason":         {Allow: true, Reason: strings.Repeat("a", MaxReason+1)},
		"too many policies":     {Allow: true, Policies: slices.Repeat([]string{"a"}, MaxPolicies+1)},
		"a huge id":             {Allow: true, Policies: []string{"a", long}},
		"a huge digest":         {Allow: true, Digest: long},
		"fewer people than no":  {Allow: true, Approval: &Approval{Approvers: -1}},
		"more people than ever": {Allow: true, Approval: &Approval{Approvers: math.MaxInt}},
	} {
		host := allowed()
		host.policy = fakePolicy(func(context.Context) (Verdict, error) { return v, nil })
		consent, egress := allowed(), allowed()
		consent.gates.Consent, egress.gates.Egress = gate{verdict: v}, gate{verdict: v}
		for _, s := range []*scene{host, consent, egress} {
			if d := s.decide(t); d.Allow || d.Code != intent.CodeGateError || len(d.Reason) > 100 {
				t.Errorf("%s: %+v", name, d)
			}
		}
	}
	most := allowed()
	most.policy = fakePolicy(func(context.Context) (Verdict, error) {
		return Verdict{Allow: true, Reason: strings.Repeat("a", MaxReason), Policies: slices.Repeat([]string{long[1:]}, MaxPolicies), Digest: long[1:], Approval: &Approval{Approvers: MaxApprovers}}, nil
	})
	if d := most.decide(t); !d.Allow || d.Quorum() != MaxApprovers {
		t.Errorf("what is just within the limits: %s", d.Code)
	}
}

func TestAScoreThatIsNoneIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, score := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.01, 1.01, math.MaxFloat64} {
		s := allowed()
		s.gates.Risk = gate{score: score}
		if d := s.decide(t); d.Allow || d.Code != intent.CodeGateError {
			t.Errorf("%v: %+v", score, d)
		}
	}
	for score, allow := range map[float64]bool{math.Copysign(0, -1): true, 0: true, 1: false} {
		s := allowed()
		s.gates.Risk = gate{score: score}
		if d := s.decide(t); d.Allow != allow || d.Code == intent.CodeGateError {
			t.Errorf("%v: %+v", score, d)
		}
	}
}

// The zero answers would be a risk of nothing, and a verdict about nobody.
func TestWhoEndsTheGoroutineThatAsksGivesNoAnswer(t *testing.T) {
	t.Parallel()
	risk, consent := allowed(), allowed()
	risk.gates.Risk = quitter{}
	consent.gates.Consent = mad{gate{}, runtime.Goexit}
	for _, s := range []*scene{risk, consent} {
		if d := s.decide(t); d.Allow || d.Code != intent.CodeGateError {
			t.Errorf("%+v", d)
		}
	}
}

type quitter struct{ gate }

func (quitter) Score(context.Context, Facts) (float64, error) {
	runtime.Goexit()
	return 0, nil
}

func TestAConfirmationIsJudgedByAVerdictThatADecisionCanHold(t *testing.T) {
	t.Parallel()
	f := Facts{Context: intent.EffectContext{Principal: "ada"}}
	engine := NewEngine(ruler{Verdict{Allow: true, Reason: strings.Repeat("a", MaxReason+1)}}, quiet)
	d, err := engine.Suffice(t.Context(), Decision{Allow: true, Confirm: true}, f, []Confirmation{{By: intent.EffectContext{Principal: "bob"}, At: time.Now()}})
	if err != nil || d.Allow || d.Code != intent.CodeGateError {
		t.Errorf("%+v, %v", d, err)
	}
}

// ruler answers everything in one way.
type ruler struct{ Verdict }

func (ruler) Name() string                                               { return "ruler" }
func (r ruler) Evaluate(context.Context, Facts) (Verdict, error)         { return r.Verdict, nil }
func (r ruler) MayDecide(context.Context, Act) (Verdict, error)          { return r.Verdict, nil }
func (r *ruler) Score(context.Context, Facts) (float64, error)           { return 0, errors.New(r.Reason) }
func (r *ruler) Consented(context.Context, Facts) (v Verdict, err error) { return r.Verdict, nil }

// called is a policy of a name.
type called string

func (c called) Name() string                                         { return string(c) }
func (called) Evaluate(context.Context, Facts) (v Verdict, err error) { return v, nil }

func TestAHostsPolicyOrGateThatCannotBeAskedIsRefusedWhenAWorkerIsMade(t *testing.T) {
	t.Parallel()
	var none *ruler
	for says, c := range map[string]struct {
		p Policy
		g Gates
	}{
		"Policy is a nil":              {p: none},
		"Gates.Risk is a nil":          {g: Gates{Risk: none}},
		"Gates.Consent is a nil":       {g: Gates{Consent: none}},
		"the name of Policy, a policy": {p: called("")},
		"is not of 1 to 255 bytes":     {p: called(strings.Repeat("a", 256))},
		"bytes that print":             {p: called("a\nb")},
	} {
		if err := CheckHost(c.p, c.g); intent.CodeOf(err) != intent.CodeInvalidConfig || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if err := CheckHost(AllowRegistered{}, Gates{Egress: NoGate{}}); err != nil {
		t.Error(err)
	}
	if err := CheckHost(nil, Gates{}); err != nil {
		t.Error(err)
	}
}
