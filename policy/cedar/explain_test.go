package cedar_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

const explained = `// Who may refund.
@id("refunds")
permit(principal in Role::"support", action == Action::"tool.execute", resource == Tool::"payments.refund"); // always

// Much needs two.
@id("large")
@confirm("2")
forbid(principal, action, resource == Tool::"payments.refund")
when { context.tenant == "acme" && context.payload.amount.greaterThan(decimal("100.0")) };
@id("unless") forbid(principal, action, resource) unless { context.risk.lessThan(decimal("0.9")) };
@id("counts")
forbid(principal, action, resource == Tool::"payments.refund") when { context.payload has count && context.payload.count * 2 > 5 };
@id("echoes")
permit(principal, action, resource == Tool::"echo");
`

func explain(t *testing.T, f policy.Facts) (cedar.Explanation, map[string]cedar.Considered) {
	t.Helper()
	e := bind(t, explained).(*cedar.Set).Explain(t.Context(), policy.Asking(f))
	byID := map[string]cedar.Considered{}
	for _, c := range e.Considered {
		byID[c.ID] = c
	}
	return e, byID
}

func TestAnExplanationSaysOfEachPolicyWhatBecameOfItAndWhy(t *testing.T) {
	t.Parallel()
	f := asked("payments.refund", `{"amount":"100.01","count":1}`)
	f.Context.Roles = []string{"support"}
	e, considered := explain(t, f)
	if !e.Allow || e.Approvers != 2 || !slices.Equal(e.Policies, []string{"large", "refunds"}) || len(e.PolicyDigest) != 64 || e.Error != "" {
		t.Errorf("%+v", e)
	}
	if len(considered) != 4 { // nothing about echo
		t.Errorf("%+v", e.Considered)
	}
	want := cedar.Considered{ID: "large", File: "rules.cedar", Line: 6, Kind: "confirm", Outcome: cedar.Applies, Text: `@id("large")
@confirm("2")
forbid(principal, action, resource == Tool::"payments.refund")
when { context.tenant == "acme" && context.payload.amount.greaterThan(decimal("100.0")) };`}
	if got := considered["large"]; got != want {
		t.Errorf("%+v", got)
	}
	if text := considered["refunds"].Text; !strings.HasSuffix(text, "; // always") || !strings.HasPrefix(text, `@id("refunds")`) {
		t.Errorf("%q", text)
	}
	if got := considered["unless"]; got.Outcome != cedar.DoesNotApply || got.Why != `this does not hold: unless { context.risk.lessThan(decimal("0.9")) }` {
		t.Errorf("%+v", got)
	}

	f = asked("payments.refund", `{"amount":"100","count":9223372036854775807}`)
	e, considered = explain(t, f)
	if e.Allow || !strings.Contains(e.Error, "policy counts failed: integer overflow") {
		t.Errorf("%+v", e)
	}
	for id, why := range map[string]string{
		"refunds": `its head does not fit: principal in Role::"support"`,
		"large":   `this does not hold: when { context.payload.amount.greaterThan(decimal("100.0")) }`,
		"counts":  "integer overflow",
	} {
		if got := considered[id]; got.Why != why {
			t.Errorf("%+v; want %q", got, why)
		}
	}
	if considered["counts"].Outcome != cedar.Fails {
		t.Errorf("%+v", considered["counts"])
	}
}

