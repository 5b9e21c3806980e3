package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/policy/cedar"
	"writ/tools"
)

func TestPoliciesArePutInForceListedShownAndTakenBack(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	if r := store.writ(t, "policy", "list"); r.status != 0 || !strings.Contains(r.stdout, "no policies were ever put in force") {
		t.Errorf("status %d: %q", r.status, r.stdout)
	}
	var f failure
	r := store.writ(t, "policy", "show", "-o", "json")
	if r.document(t, &f); r.status != 2 || f.Error.Code != "policies_not_found" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	// Before its first worker ran, a tool is not known, and a policy about it would be unchecked.
	everybody := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds})
	r = store.writ(t, "policy", "put", everybody, "-o", "json")
	if r.document(t, &f); r.status != 2 || f.Error.Code != "invalid_policy" || !strings.Contains(f.Error.Message, "a.cedar:1: ") {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	store.publish(t, tools.Spec{Name: "payments.refund", SideEffectful: true, Idempotent: true})

	var first, second, back writ.PolicyChange
	r = store.writ(t, "policy", "put", everybody, "--principal", "ada", "--role", "security", "--note", "as the audit asked", "-o", "json")
	if r.document(t, &first); r.status != 0 || !first.InForce || first.Number != 1 || first.Principal != "ada" || first.Note != "as the audit asked" || len(first.Digest) != 64 {
		t.Errorf("status %d, %+v, %s", r.status, first, r.stderr)
	}
	nobody := policyFolder(t, map[string]string{"a.cedar": strings.Replace(everybodyRefunds, "permit", "forbid", 1)})
	r = store.writ(t, "policy", "put", nobody, "--principal", "eve", "-o", "json")
	if r.document(t, &second); r.status != 0 || second.Number != 2 || second.Digest == first.Digest {
		t.Errorf("status %d, %+v, %s", r.status, second, r.stderr)
	}
	r = store.writ(t, "policy", "put", "--digest", first.Digest, "--principal", "ada", "-o", "json")
	if r.document(t, &back); r.status != 0 || back.Number != 3 || back.Digest != first.Digest {
		t.Errorf("status %d, %+v, %s", r.status, back, r.stderr)
	}
	var list []writ.PolicyChange
	r = store.writ(t, "policy", "list", "-o", "json")
	if r.document(t, &list); len(list) != 3 || !list[0].InForce || list[1].InForce || list[1].Principal != "eve" || list[2].Roles[0] != "security" {
		t.Errorf("%+v", list)
	}
	if r = store.writ(t, "policy", "list"); !strings.Contains(r.stdout, "by ada at ") || !strings.Contains(r.stdout, "by ada as security at ") || !strings.Contains(r.stdout, ": as the audit asked") || strings.Count(r.stdout, "in force") != 1 {
		t.Errorf("%s", r.stdout)
	}
	if r = store.writ(t, "policy", "show"); r.stdout != "// a.cedar\n"+everybodyRefunds+"\n" {
		t.Errorf("%q", r.stdout)
	}
	var set writ.PolicySet
	r = store.writ(t, "policy", "show", second.Digest, "-o", "json")
	if r.document(t, &set); set.Digest != second.Digest || !strings.HasPrefix(set.Files["a.cedar"], "forbid") {
		t.Errorf("%+v", set)
	}
	for _, c := range []struct {
		code string
		args []string
	}{
		{"usage", []string{"put"}},
		{"usage", []string{"put", everybody, "--digest", first.Digest}},
		{"usage", []string{"put", "--digest", ""}},
		{"policies_not_found", []string{"put", "--digest", strings.Repeat("0", 64)}},
		{"invalid_policy", []string{"put", t.TempDir()}},
		{"system_principal", []string{"put", everybody, "--principal", "writ:breaker"}},
		{"usage", []string{"show", ""}},
		{"policies_not_found", []string{"show", "refunds"}},
		{"usage", []string{"show", "a", "b"}},
	} {
		r := store.writ(t, append([]string{"policy", "-o", "json"}, c.args...)...)
		if r.document(t, &f); r.status == 0 || f.Error.Code != c.code {
			t.Errorf("%q: status %d, %+v", c.args, r.status, f.Error)
		}
	}
	if changes, err := store.PolicyChanges(t.Context()); err != nil || len(changes) != 3 {
		t.Errorf("what was refused left %+v, %v", changes, err)
	}
}

