package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/policy"
	"writ/tools"
)

// gates answers as a case says; what it does not say is allowed.
type gates struct{ noConsent, noEgress, down bool }

func (gates) Name() string { return "gates" }

func (g gates) Consented(context.Context, policy.Facts) (policy.Verdict, error) {
	if g.down {
		return policy.Verdict{}, errors.New("down")
	}
	return policy.Verdict{Allow: !g.noConsent, Reason: "not consented"}, nil
}

func (g gates) MayLeave(context.Context, policy.Facts) (policy.Verdict, error) {
	return policy.Verdict{Allow: !g.noEgress, Reason: "not abroad"}, nil
}

// violation is a request, and a worker, of which one rule after another is broken.
type violation struct {
	spec    tools.Spec
	in      activities.Input
	gates   gates
	policy  policyFunc
	missing bool
}

// ordered is the order as a caller sees it. What needs a row that waits, confirmation apart from
// its demand, has tests of its own.
var ordered = []struct {
	code intent.Code
	put  func(*violation)
}{
	{intent.CodeUnauthenticated, func(v *violation) { v.in.Request.Context.Principal = "" }},
	{intent.CodeUnknownTool, func(v *violation) { v.missing = true }},
	{intent.CodeInputSchema, func(v *violation) { v.spec.InputSchema = json.RawMessage(`{"required":["currency"]}`) }},
	{intent.CodeRiskExceeded, func(v *violation) { v.in.Request.Context.Risk = 0.9 }},
	{intent.CodeGateError, func(v *violation) { v.gates.down = true }},
	{intent.CodeConsentRequired, func(v *violation) { v.gates.noConsent = true }},
	{intent.CodeEgressDenied, func(v *violation) { v.gates.noEgress = true }},
	{intent.CodePolicyDenied, func(v *violation) {
		v.policy = func() (policy.Verdict, error) { return policy.Verdict{Reason: "closed"}, nil }
	}},
	{intent.CodeDuplicateSuspected, func(v *violation) {
		v.spec.Duplicates.Action = intent.RefuseDuplicates
		v.in.Request.RequestKey = "" // minted: it repeats the one that the test begins with
	}},
}

func TestARequestThatBreaksTwoRulesIsAnsweredWithTheEarlierOne(t *testing.T) {
	t.Parallel()
	provider := &provider{answers: []func() (tools.Result, error){applied}}
	spec := keyed()
	spec.Provider, spec.MaxRisk, spec.Consents, spec.DataClasses = "bank", 0.5, []string{"billing"}, []string{"contact"}
	allow := policyFunc(func() (policy.Verdict, error) { return policy.Verdict{Allow: true}, nil })
	b := start(t, allow, tools.New(spec, provider.invoke))
	first := b.gated(t, allow, policy.Gates{Consent: gates{}, Egress: gates{}}, tools.New(spec, provider.invoke))
	if p, _ := first.drive(t, ask(spec.Name)); p.State != intent.Completed {
		t.Fatalf("nothing speaks against it, and %+v", p)
	}
	for i, rule := range ordered {
		for j := i; j < len(ordered); j++ { // j == i: alone
			later := ordered[j]
			v := violation{spec: spec, policy: allow, in: ask(spec.Name, func(r *activities.Request) {
				r.RequestKey = intent.RequestKey(fmt.Sprintf("order-%d-%d", i, j))
			})}
			later.put(&v)
			rule.put(&v)
			if got := v.answer(t, b, provider); got != rule.code {
				t.Errorf("%s and %s: answered %s", rule.code, later.code, got)
			}
		}
	}
	if len(provider.asked()) != 1 {
		t.Errorf("asked %d times", len(provider.asked()))
	}
}

// gated is the same outbox with a worker that has gates.
func (b bundle) gated(t *testing.T, p policy.Policy, g policy.Gates, list ...tools.Tool) bundle {
	t.Helper()
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	b.Activities = activities.New(activities.Config{Store: b.store, Registry: registry, Policy: policy.NewEngine(p, quiet).With(g),
		TaskQueue: "writ", Worker: "worker-1", Logger: quiet})
	return b
}

