package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// scene is a request of a tenant of its own, and a worker, of which one rule after another is broken.
type scene struct {
	bundle
	world    *provider
	tenant   string
	spec     tools.Spec
	request  activities.Request
	gates    policy.Gates
	missing  bool // the worker does not host the tool
	recorded bool // the request is an intent already
	// What the host's policy says, and how many people it asks for.
	denies, fails bool
	approvers     int
}

func (*scene) Name() string { return "host" }

func (s *scene) Evaluate(context.Context, policy.Facts) (policy.Verdict, error) {
	v := policy.Verdict{Allow: !s.denies, Reason: "the host says so"}
	if s.approvers > 0 {
		v.Approval = &policy.Approval{Approvers: s.approvers}
	}
	if s.fails {
		return v, errors.New("down")
	}
	return v, nil
}

// gate is a gate of a host's own.
type gate struct {
	score float64
	err   error
}

func (gate) Name() string { return "gate" }

func (g gate) Score(context.Context, policy.Facts) (float64, error) { return g.score, g.err }

func (g gate) Consented(context.Context, policy.Facts) (policy.Verdict, error) {
	return policy.Verdict{Allow: true}, g.err
}

func (g gate) MayLeave(context.Context, policy.Facts) (policy.Verdict, error) {
	return policy.Verdict{Allow: true}, g.err
}

var down = gate{err: errors.New("down")}

// A breach breaks one rule.
type breach struct {
	code intent.Code
	// before happens while nothing speaks against the request.
	before func(*testing.T, *scene)
	put    func(*testing.T, *scene)
	// wait happens while the intent waits for people.
	wait func(*testing.T, *scene, activities.Input)
	// again says that the rule is asked again before an attempt.
	again bool
}

// breaches are one for each rule of policy.Order, in its order, and a gate_error in each place where
// one can be. A test below keeps it complete.
var breaches = []breach{
	{code: intent.CodeUnauthenticated, put: func(_ *testing.T, s *scene) { s.request.Context.Principal = "" }},
	{code: intent.CodeUnknownTool, put: func(_ *testing.T, s *scene) { s.missing = true }},
	{code: intent.CodeSpecDiverged, before: func(t *testing.T, s *scene) { s.host(t).recorded(t, s.input()); s.recorded = true },
		put: func(_ *testing.T, s *scene) { s.spec.Timeout = 7 * time.Second }},
	{code: intent.CodeInputSchema, put: func(_ *testing.T, s *scene) { s.spec.InputSchema = json.RawMessage(`{"required":["currency"]}`) }},
	{code: intent.CodeGateError, again: true, put: func(_ *testing.T, s *scene) { s.gates.Risk = down }},
	{code: intent.CodeRiskExceeded, again: true, put: func(_ *testing.T, s *scene) { s.gates.Risk = gate{score: 0.9} }},
	{code: intent.CodeConsentGateMissing, again: true, put: func(_ *testing.T, s *scene) { s.gates.Consent = policy.NoGate{} }},
	{code: intent.CodeGateError, again: true, put: func(_ *testing.T, s *scene) { s.gates.Consent = down }},
	{code: intent.CodeConsentRequired, again: true, put: func(t *testing.T, s *scene) { s.consent(t, s.tenant, "till-7", false) }},
	{code: intent.CodeEgressGateMissing, again: true, put: func(_ *testing.T, s *scene) { s.gates.Egress = policy.NoGate{} }},
	{code: intent.CodeGateError, again: true, put: func(_ *testing.T, s *scene) { s.gates.Egress = down }},
	{code: intent.CodeEgressDenied, again: true, put: func(t *testing.T, s *scene) { s.egress(t, s.tenant, outbox.EgressDeny) }},
	{code: intent.CodeGateError, again: true, put: func(_ *testing.T, s *scene) { s.fails = true }},
	{code: intent.CodePolicyDenied, again: true, put: func(_ *testing.T, s *scene) { s.denies = true }},
	{code: intent.CodeBudgetUncountable, put: func(t *testing.T, s *scene) {
		s.allow(t, outbox.BudgetSubject{Tenant: s.tenant, Kind: outbox.BudgetMoney, Currency: "EUR", Window: time.Hour}, "100") // the payload has no currency
	}},
	{code: intent.CodeBudgetExceeded, put: func(t *testing.T, s *scene) {
		s.allow(t, outbox.BudgetSubject{Tenant: s.tenant, Kind: outbox.BudgetIntents, Window: time.Hour}, "0")
	}},
	{code: intent.CodeDuplicateSuspected,
		before: func(t *testing.T, s *scene) {
			s.request.RequestKey = intent.MintedRequestKey(uuid.New())
			s.host(t).drive(t, s.input())
			s.request.RequestKey = intent.MintedRequestKey(uuid.New())
		},
		put: func(_ *testing.T, s *scene) { s.spec.Duplicates.Action = intent.RefuseDuplicates }},
	{code: intent.CodeConfirmationRequired, put: func(_ *testing.T, s *scene) { s.approvers = 1 }},
	{code: intent.CodeConfirmationInsufficient, put: func(_ *testing.T, s *scene) { s.approvers = 1 },
		wait: func(t *testing.T, s *scene, in activities.Input) {
			if _, err := s.store.Confirm(t.Context(), in.IntentID, eve); err != nil {
				t.Error(err)
			}
			s.approvers = 2
		}},
	{code: intent.CodeConfirmationExpired, put: func(_ *testing.T, s *scene) { s.approvers = 1 },
		wait: func(t *testing.T, s *scene, _ activities.Input) { s.later(t, activities.DefaultConfirmWithin) }},
	{code: intent.CodeConfirmationDenied, put: func(_ *testing.T, s *scene) { s.approvers = 1 },
		wait: func(t *testing.T, s *scene, in activities.Input) {
			denial, err := activities.Denial(s.row(t, in), eve)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.store.Deny(t.Context(), denial, eve, activities.Seal) // it may come too late
		}},
}