func TestADecisionIsExplainedByThePoliciesThatItNamesAndHeldAgainstThoseOfToday(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true})
	files := map[string]string{"then.cedar": "@id(\"tills\")\npermit(principal == Principal::\"till-7\", action, resource);"}
	set, err := cedar.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	p := proposal("order-1", "till-7")
	p.EffectContext, err = json.Marshal(intent.EffectContext{Principal: "till-7", Tenant: "default", AuthenticationSource: intent.AuthenticatedDirect})
	if err != nil {
		t.Fatal(err)
	}
	end := answered(intent.Applied)
	end.decision = policy.Decision{Allow: true, Policy: "cedar", Policies: []string{"tills"}, PolicyDigest: set.Digest().String(), Reason: "permitted by tills"}
	store.ended(t, p, end)
	explain := func() (e writ.IntentExplanation) {
		t.Helper()
		r := store.writ(t, "policy", "explain", "--intent", p.ID().String(), "-o", "json")
		if r.document(t, &e); r.status != 0 {
			t.Fatalf("status %d, %s", r.status, r.stderr)
		}
		return e
	}
	if e := explain(); e.Then != nil || e.Now != nil || e.Differs != nil || len(e.Missing) != 2 {
		t.Errorf("before the policies were kept: %+v", e)
	}
	if err := store.SavePolicies(t.Context(), set.Digest().String(), files); err != nil {
		t.Fatal(err)
	}
	if e := explain(); e.Then == nil || !e.Then.Allow || e.Then.Policies[0] != "tills" || e.Then.Considered[0].Line != 1 || e.Now != nil {
		t.Errorf("%+v", e)
	}
	for text, differs := range map[string]bool{
		files["then.cedar"]: false,
		`permit(principal == Principal::"till-8", action, resource);`:                                      true,
		files["then.cedar"] + ` @confirm forbid(principal, action, resource == Tool::"payments.capture");`: true,
	} {
		now, err := cedar.FromFiles(map[string]string{"now.cedar": text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.PutPolicies(t.Context(), now.Digest().String(), now.Files(), outbox.Decider{Principal: "ada"}); err != nil {
			t.Fatal(err)
		}
		if e := explain(); e.Differs == nil || *e.Differs != differs || e.Now == nil {
			t.Errorf("%s: %+v", text, e)
		}
	}
	other := policyFolder(t, map[string]string{"other.cedar": `permit(principal == Principal::"till-8", action, resource);`})
	r := store.writ(t, "policy", "explain", "--intent", p.ID().String(), "--policies", other)
	for _, want := range []string{
		"decided", "it would be decided otherwise: denied, no policy permits it", "when it was decided", "then.cedar:1 permit tills applies",
		`other.cedar:1 permit other.cedar:1 does not apply: its head does not fit: principal == Principal::"till-8"`,
	} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d; it does not say %q:\n%s%s", r.status, want, r.stdout, r.stderr)
		}
	}
}

