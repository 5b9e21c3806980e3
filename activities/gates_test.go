package activities_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// gated is the same outbox with a worker that has gates, and Writ's own where it has none.
func (b bundle) gated(t *testing.T, p policy.Policy, g policy.Gates, list ...tools.Tool) bundle {
	t.Helper()
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	b.Activities = activities.New(activities.Config{Store: b.store, Registry: registry, Policy: policy.NewEngine(p, quiet).With(activities.WithGates(g, b.store)),
		TaskQueue: "writ", Worker: "worker-1", Logger: quiet})
	return b
}

func (b bundle) consent(t *testing.T, tenant, person string, granted bool) {
	t.Helper()
	if _, err := b.store.SetConsent(t.Context(), outbox.ConsentSubject{Tenant: tenant, Person: person, Purpose: "billing"}, granted, eve); err != nil {
		t.Fatal(err)
	}
}

func (b bundle) egress(t *testing.T, tenant string, verdict outbox.EgressVerdict) {
	t.Helper()
	if _, err := b.store.SetEgress(t.Context(), outbox.EgressSubject{Tenant: tenant, DataClass: "contact", Provider: "bank"}, verdict, eve); err != nil {
		t.Fatal(err)
	}
}

func (b bundle) allow(t *testing.T, on outbox.BudgetSubject, allowed string) {
	t.Helper()
	if _, err := b.store.SetBudget(t.Context(), on, allowed, outbox.OverDeny, eve); err != nil {
		t.Fatal(err)
	}
}

// refusal is the decision in the receipt.
func (b bundle) refusal(t *testing.T, in activities.Input) (d policy.Decision) {
	t.Helper()
	if err := json.Unmarshal(b.receipt(t, in).Decision, &d); err != nil || d.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
	return d
}

// needy is a scene whose tool declares needs, and a worker with Writ's own gates.
func needy(t *testing.T) *scene {
	t.Helper()
	b, world := gatedOutbox(t)
	return b.scene(t, world)
}

func TestAConsentThatIsRevokedWhileAnIntentWaitsStopsItWithAReceipt(t *testing.T) {
	t.Parallel()
	s := needy(t)
	in := s.input()
	s.host(t).recorded(t, in)
	s.later(t, time.Hour)
	s.consent(t, s.tenant, "till-7", false)
	p, _ := s.host(t).drive(t, activities.Input{IntentID: in.IntentID})
	d := s.refusal(t, in)
	if p.State != intent.Refused || d.Code != intent.CodeConsentRequired || d.Policy != "consents" || !strings.Contains(d.Reason, "the consent of till-7 to billing was revoked at ") || len(s.world.asked()) != 0 {
		t.Errorf("%s: %+v, asked %d times", p.State, d, len(s.world.asked()))
	}
}

func TestAnEgressThatIsDeniedAfterAPersonHasConfirmedStopsTheIntent(t *testing.T) {
	t.Parallel()
	s := needy(t)
	s.approvers = 1
	in := s.input()
	if p, _ := s.host(t).drive(t, in); p.State != intent.AwaitingConfirmation {
		t.Fatalf("%+v", p)
	}
	if _, err := s.store.Confirm(t.Context(), in.IntentID, eve); err != nil {
		t.Fatal(err)
	}
	s.egress(t, s.tenant, outbox.EgressDeny)
	p, _ := s.host(t).drive(t, activities.Input{IntentID: in.IntentID})
	d := s.refusal(t, in)
	if p.State != intent.Refused || d.Code != intent.CodeEgressDenied || d.Policy != "egress-rules" || d.Reason != "a rule does not let contact go to bank" || len(s.world.asked()) != 0 {
		t.Errorf("%s: %+v, asked %d times", p.State, d, len(s.world.asked()))
	}
}