func TestAnExplanationShowsWhatPoliciesWereGivenButNothingThatIsWriteOnly(t *testing.T) {
	t.Parallel()
	f := asked("payments.refund", `{"amount":"100.00"}`)
	f.Context.Roles, f.Context.OnBehalfOf = []string{"support"}, []string{"ada"}
	e, _ := explain(t, f)
	for name, value := range map[string]string{
		"principal": `Principal::"till-7"`, "principal.roles": `["support"]`, "principal.onBehalfOf": `[Principal::"ada"]`,
		"resource": `Tool::"payments.refund"`, "resource.category": `"payments"`, "context.risk": `decimal("0.29")`,
		"context.tenant": `"acme"`, "context.payload.amount": `decimal("100.0")`, "context.now": `datetime("2026-12-03T12:00:00.000Z")`,
	} {
		if e.Given[name] != value {
			t.Errorf("%s is %s, want %s", name, e.Given[name], value)
		}
	}

	for name, c := range map[string]struct{ schema, card string }{
		"a member":    {`{"type":"object","properties":{"card":{"type":"object","properties":{"cvc":{"type":"string","writeOnly":true}}}}}`, `{"cvc":"4711"}`},
		"an array":    {`{"type":"object","properties":{"card":{"type":"array","items":{"type":"string","writeOnly":true}}}}`, `["4711"]`},
		"all of it":   {`{"type":"object","properties":{"card":{"type":["string","object"],"writeOnly":true}}}`, `"4711"`},
		"a reference": {`{"type":"object","properties":{"card":{"$ref":"#/$defs/card"}},"$defs":{"card":{"type":"string","writeOnly":true}}}`, `"4711"`},
		"beside":      {`{"type":"object","properties":{"card":{"type":"object"}},"allOf":[{"properties":{"card":{"writeOnly":true}}}]}`, `{"cvc":"4711"}`},
		"of any name": {`{"type":"object","additionalProperties":{"type":"string","writeOnly":true}}`, `"4711"`},
		"several":     {`{"type":"object","properties":{"card":{"anyOf":[{"type":"string","writeOnly":true},{"type":"null"}]}}}`, `"4711"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := cedar.FromFiles(map[string]string{"a.cedar": `permit(principal, action, resource) when { context.payload has card };`})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := set.ForTools([]policy.Hosted{{Name: "pay", Class: intent.Keyed, InputSchema: json.RawMessage(c.schema)}})
			if err != nil {
				t.Fatal(err)
			}
			e := bound.(*cedar.Set).Explain(t.Context(), policy.Asking(asked("pay", `{"card":`+c.card+`}`)))
			text, err := json.Marshal(e)
			if err != nil || !e.Allow || strings.Contains(string(text), "4711") || !strings.Contains(string(text), "writeOnly") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// What asks for people, and what permits only to ask, rules no decider and is not named as if it did.
func TestAnExplanationOfADecisionNamesThePoliciesThatRuleWhoDecides(t *testing.T) {
	t.Parallel()
	text := fromFinance + `
@id("all") permit(principal, action, resource);
@id("overflows") forbid(principal, action == Action::"tool.cancel", resource == Tool::"payments.refund")
when { context.payload has count && context.payload.count + 1 > 5 };`
	act := func(action policy.Action, payload string, roles ...string) policy.Act {
		a := deciding(action, "grace", roles...)
		a.On.Payload = []byte(payload)
		return a
	}
	const small, huge = `{"amount":"100.01","payment_id":"p"}`, `{"amount":"100.01","payment_id":"p","count":9223372036854775807}`
	confirming := map[string]string{
		"finance-confirms": "applies", "not-mallory": "does_not_apply its head does not fit: principal == Principal::\"mallory\"",
		"refunds": "does_not_apply its head does not fit: action == Action::\"tool.execute\"",
	}
	for name, c := range map[string]struct {
		act        policy.Act
		allow      bool
		reason     string
		fails      string
		considered map[string]string
	}{
		"may confirm":  {act(policy.ActionConfirm, small, "finance"), true, "permitted by finance-confirms", "", confirming},
		"not governed": {act(policy.ActionDeny, small), true, "no policy names tool.deny", "", nil},
		"a policy fails": {act(policy.ActionCancel, huge, "operator"), false, "", "policy overflows failed: integer overflow",
			map[string]string{"overflows": "fails integer overflow", "operators": "applies"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := bind(t, text).(*cedar.Set).Explain(t.Context(), c.act)
			if e.Allow != c.allow || e.Approvers != 0 || e.Reason != c.reason || e.Error != c.fails || len(c.considered) == 0 != (len(e.Considered) == 0) {
				t.Errorf("%+v", e)
			}
			got := map[string]string{}
			for _, p := range e.Considered {
				got[p.ID] = strings.TrimSpace(string(p.Outcome) + " " + p.Why)
			}
			for id, want := range c.considered {
				if got[id] != want {
					t.Errorf("%s: %q; want %q", id, got[id], want)
				}
			}
			for _, id := range []string{"all", "large"} {
				if got[id] != "" {
					t.Errorf("%s is named, and rules no decider: %q", id, got[id])
				}
			}
			if requester := e.Given["context.requester"]; !strings.Contains(requester, `Principal::"ada"`) || e.Given["principal"] != `Principal::"grace"` {
				t.Errorf("%+v", e.Given)
			}
		})
	}
}
