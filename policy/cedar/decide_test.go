package cedar_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

// deciding is an act on a refund that ada asked for.
func deciding(action policy.Action, who string, roles ...string) policy.Act {
	f := asked("payments.refund", `{"amount":"100.01","payment_id":"p"}`)
	f.Context.Principal, f.Context.Roles = "ada", []string{"support"}
	return policy.Act{
		Action: action, On: f,
		By: intent.EffectContext{Principal: who, Roles: roles, AuthenticationSource: intent.AuthenticatedDirect},
	}
}

func mayDecide(t *testing.T, text string, a policy.Act) policy.Verdict {
	t.Helper()
	v, err := bind(t, text).(policy.Deciders).MayDecide(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const fromFinance = refunds + `
@id("finance-confirms")
permit(principal in Role::"finance", action == Action::"tool.confirm", resource == Tool::"payments.refund");

@id("operators")
permit(principal in Role::"operator", action in [Action::"tool.cancel", Action::"tool.resolve"], resource);
`

func TestAnActionIsGovernedAsSoonAsAPolicysHeadNamesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text     string
		act      policy.Act
		allow    bool
		policies []string
		says     string
	}{
		"no policy names it":             {refunds, deciding(policy.ActionConfirm, "bob"), true, nil, "no policy names tool.confirm"},
		"not even for whom one forbids":  {refunds, deciding(policy.ActionDeny, "mallory"), true, nil, "no policy names tool.deny"},
		"permitted":                      {fromFinance, deciding(policy.ActionConfirm, "grace", "finance"), true, []string{"finance-confirms"}, "permitted by finance-confirms"},
		"another role":                   {fromFinance, deciding(policy.ActionConfirm, "bob", "support"), false, nil, "no policy permits it"},
		"a forbid of every action":       {fromFinance, deciding(policy.ActionConfirm, "mallory", "finance"), false, []string{"not-mallory"}, "forbidden by not-mallory: mallory left"},
		"another action stays open":      {fromFinance, deciding(policy.ActionDeny, "bob"), true, nil, "no policy names tool.deny"},
		"an action of several":           {fromFinance, deciding(policy.ActionResolve, "olga", "operator"), true, []string{"operators"}, "permitted"},
		"an action of several, not hers": {fromFinance, deciding(policy.ActionCancel, "bob"), false, nil, "no policy permits it"},
		"action in one": {`permit(principal == Principal::"x", action in Action::"tool.deny", resource);`,
			deciding(policy.ActionDeny, "bob"), false, nil, "no policy permits it"},
		"a permit without an action permits only to ask": {`
			@id("all") permit(principal, action, resource);
			@id("one") permit(principal in Role::"finance", action == Action::"tool.confirm", resource);`,
			deciding(policy.ActionConfirm, "bob"), false, nil, "no policy permits it"},
		"a forbid governs too": {`@id("no") forbid(principal == Principal::"bob", action == Action::"tool.confirm", resource);`,
			deciding(policy.ActionConfirm, "carol"), false, nil, "no policy permits it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := mayDecide(t, c.text, c.act)
			if v.Allow != c.allow || !slices.Equal(v.Policies, c.policies) || !strings.Contains(v.Reason, c.says) || v.Approval != nil || len(v.Digest) != 64 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A set that speaks of deciders decides on requests as it would without.
func TestPoliciesAboutDecidersPermitAndForbidNoRequest(t *testing.T) {
	t.Parallel()
	f := deciding(policy.ActionConfirm, "").On
	f.Context.Roles = []string{"finance", "operator"}
	for name, text := range map[string]string{"with": fromFinance, "without": refunds} {
		v, err := bind(t, text).Evaluate(context.Background(), f)
		if err != nil || !v.Allow || v.Approval == nil || v.Approval.Approvers != 2 || !slices.Equal(v.Policies, []string{"large", "refunds"}) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	only := `permit(principal, action == Action::"tool.confirm", resource);`
	if v, err := bind(t, only).Evaluate(context.Background(), f); err != nil || v.Allow {
		t.Errorf("who may confirm may run it: %+v, %v", v, err)
	}
}

// Each condition is true of grace, who confirms what ada asked for.
func TestPoliciesSeeTheDeciderTheRequesterAndTheIntent(t *testing.T) {
	t.Parallel()
	act := deciding(policy.ActionConfirm, "grace", "finance", "lead")
	act.By.OnBehalfOf = []string{"desk"}
	act.On.Context.OnBehalfOf = []string{"carol"}
	act.On.Now = time.Date(2026, 12, 3, 9, 30, 0, 0, time.UTC)
	for _, condition := range []string{
		`principal == Principal::"grace" && principal in Role::"lead" && principal.roles == ["finance","lead"]`,
		`principal.onBehalfOf.contains(Principal::"desk")`,
		`context.requester.principal == Principal::"ada" && principal != context.requester.principal`,
		`context.requester.roles.contains("support") && !principal.roles.containsAny(context.requester.roles)`,
		`context.requester.onBehalfOf == [Principal::"carol"] && context.requester.authentication.source == "direct"`,
		`!context.authentication.proven && context.tenant == "acme" && context.risk == decimal("0.29")`,
		`context.payload.amount == decimal("100.01") && resource.class == "keyed"`,
		`context.now < datetime("2026-12-03T10:00:00Z")`,
	} {
		v := mayDecide(t, `permit(principal, action == Action::"tool.confirm", resource == Tool::"payments.refund") when { `+condition+` };`, act)
		if !v.Allow {
			t.Errorf("%s: %+v", condition, v)
		}
	}
	// The same principal in two roles: who decides is not who asked.
	both := deciding(policy.ActionDeny, "ada", "finance")
	if v := mayDecide(t, `permit(principal in Role::"support", action == Action::"tool.deny", resource);`, both); v.Allow {
		t.Errorf("the requester's roles were taken for the decider's: %+v", v)
	}
}

func TestNobodyDecidesByAnActionThatThereIsNot(t *testing.T) {
	t.Parallel()
	set := bind(t, `permit(principal, action, resource);`).(policy.Deciders)
	for _, action := range []policy.Action{"", "tool.exec", policy.ActionExecute} {
		if v, err := set.MayDecide(t.Context(), deciding(action, "bob")); err == nil || v.Allow {
			t.Errorf("%q: %+v", action, v)
		}
	}
}

func TestAPolicyThatFailsAboutADeciderIsNoAnswer(t *testing.T) {
	t.Parallel()
	text := fromFinance + `@id("x") forbid(principal, action == Action::"tool.confirm", resource == Tool::"payments.refund") when { context.payload has count && context.payload.count + 1 > 5 };`
	act := deciding(policy.ActionConfirm, "grace", "finance")
	act.On.Payload = []byte(`{"amount":"100.01","count":9223372036854775807,"payment_id":"p"}`)
	v, err := bind(t, text).(policy.Deciders).MayDecide(context.Background(), act)
	if err == nil || v.Allow || !strings.Contains(err.Error(), "policy x failed: integer overflow") {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAPolicyAboutDecidersThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`permit(principal, action == Action::"tool.confrim", resource);`:                                              "unrecognized action",
		`permit(principal, action in [Action::"tool.execute", Action::"tool.comfirm"], resource);`:                    "unrecognized action",
		`permit(principal, action == Action::"hold.set", resource);`:                                                  "unrecognized action",
		`permit(principal, action, resource) when { action == Action::"tool.confirm" };`:                              "names an action in a condition",
		`@confirm forbid(principal, action == Action::"tool.confirm", resource);`:                                     "@confirm asks for people before something is run",
		`@confirm forbid(principal, action in [Action::"tool.execute", Action::"tool.deny"], resource);`:              "@confirm asks for people before something is run",
		`permit(principal, action == Action::"tool.execute", resource) when { context.requester.roles.isEmpty() };`:   "attribute `requester`",
		`forbid(principal, action, resource) when { context.requester.principal == principal };`:                      "attribute `requester`",
		`permit(principal, action == Action::"tool.confirm", resource) when { context.requester.role == "finance" };`: "attribute `role`",
		`permit(principal, action == Action::"tool.confirm", resource == Tool::"payments.refnud");`:                   "applies to no tool",
	} {
		set, err := cedar.Load(folder(text))
		if err == nil {
			_, err = set.ForTools([]policy.Hosted{refund, echo})
		}
		if intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "rules.cedar:1") {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}