// Ada has consented, and so
// has till-7, who asks; bob has said nothing, and carl has revoked.
func TestWhoeverIsConcernedHasToConsent(t *testing.T) {
	t.Parallel()
	s := needy(t)
	s.consent(t, s.tenant, "ada", true)
	s.consent(t, s.tenant, "carl", false)
	for name, tc := range map[string]struct {
		principal string
		asksFor   []string
		reason    string // empty: it runs
	}{
		"who asks":                              {"till-7", nil, ""},
		"who asks, and said nothing":            {"agent-7", nil, "agent-7 has not consented to billing"},
		"an agent for somebody":                 {"agent-7", []string{"ada"}, ""},
		"an agent with a consent for bob":       {"till-7", []string{"bob"}, "bob has not consented to billing"},
		"bob, and one more who has":             {"agent-7", []string{"bob", "ada"}, "bob has not consented to billing"},
		"one who has, for bob":                  {"agent-7", []string{"ada", "bob"}, "bob has not consented to billing"},
		"an agent that revoked, for somebody":   {"carl", []string{"ada"}, "the consent of carl to billing was revoked"},
		"one more, who revoked, before the end": {"agent-7", []string{"bob", "carl", "ada"}, "the consent of carl to billing was revoked"},
	} {
		s.request.Context.Principal, s.request.Context.OnBehalfOf = tc.principal, tc.asksFor
		s.request.RequestKey = intent.RequestKey(strings.ReplaceAll(name, " ", "-"))
		p, _ := s.host(t).drive(t, s.input())
		if tc.reason == "" {
			if p.State != intent.Completed {
				t.Errorf("%s: %+v", name, p)
			}
			continue
		}
		if d := s.refusal(t, s.input()); d.Code != intent.CodeConsentRequired || !strings.HasPrefix(d.Reason, tc.reason) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestTheDevelopmentProfileLetsPassWhatNobodyHasSaidAndNoNo(t *testing.T) {
	t.Parallel()
	s := needy(t)
	s.gates.Development = true
	s.request.Context.OnBehalfOf = []string{"bob"} // of whom nobody has said anything
	s.egress(t, "", outbox.EgressRemoved)
	if p, _ := s.host(t).drive(t, s.input()); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	var d policy.Decision
	if err := json.Unmarshal(s.receipt(t, s.input()).Decision, &d); err != nil {
		t.Fatal(err)
	}
	want := "the host says so; the development profile let pass that nobody has said anything of consent to billing and that nobody has said anything of egress of contact to bank"
	if d.Reason != want {
		t.Errorf("%q", d.Reason)
	}
	for code, no := range map[intent.Code]func(*scene){
		intent.CodeEgressDenied:    func(s *scene) { s.egress(t, s.tenant, outbox.EgressDeny) },
		intent.CodeConsentRequired: func(s *scene) { s.consent(t, s.tenant, "bob", false) },
	} {
		denied := *s
		denied.tenant += "-" + string(code)
		denied.request.Context.Tenant = denied.tenant
		no(&denied)
		denied.host(t).drive(t, denied.input())
		if d := denied.refusal(t, denied.input()); d.Code != code {
			t.Errorf("%s: %+v", code, d)
		}
	}
}

// A gate that asks the outbox is away with it: the request waits, and is not refused.
func TestAGateThatTheOutboxKeepsWaitingDecidesNothing(t *testing.T) {
	t.Parallel()
	s := needy(t)
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE consents`); err != nil {
		t.Fatal(err)
	}
	if p, err := s.host(t).Authorize(t.Context(), s.input()); err == nil || !strings.Contains(err.Error(), "policy consents") {
		t.Errorf("%+v, %v", p, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p, _ := s.host(t).drive(t, s.input()); p.State != intent.Completed {
		t.Errorf("%+v", p)
	}
}

// A worker whose tools need nothing asks no gate, so its tables may even be out of reach.
func TestAToolThatDeclaresNoNeedAsksNoGate(t *testing.T) {
	t.Parallel()
	s := needy(t)
	s.exec(t, `DROP TABLE consents, egress_rules`)
	s.spec.Consents, s.spec.DataClasses = nil, nil
	if p, _ := s.host(t).drive(t, s.input()); p.State != intent.Completed {
		t.Errorf("%+v", p)
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
