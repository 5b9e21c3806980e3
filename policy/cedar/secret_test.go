package cedar_test

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

// A member without a type is what policies may compare and convert as they like; how that fails says nothing of it.
func TestNoFailureRepeatsWhatAPolicyWasGiven(t *testing.T) {
	t.Parallel()
	tool := policy.Hosted{Name: "vault.open", Class: intent.Keyed, InputSchema: json.RawMessage(
		`{"type":"object","properties":{"pin":{"writeOnly":true},"n":{"type":"integer","writeOnly":true},"t":{"type":"string","writeOnly":true}},"required":["n","t"]}`)}
	const secret = "s3cr3t"
	tried := 0
	for _, condition := range []string{
		`decimal(context.payload.t) == decimal("1.0")`, `ip(context.payload.t).isIpv4()`, `datetime(context.payload.t) < context.now`, `duration(context.payload.t) == duration("1h")`,
		`context.payload has pin && context.payload.pin < 7`, `context.payload has pin && context.payload.pin.contains(7)`, `context.payload has pin && context.payload.pin.a == 7`,
		`context.payload has pin && context.payload.pin + 7 == 8`, `context.payload has pin && decimal(context.payload.pin) == decimal("1.0")`,
		`context.payload.n + 9000000000000000000 == 7`, `context.payload.n * 4611686018427387904 == 7`, `-context.payload.n - 9000000000000000000 == 7`,
	} {
		set, err := cedar.FromFiles(map[string]string{"a.cedar": "permit (principal, action, resource) when { " + condition + " };"})
		if err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
		bound, err := set.ForSome([]policy.Hosted{tool})
		if err != nil {
			continue // it is not let in
		}
		tried++
		f := asked("vault.open", `{"n":4742424242424242424,"pin":"`+secret+`","t":"`+secret+`"}`)
		v, err := bound.Evaluate(t.Context(), f)
		explained, _ := json.Marshal(bound.Explain(t.Context(), policy.Asking(f)))
		if v.Allow || err == nil {
			t.Errorf("%s: %+v", condition, v)
		}
		for _, said := range []string{err.Error(), string(explained)} {
			if strings.Contains(said, secret) || strings.Contains(said, "4742424242") {
				t.Errorf("%s: %s", condition, said)
			}
		}
	}
	if tried < 8 {
		t.Errorf("only %d were let in", tried)
	}
}