func TestItIsExplainedWhoMayDecideAboutAnIntentAsADecisionWouldBeAnswered(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true})
	const text = `permit(principal, action == Action::"tool.execute", resource);
@id("finance") permit(principal in Role::"finance", action == Action::"tool.confirm", resource) unless { context.requester.principal == Principal::"bob" };
@id("much") @confirm forbid(principal, action == Action::"tool.execute", resource);`
	set, err := cedar.FromFiles(map[string]string{"then.cedar": text})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.SavePolicies(t.Context(), set.Digest().String(), set.Files()); err != nil {
		t.Fatal(err)
	}
	waiting := func(key intent.RequestKey, asks, digest string) string {
		t.Helper()
		p := proposal(key, asks)
		p.EffectContext = intent.EffectContext{Principal: asks, Tenant: "default", AuthenticationSource: intent.AuthenticatedDirect}.Canonical()
		p.ConfirmWithin, p.Approvers = time.Hour, 1
		if p.Decision, err = (policy.Decision{Allow: true, Confirm: true, Policy: "cedar", PolicyDigest: digest}).Canonical(); err != nil {
			t.Fatal(err)
		}
		row, err := store.Insert(t.Context(), p.Bound())
		if err != nil {
			t.Fatal(err)
		}
		return row.ID.String()
	}
	digest := set.Digest().String()
	elsewhere := policyFolder(t, map[string]string{"now.cedar": `@id("nobody") forbid(principal, action == Action::"tool.confirm", resource);`})
	for name, c := range map[string]struct {
		asks, digest string
		verb         string
		by           []string
		allow        bool
		says         string
		digests      bool // the answer is a set's
	}{
		"a permit":               {"ada", digest, "confirm", []string{"--principal", "grace", "--role", "finance"}, true, "permitted by finance", true},
		"no permit":              {"ada", digest, "confirm", []string{"--principal", "grace", "--role", "support"}, false, "no policy permits it", true},
		"of another requester":   {"bob", digest, "confirm", []string{"--principal", "grace", "--role", "finance"}, false, "no policy permits it", true},
		"an action that is open": {"ada", digest, "deny", []string{"--principal", "eve"}, true, "no policy names tool.deny", true},
		"no policies":            {"ada", "", "confirm", []string{"--principal", "eve"}, true, "no policies that the intent was decided on rule who decides", false},
		"no text":                {"ada", strings.Repeat("0", 64), "confirm", []string{"--principal", "eve"}, true, "no policies that the intent was decided on rule who decides", false},
	} {
		id := waiting(intent.RequestKey("order "+name), c.asks, c.digest)
		var e cedar.Explanation
		explain := append([]string{"policy", "explain", "--intent", id, "--action", "tool." + c.verb}, c.by...)
		r := store.writ(t, append(explain, "-o", "json")...)
		if r.document(t, &e); r.status != 0 || e.Allow != c.allow || !strings.HasPrefix(e.Reason, c.says) || (e.PolicyDigest != "") != c.digests || e.Considered == nil {
			t.Errorf("%s: status %d, %+v, %s", name, r.status, e, r.stderr)
		}
		var v writ.Intent
		if store.writ(t, "intent", "get", id, "-o", "json").document(t, &v); v.State != intent.AwaitingConfirmation || len(v.Decisions) != 0 {
			t.Errorf("%s: after it was explained: %+v", name, v)
		}
		r = store.writ(t, append(explain, "--policies", elsewhere)...)
		if denied := strings.Contains(r.stdout, "denied"); r.status != 0 || denied != (c.verb == "confirm") {
			t.Errorf("%s by others: status %d\n%s%s", name, r.status, r.stdout, r.stderr)
		}
		// The decision itself is answered alike.
		if r = store.writ(t, append([]string{c.verb, id}, c.by...)...); (r.status == 0) != c.allow || !c.allow && !strings.Contains(r.stderr, "not_permitted: grace is not permitted tool."+c.verb+" on intent "+id+": "+c.says) {
			t.Errorf("%s: the decision: status %d, %s", name, r.status, r.stderr)
		}
	}
	for code, args := range map[string][]string{
		"intent_not_found": {"--intent", "0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204", "--action", "tool.confirm"},
		"invalid_request":  {"--intent", waiting("order-1", "ada", digest), "--action", "tool.confrim"},
		"system_principal": {"--intent", waiting("order-2", "ada", digest), "--action", "tool.confirm", "--principal", "writ:breaker"},
		"usage":            {"--intent", "", "--action", "tool.confirm"},
	} {
		var f failure
		r := store.writ(t, append([]string{"policy", "explain", "-o", "json"}, args...)...)
		if r.document(t, &f); r.status == 0 || f.Error.Code != code {
			t.Errorf("%q: status %d, %+v", args, r.status, f.Error)
		}
	}
}