// gatedOutbox is an outbox for scenes: its general rule lets the tool's data go to its provider.
func gatedOutbox(t *testing.T) (bundle, *provider) {
	t.Helper()
	world := &provider{answers: []func() (tools.Result, error){applied}}
	b := start(t, nil, tools.New(keyed(), world.invoke))
	b.egress(t, "", outbox.EgressAllow)
	return b, world
}

// scene is one that nothing speaks against.
func (b bundle) scene(t *testing.T, world *provider) *scene {
	t.Helper()
	s := &scene{bundle: b, world: world, tenant: "tenant-" + uuid.NewString(), spec: needing(keyed())}
	s.request = *ask(s.spec.Name, func(r *activities.Request) { r.Context.Tenant = s.tenant }).Request
	b.consent(t, s.tenant, "till-7", true)
	return s
}

// needing is a tool that declares everything that the gates are asked about.
func needing(spec tools.Spec) tools.Spec {
	spec.Provider, spec.MaxRisk, spec.Consents, spec.DataClasses = "bank", 0.5, []string{"billing"}, []string{"contact"}
	spec.Stake = tools.Stake{Amount: "/amount"}
	return spec
}

func (s *scene) input() activities.Input {
	r := s.request
	return activities.Input{IntentID: intent.IntentID(r.Context.Tenant, r.RequestKey), Request: &r}
}

// host is a worker as the scene has it.
func (s *scene) host(t *testing.T) bundle {
	t.Helper()
	spec := s.spec
	if s.missing {
		spec.Name = "payments.void"
	}
	return s.gated(t, s, s.gates, tools.New(spec, s.world.invoke))
}

