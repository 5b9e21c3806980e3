package policy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"writ/intent"
)

// gate answers for every kind of gate.
type gate struct {
	score   float64
	verdict Verdict
	err     error
	seen    *Facts
}

func (gate) Name() string { return "gate" }

func (g gate) Score(_ context.Context, f Facts) (float64, error) { g.see(f); return g.score, g.err }

func (g gate) Consented(_ context.Context, f Facts) (Verdict, error) {
	g.see(f)
	return g.verdict, g.err
}

func (g gate) MayLeave(_ context.Context, f Facts) (Verdict, error) {
	g.see(f)
	return g.verdict, g.err
}

func (g gate) see(f Facts) {
	if g.seen != nil {
		*g.seen = f
	}
}

var yes = gate{verdict: Verdict{Allow: true}}

// scene is a request that nothing speaks against, until a breach is put into it.
type scene struct {
	facts  Facts
	gates  Gates
	policy Policy
}

func allowed() *scene {
	return &scene{
		facts: Facts{
			Context: intent.EffectContext{Principal: "till-7", Tenant: "acme", Risk: 0.2},
			Tool:    Tool{Name: "mail.send", Provider: "mailer", Risk: 0.1, MaxRisk: 0.5, Consents: []string{"marketing"}, DataClasses: []string{"contact"}},
		},
		gates:  Gates{Risk: gate{score: 0.5}, Consent: yes, Egress: yes},
		policy: fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Allow: true, Reason: "it is Monday"}, nil }),
	}
}

func (s *scene) decide(t *testing.T) Decision {
	t.Helper()
	d, err := NewEngine(s.policy, quiet).With(s.gates).Decide(t.Context(), s.facts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// breaches are what the engine can refuse, in the order in which it does.
var breaches = []struct {
	code intent.Code
	put  func(*scene)
}{
	{intent.CodeUnauthenticated, func(s *scene) { s.facts.Context.Principal = "" }},
	{intent.CodeGateError, func(s *scene) { s.gates.Risk = gate{err: errors.New("down")} }},
	{intent.CodeRiskExceeded, func(s *scene) { s.gates.Risk = gate{score: 0.51} }},
	{intent.CodeConsentGateMissing, func(s *scene) { s.gates.Consent = nil }},
	{intent.CodeGateError, func(s *scene) { s.gates.Consent = gate{err: errors.New("down")} }},
	{intent.CodeConsentRequired, func(s *scene) { s.gates.Consent = gate{} }},
	{intent.CodeEgressGateMissing, func(s *scene) { s.gates.Egress = NoGate{} }},
	{intent.CodeGateError, func(s *scene) { s.gates.Egress = gate{err: errors.New("down")} }},
	{intent.CodeEgressDenied, func(s *scene) { s.gates.Egress = gate{verdict: Verdict{Reason: "not abroad"}} }},
	{intent.CodeGateError, func(s *scene) {
		s.policy = fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Allow: true}, errors.New("down") })
	}},
	{intent.CodePolicyDenied, func(s *scene) {
		s.policy = fakePolicy(func(context.Context) (Verdict, error) { return Verdict{Reason: "it is Sunday"}, nil })
	}},
}

func TestEachRuleRefusesAloneAndBeforeEveryLaterOne(t *testing.T) {
	t.Parallel()
	if d := allowed().decide(t); !d.Allow || d.Risk != 0.5 || d.Reason != "it is Monday" {
		t.Fatalf("nothing speaks against it, and %+v", d)
	}
	for i, first := range breaches {
		alone := allowed()
		first.put(alone)
		if d := alone.decide(t); d.Allow || d.Code != first.code || d.Reason == "" || d.Policy == "" {
			t.Errorf("%d, %s alone: %+v", i, first.code, d)
		}
		for j, later := range breaches[i+1:] {
			both := allowed()
			later.put(both)
			first.put(both) // where both are of one gate it answers as the first says
			if d := both.decide(t); d.Code != first.code {
				t.Errorf("%s before %s (%d, %d): %+v", first.code, later.code, i, i+1+j, d)
			}
		}
	}
}

func TestTheOrderIsThatOfTheEngineAndEveryRuleHasItsCode(t *testing.T) {
	t.Parallel()
	meanings := map[intent.Code]intent.CodeRow{}
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			meanings[row.Code] = row
		}
	}
	at := map[intent.Code]int{}
	for i, rule := range Order() {
		if _, twice := at[rule.Code]; twice {
			t.Errorf("%s is there twice", rule.Code)
		}
		at[rule.Code] = i
		if row, ok := meanings[rule.Code]; !ok || row.Effect != intent.NotApplied || row.Mend == "" {
			t.Errorf("%s has the row %+v", rule.Code, row)
		}
	}
	last := -1
	for _, b := range breaches {
		if b.code == intent.CodeGateError {
			continue
		}
		if place, ok := at[b.code]; !ok || place <= last {
			t.Errorf("%s is at %d, after %d", b.code, place, last)
		} else {
			last = place
		}
	}
}

