package cedar_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

var refund = policy.Hosted{
	Name: "payments.refund", Category: "payments", Provider: "sandbox", Class: intent.Keyed, SideEffectful: true, Amount: "/amount",
	InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["amount","payment_id"],"properties":{
		"payment_id":{"type":"string"},"amount":{"type":"string"},"currency":{"type":["string","null"]},
		"rate":{"type":"number"},"count":{"type":"integer"},"urgent":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"}},"either":{"type":["string","integer"]},
		"customer":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}}}`),
}

// echo takes any object.
var echo = policy.Hosted{Name: "echo", Class: intent.Read}

func folder(text string) fstest.MapFS {
	return fstest.MapFS{"rules.cedar": {Data: []byte(text)}, "notes.txt": {Data: []byte("not a policy")}}
}

func bind(t *testing.T, text string) policy.Policy {
	t.Helper()
	set, err := cedar.Load(folder(text))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := set.ForTools([]policy.Hosted{refund, echo})
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

func asked(tool, payload string) policy.Facts {
	return policy.Facts{
		Context: intent.EffectContext{Principal: "till-7", Tenant: "acme", AuthenticationSource: intent.AuthenticatedDirect},
		Tool:    policy.Tool{Name: tool}, Payload: []byte(payload), Risk: 0.29, Now: time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC),
	}
}

const refunds = `
@id("refunds")
permit(principal, action == Action::"tool.execute", resource == Tool::"payments.refund");

@id("large")
@confirm("2")
@reason("large refunds need two people")
forbid(principal, action, resource == Tool::"payments.refund")
when { context.payload.amount.greaterThan(decimal("100.0")) };