// answers breaks the rules, of which the first is the earliest, and returns what the request is
// answered with, one after the other; "" if it runs, and nothing if it waits for a worker.
func (s *scene) answers(t *testing.T, spoil ...breach) (codes []intent.Code) {
	t.Helper()
	// The earlier rule is broken last: where both are of one gate, it answers as that one says.
	for _, b := range slices.Backward(spoil) {
		if b.before != nil {
			b.before(t, s)
		}
	}
	for _, b := range slices.Backward(spoil) {
		b.put(t, s)
	}
	in := s.input()
	worker := s.host(t)
	if s.missing && s.recorded {
		if p, err := worker.Authorize(t.Context(), in); err == nil || s.row(t, in).State != intent.Recorded {
			t.Errorf("an intent on record does not wait for its tool: %+v", p)
		}
		return nil
	}
	p, _ := worker.drive(t, in)
	if p.State == intent.AwaitingConfirmation {
		codes = append(codes, intent.CodeConfirmationRequired)
		waited := false
		for _, b := range spoil {
			if b.wait != nil {
				b.wait(t, s, in)
				waited = true
			}
		}
		if !waited {
			return codes
		}
		p, _ = worker.drive(t, activities.Input{IntentID: in.IntentID})
	}
	switch {
	case p.Rejection != nil:
		return append(codes, p.Rejection.Code)
	case p.State == intent.Completed:
		return append(codes, "")
	case p.State != intent.Refused:
		t.Fatalf("it is %s", p.State)
	}
	return append(codes, s.refusal(t, in).Code)
}

func TestThereIsABreachOfEveryRuleInTheOrder(t *testing.T) {
	t.Parallel()
	var got, want []intent.Code
	for _, b := range breaches {
		if b.code != intent.CodeGateError {
			got = append(got, b.code)
		}
	}
	for _, rule := range policy.Order() {
		want = append(want, rule.Code)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the breaches are of %v;\nthe rules are %v", got, want)
	}
}

func TestEveryRuleRefusesAloneAndBeforeEachLaterOne(t *testing.T) {
	t.Parallel()
	b, world := gatedOutbox(t)
	if answers := b.scene(t, world).answers(t); !slices.Equal(answers, []intent.Code{""}) || len(world.asked()) != 1 {
		t.Fatalf("nothing speaks against it, and %q", answers)
	}
	for i, first := range breaches {
		for j := i; j < len(breaches); j++ { // j == i: alone
			later := breaches[j]
			broken := breaches[i : i+1]
			if j > i {
				broken = []breach{first, later}
			}
			answers := b.scene(t, world).answers(t, broken...)
			if first.code == intent.CodeUnknownTool && later.code == intent.CodeSpecDiverged {
				// An intent that is on record waits for a worker with its tool.
				if len(answers) != 0 {
					t.Errorf("a tool that is not hosted, of an intent on record: %q", answers)
				}
				continue
			}
			want := []intent.Code{first.code}
			if first.wait != nil {
				want = []intent.Code{intent.CodeConfirmationRequired, first.code}
			} else if later.wait != nil && first.code == intent.CodeConfirmationRequired {
				want = []intent.Code{first.code, later.code}
			}
			if !slices.Equal(answers, want) {
				t.Errorf("%s (%d) before %s (%d): answered %q, want %q", first.code, i, later.code, j, answers, want)
			}
		}
	}
	// The one without a breach, and in each scene of a duplicate the one that it repeats.
	if sent := 1 + len(breaches); len(world.asked()) != sent {
		t.Errorf("the provider was asked %d times, want %d", len(world.asked()), sent)
	}
}

// What is asked again decides in the same order.
func TestEveryRuleThatIsAskedAgainStopsWhatWaitsInTheSameOrder(t *testing.T) {
	t.Parallel()
	b, world := gatedOutbox(t)
	for i, first := range breaches {
		for j := i; j < len(breaches); j++ {
			later := breaches[j]
			if !first.again || !later.again {
				continue
			}
			s := b.scene(t, world)
			s.host(t).recorded(t, s.input())
			s.recorded = true
			if answers := s.answers(t, first, later); !slices.Equal(answers, []intent.Code{first.code}) {
				t.Errorf("%s (%d) before %s (%d): answered %q", first.code, i, later.code, j, answers)
			}
		}
	}
	if len(world.asked()) != 0 {
		t.Errorf("the provider was asked %d times", len(world.asked()))
	}
}