func TestTheRiskIsTheHighestWordAndNobodyLowersIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, caller, score, limit float64
		want                       float64
		code                       intent.Code
	}{
		"the tool's":                     {0.7, 0.1, 0.2, 0.8, 0.7, ""},
		"the caller's":                   {0.1, 0.7, 0.2, 0.8, 0.7, ""},
		"the scorer's":                   {0.1, 0.2, 0.7, 0.8, 0.7, ""},
		"as much as is allowed":          {0, 0, 0.8, 0.8, 0.8, ""},
		"a little more":                  {0, 0, math.Nextafter(0.8, 1), 0.8, math.Nextafter(0.8, 1), intent.CodeRiskExceeded},
		"a caller that knows":            {0, 1, 0, 0.8, 1, intent.CodeRiskExceeded},
		"all, where nothing is the most": {0, 0, 1, 0, 1, ""},
		"a score below nothing":          {0, 0, -0.1, 0, 0, intent.CodeGateError},
		"a score above all":              {0, 0, 1.1, 0, 0, intent.CodeGateError},
		"no number":                      {0, 0, math.NaN(), 0, 0, intent.CodeGateError},
	} {
		s := allowed()
		var seen Facts
		s.facts.Tool.Risk, s.facts.Context.Risk, s.facts.Tool.MaxRisk = tc.tool, tc.caller, tc.limit
		s.gates.Risk, s.gates.Consent = gate{score: tc.score}, gate{verdict: Verdict{Allow: true}, seen: &seen}
		if d := s.decide(t); d.Code != tc.code || d.Risk != tc.want || d.Allow == (tc.code != "") {
			t.Errorf("%s: %+v", name, d)
		}
		if tc.code == "" && seen.Risk != tc.want {
			t.Errorf("%s: the next gate is told %v", name, seen.Risk)
		}
	}
}

func TestAGateIsAskedOnlyAboutWhatIsDeclared(t *testing.T) {
	t.Parallel()
	s := allowed()
	s.facts.Tool.Consents, s.facts.Tool.DataClasses = nil, nil
	s.gates = Gates{Consent: gate{err: errors.New("down")}}
	if d := s.decide(t); !d.Allow {
		t.Errorf("%+v", d)
	}
}

func TestAGateThatPanicsOrNeverAnswersIsADenial(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	for name, stuck := range map[string]func(){"panics": func() { panic("secret") }, "sleeps": func() { <-release }} {
		s := allowed()
		s.gates.Consent = mad{gate{}, stuck}
		engine := NewEngine(s.policy, quiet).With(s.gates)
		engine.timeout = 20 * time.Millisecond
		d, err := engine.Decide(t.Context(), s.facts)
		if err != nil || d.Code != intent.CodeGateError || strings.Contains(d.Reason, "secret") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

type mad struct {
	gate
	do func()
}

func (m mad) Consented(context.Context, Facts) (Verdict, error) {
	m.do()
	return Verdict{Allow: true}, nil
}

func TestAnOutboxThatIsAwayIsNoDenial(t *testing.T) {
	t.Parallel()
	s := allowed()
	s.gates.Egress = gate{err: fmt.Errorf("rules: %w", intent.Errorf(intent.CodeDatabaseUnavailable, "no answer"))}
	d, err := NewEngine(s.policy, quiet).With(s.gates).Decide(t.Context(), s.facts)
	if intent.CodeOf(err) != intent.CodeDatabaseUnavailable || !reflect.DeepEqual(d, Decision{}) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTheDevelopmentProfileLetsAMissingGatePassAndSaysSo(t *testing.T) {
	t.Parallel()
	s := allowed()
	s.gates = Gates{Development: true}
	d := s.decide(t)
	if !d.Allow {
		t.Fatalf("%+v", d)
	}
	for _, word := range []string{"it is Monday", "development", "marketing", "contact", "mailer"} {
		if !strings.Contains(d.Reason, word) {
			t.Errorf("%q does not say %q", d.Reason, word)
		}
	}
	s.gates.Consent = gate{} // one that is there is asked all the same
	if d := s.decide(t); d.Code != intent.CodeConsentRequired {
		t.Errorf("%+v", d)
	}
}

func TestTheDevelopmentProfileLetsPassWhatNobodyHasSaidAndNoOtherNo(t *testing.T) {
	t.Parallel()
	s := allowed()
	s.gates.Consent, s.gates.Development = gate{verdict: Verdict{Unsaid: true, Reason: "nobody asked her"}}, true
	if d := s.decide(t); !d.Allow || !strings.Contains(d.Reason, "nobody has said anything of consent to marketing") {
		t.Errorf("%+v", d)
	}
	s.gates.Development = false
	if d := s.decide(t); d.Code != intent.CodeConsentRequired || d.Reason != "nobody asked her" {
		t.Errorf("%+v", d)
	}
}

// outboxGate is a gate that asks the outbox.
type outboxGate struct{ mad }

func (outboxGate) OfOutbox() {}

func TestAGateOfTheOutboxThatGivesNoAnswerDecidesNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	for name, stuck := range map[string]func(){"panics": func() { panic("no") }, "sleeps": func() { <-release }} {
		s := allowed()
		s.gates.Consent = outboxGate{mad{gate{}, stuck}}
		engine := NewEngine(s.policy, quiet).With(s.gates)
		engine.timeout = 20 * time.Millisecond
		if d, err := engine.Decide(t.Context(), s.facts); err == nil || !reflect.DeepEqual(d, Decision{}) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func TestADecisionNamesThePoliciesThatDecidedAndTheirDigest(t *testing.T) {
	t.Parallel()
	s := allowed()
	s.policy = fakePolicy(func(context.Context) (Verdict, error) {
		return Verdict{Reason: "closed", Policies: []string{"p1"}, Digest: "sha256:1"}, nil
	})
	got, err := s.decide(t).Canonical()
	want := `{"allow":false,"code":"policy_denied","policies":["p1"],"policy":"fake","policy_digest":"sha256:1","reason":"closed","risk":0.5}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