@id("not-mallory")
@reason("mallory left")
forbid(principal == Principal::"mallory", action, resource);
`

func TestNothingRunsUnlessAPolicyPermitsAndNoneForbids(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		principal, tool, payload string
		allow                    bool
		approvers                int
		policies                 []string
		says                     string
	}{
		"permitted":                         {"till-7", "payments.refund", `{"amount":"100.00","payment_id":"p"}`, true, 0, []string{"refunds"}, "permitted by refunds"},
		"above the amount people confirm":   {"till-7", "payments.refund", `{"amount":"100.01","payment_id":"p"}`, true, 2, []string{"large", "refunds"}, "confirmed by 2: large refunds need two people"},
		"no policy permits":                 {"till-7", "echo", `{}`, false, 0, nil, "no policy permits it"},
		"a forbid wins":                     {"mallory", "payments.refund", `{"amount":"1.00","payment_id":"p"}`, false, 0, []string{"not-mallory"}, "forbidden by not-mallory: mallory left"},
		"nobody is asked what is forbidden": {"mallory", "payments.refund", `{"amount":"900.00","payment_id":"p"}`, false, 0, []string{"not-mallory"}, "forbidden by not-mallory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := asked(tc.tool, tc.payload)
			f.Context.Principal = tc.principal
			v, err := bind(t, refunds).Evaluate(context.Background(), f)
			if err != nil || v.Allow != tc.allow || !slices.Equal(v.Policies, tc.policies) || !strings.Contains(v.Reason, tc.says) || len(v.Digest) != 64 {
				t.Errorf("%+v, %v", v, err)
			}
			if (v.Approval != nil) != (tc.approvers > 0) || v.Approval != nil && v.Approval.Approvers != tc.approvers {
				t.Errorf("approval %+v, want %d approvers", v.Approval, tc.approvers)
			}
		})
	}
}

// A demand never makes up for a permit that is missing.
func TestADemandForPeoplePermitsNothingByItself(t *testing.T) {
	t.Parallel()
	v, err := bind(t, `@confirm forbid(principal, action, resource);`).Evaluate(context.Background(), asked("echo", `{}`))
	if err != nil || v.Allow || v.Approval != nil || v.Reason != "no policy permits it" {
		t.Errorf("%+v, %v", v, err)
	}
}

// Cedar skips a policy that fails; skipping a forbid would allow.
func TestAPolicyThatFailsIsNoAnswerThoughOthersPermit(t *testing.T) {
	t.Parallel()
	const most = `{"count":9223372036854775807}`
	for name, tc := range map[string]struct{ effect, condition, tool, payload, says string }{
		"a forbid":          {"forbid", `context.payload has count && context.payload.count + 1 > 5`, "payments.refund", most, "policy x failed: integer overflow"},
		"a demand":          {"@confirm forbid", `context.payload has count && context.payload.count * 2 > 5`, "payments.refund", most, "policy x failed: integer overflow"},
		"another permit":    {"permit", `context.payload has count && context.payload.count + 1 > 5`, "payments.refund", most, "policy x failed: integer overflow"},
		"an amount as text": {"forbid", `context.payload.amount.greaterThan(decimal("1.0"))`, "payments.refund", `{"amount":"4711 secret"}`, "policy x failed: type error"},
		"more digits":       {"forbid", `context.payload has rate && context.payload.rate.lessThan(decimal("1.0"))`, "payments.refund", `{"rate":0.12345}`, "policy x failed: type error"},
		"a larger integer":  {"forbid", `context.payload has count && context.payload.count > 5`, "payments.refund", `{"count":9223372036854775808}`, "policy x failed: type error"},
		"null":              {"forbid", `context.payload has other && context.payload.other == "a"`, "echo", `{"other":null}`, "/other is null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := `permit(principal, action, resource); @id("x") ` + tc.effect + `(principal, action, resource == Tool::"` + tc.tool + `") when { ` + tc.condition + ` };`
			v, err := bind(t, text).Evaluate(context.Background(), asked(tc.tool, tc.payload))
			if err == nil || v.Allow || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "4711") {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// Each condition is true of the payload beside it.
func TestPayloadsReachPoliciesAsTheyAre(t *testing.T) {
	t.Parallel()
	for condition, payload := range map[string]string{
		`context.payload.amount == decimal("12.9")`:                                     `{"amount":"12.90"}`,
		`context.payload.amount == decimal("12.0")`:                                     `{"amount":"12"}`,
		`context.payload has rate && context.payload.rate == decimal("2.0")`:            `{"rate":2}`,
		`context.payload has rate && context.payload.rate.lessThan(decimal("-0.0001"))`: `{"rate":-0.0002}`,
		`context.payload has rate && context.payload.rate != decimal("0.1234")`:         `{"rate":0.12341}`,
		`context.payload has count && context.payload.count == 9007199254740993`:        `{"count":9007199254740993}`,
		`context.payload has urgent && !context.payload.urgent`:                         `{"urgent":false}`,
		`context.payload has tags && context.payload.tags.containsAll(["a","b"])`:       `{"tags":["b","a","b"]}`,
		`context.payload has customer && context.payload.customer.id like "c-*"`:        `{"customer":{"id":"c-1"}}`,
		`!(context.payload has currency)`:                                               `{"currency":null}`,
		`context.payload has either && context.payload.either == 5`:                     `{"either":5}`,
		`context.payload["payment_id"] == "\u{0}ä"`:                                     `{"payment_id":"\u0000ä"}`,
		`context.risk == decimal("0.29") && context.now > datetime("2026-12-01")`:       `{}`,
		`context.tenant == "acme" && !context.authentication.proven`:                    `{}`,
		`resource in Category::"payments" && resource.class == "keyed"`:                 `{}`,
		`principal.name like "till-*" && principal.onBehalfOf.isEmpty()`:                `{}`,
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			text := `permit(principal, action, resource == Tool::"payments.refund") when { ` + condition + ` };`
			if v, err := bind(t, text).Evaluate(context.Background(), asked("payments.refund", payload)); err != nil || !v.Allow {
				t.Errorf("%s: %+v, %v", payload, v, err)
			}
		})
	}
}

func TestRolesAndDelegationReachPolicies(t *testing.T) {
	t.Parallel()
	f := asked("echo", `{}`)
	f.Context.Roles, f.Context.OnBehalfOf = []string{"clerk", "finance"}, []string{"assistant", "ada"}
	for condition, holds := range map[string]bool{
		`principal in Role::"finance" && principal.roles.contains("clerk")`:             true,
		`principal in Role::"admin"`:                                                    false,
		`principal.onBehalfOf.contains(Principal::"ada")`:                               true,
		`principal.onBehalfOf.contains(Principal::"bob")`:                               false,
		`principal == Principal::"till-7" && context.authentication.source == "direct"`: true,
	} {
		v, err := bind(t, "permit(principal, action, resource) when { "+condition+" };").Evaluate(context.Background(), f)
		if err != nil || v.Allow != holds {
			t.Errorf("%s: %+v, %v", condition, v, err)
		}
	}
}

// What no policy could see needs no word in Cedar.
func TestAValueThatCedarCannotSayHindersOnlyPoliciesThatReadIt(t *testing.T) {
	t.Parallel()
	payload := `{"big":[` + strings.Repeat("1,", 10_000) + `1],"nothing":null}`
	if v, err := bind(t, `permit(principal, action, resource);`).Evaluate(context.Background(), asked("echo", payload)); err != nil || !v.Allow {
		t.Errorf("%+v, %v", v, err)
	}
	for _, text := range []string{
		`permit(principal, action, resource) unless { context.payload has nothing };`,
		`permit(principal, action, resource) unless { context.payload has big };`,
		`permit(principal, action, resource) when { context.payload == context.payload };`,
		`permit(principal, action, resource) when { context == context };`,
	} {
		if v, err := bind(t, text).Evaluate(context.Background(), asked("echo", payload)); err == nil || v.Allow {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
}

func TestAPolicyThatFitsNoToolIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"\npermit(principal, action, resource == Tool::\"payments.refnd\");":                                                        "rules.cedar:2: the policy rules.cedar:2 applies to no tool",
		`permit(principal, action, resource in Category::"paiments");`:                                                              "applies to no tool",
		`permit(principal, action, resource) when { resource == Tool::"typo" };`:                                                    `there is no tool "typo"`,
		`permit(principal, action == Action::"tool.exec", resource);`:                                                               "unrecognized action",
		`permit(principal, action == Action::"intent.cancel", resource);`:                                                           "unrecognized action",
		`permit(principal is User, action, resource);`:                                                                              "unrecognized entity type",
		`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.amnt == "1" };`:                      "attribute `amnt`",
		`forbid(principal, action, resource == Tool::"payments.refund") when { context.payload has amnt };`:                         "reads context.payload.amnt, which no tool",
		`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.amount > 100 };`:                     "unexpected type",
		`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.currency == "EUR" };`:                "optional attribute",
		`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.either == 5 };`:                      "attribute `either`",
		`permit(principal, action, resource) when { context.payload.amount.greaterThan(decimal("1.0")) };`:                          "does not fit the tool echo",
		`permit(principal, action, resource) when { principal.admin };`:                                                             "attribute `admin`",
		`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.customer has id && context.tenan };`: "optional attribute",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			set, err := cedar.Load(folder(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = set.ForTools([]policy.Hosted{refund, echo})
			if intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "rules.cedar:") {
				t.Errorf("%v; want %q", err, says)
			}
		})
	}
}

func TestWhatIsWrongForEveryActionIsSaidOnceAndAlwaysAlike(t *testing.T) {
	t.Parallel()
	set, err := cedar.Load(folder(`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.amnt == "1" };`))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		_, err := set.ForTools([]policy.Hosted{refund})
		if err == nil || strings.Count(err.Error(), "attribute `amnt`") != 1 ||
			!strings.Contains(err.Error(), "`amnt` in context not found (tool.acknowledge, tool.cancel, tool.confirm, tool.deny, tool.execute, tool.inquire, tool.reissue, tool.resolve);") {
			t.Fatalf("%v", err)
		}
	}
}

func TestAFolderThatIsNoSetOfPoliciesIsRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                           "has no policy",
		"permit(principal, action);": "rules.cedar:1: parse error",
		`@id("a") permit(principal, action, resource); @id("a") forbid(principal, action, resource);`: `rules.cedar:1: the policy at rules.cedar:1 has the id "a" too`,
		`@id("-") permit(principal, action, resource);`:                                               "policy id",
		`@confrim("2") forbid(principal, action, resource);`:                                          "@confrim is not known",
		`@confirm("0") forbid(principal, action, resource);`:                                          "number of people",
		`@confirm("many") forbid(principal, action, resource);`:                                       "number of people",
		`@confirm permit(principal, action, resource);`:                                               "stands before a forbid",
	} {
		if _, err := cedar.Load(folder(text)); intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}

func TestASetThatWasNotCheckedAgainstToolsAnswersNothing(t *testing.T) {
	t.Parallel()
	set, err := cedar.Load(folder(refunds))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := set.Evaluate(context.Background(), asked("payments.refund", `{"amount":"1.00"}`)); err == nil || v.Allow {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestTheDigestIsOfWhatThePoliciesSayAndNotOfHowTheyAreWritten(t *testing.T) {
	t.Parallel()
	digest := func(files fstest.MapFS) string {
		set, err := cedar.Load(files)
		if err != nil {
			t.Fatal(err)
		}
		return set.Digest().String()
	}
	one := digest(folder(`@id("a") permit(principal, action, resource); @id("b") forbid(principal == Principal::"eve", action, resource);`))
	if two := digest(fstest.MapFS{
		"x/b.cedar": {Data: []byte("// who left\n@id(\"b\")\nforbid (principal == Principal::\"eve\", action, resource);")},
		"a.cedar":   {Data: []byte(`@id("a") permit(principal,action,resource);`)},
	}); one != two {
		t.Errorf("the same policies have digests %s and %s", one, two)
	}
	if other := digest(folder(`@id("a") permit(principal, action, resource); @id("b") forbid(principal == Principal::"eva", action, resource);`)); other == one {
		t.Error("another policy has the same digest")
	}
	const golden = "5243f51598ba1ff61e1ef524b4a70bddc018ebe9e3874a73a04d767603ee8f55"
	if one != golden {
		t.Errorf("the form of the digest changed: %s", one)
	}
}