// answer drives the request and returns the code that it is refused with.
func (v violation) answer(t *testing.T, b bundle, world *provider) intent.Code {
	t.Helper()
	if v.missing {
		v.spec.Name = "payments.void"
	}
	worker := b.gated(t, v.policy, policy.Gates{Consent: v.gates, Egress: v.gates}, tools.New(v.spec, world.invoke))
	r := v.in.Request
	if r.RequestKey == "" {
		r.RequestKey = intent.MintedRequestKey(uuid.New())
		v.in.IntentID = intent.IntentID(r.Context.Tenant, r.RequestKey)
	}
	p, _ := worker.drive(t, v.in)
	if p.Rejection != nil {
		return p.Rejection.Code
	}
	if p.State != intent.Refused {
		t.Fatalf("it is %s", p.State)
	}
	var d policy.Decision
	if err := json.Unmarshal(worker.receipt(t, v.in).Decision, &d); err != nil {
		t.Fatal(err)
	}
	return d.Code
}

func TestAChangedToolIsSaidBeforeWhatTheGatesSay(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), applied)
	in := ask("payments.capture")
	b.recorded(t, in)
	changed := keyed()
	changed.Timeout, changed.Consents = 2*changed.Timeout, []string{"billing"}
	p, _ := b.gated(t, nil, policy.Gates{Consent: gates{noConsent: true}}, tools.New(changed, provider.invoke)).drive(t, activities.Input{IntentID: in.IntentID})
	var d policy.Decision
	if err := json.Unmarshal(b.receipt(t, in).Decision, &d); err != nil || p.State != intent.Refused || d.Code != intent.CodeSpecDiverged {
		t.Errorf("%s: %+v, %v", p.State, d, err)
	}
}

func TestAConsentThatEndsWhileAnIntentWaitsStopsItWithAReceipt(t *testing.T) {
	t.Parallel()
	spec := keyed()
	spec.Consents = []string{"billing"}
	world := &provider{answers: []func() (tools.Result, error){applied}}
	b := start(t, nil, tools.New(spec, world.invoke))
	in := ask(spec.Name)
	b.gated(t, nil, policy.Gates{Consent: gates{}}, tools.New(spec, world.invoke)).recorded(t, in)
	b.later(t, time.Hour)
	p, _ := b.gated(t, nil, policy.Gates{Consent: gates{noConsent: true}}, tools.New(spec, world.invoke)).drive(t, activities.Input{IntentID: in.IntentID})
	var d policy.Decision
	if err := json.Unmarshal(b.receipt(t, in).Decision, &d); err != nil || p.State != intent.Refused || d.Code != intent.CodeConsentRequired || len(world.asked()) != 0 {
		t.Errorf("%s: %+v, %v, asked %d times", p.State, d, err, len(world.asked()))
	}
}

func TestTheRiskThatACallerStatesIsSealedInTheContextAndTheDecision(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, keyed(), applied)
	in := ask("payments.capture", func(r *activities.Request) { r.Context.Risk = 0.25 })
	b.drive(t, in)
	row := b.row(t, in)
	var c intent.EffectContext
	var d policy.Decision
	if err := errors.Join(json.Unmarshal(row.EffectContext, &c), json.Unmarshal(row.Decision, &d)); err != nil || c.Risk != 0.25 || d.Risk != 0.25 {
		t.Errorf("%s, %s, %v", row.EffectContext, row.Decision, err)
	}
	in = ask("payments.capture", func(r *activities.Request) { r.Context.Risk, r.RequestKey = 1.5, "order-4712" })
	if p, _ := b.drive(t, in); p.Rejection == nil || p.Rejection.Code != intent.CodeInvalidRequest {
		t.Errorf("%+v", p)
	}
}
