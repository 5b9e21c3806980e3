package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"writ"
	"writ/tools/sample"
)

const (
	examplePolicies = "../../examples/policies/refunds"
	exampleTools    = "../../examples/policies/tools.json"
)

func TestTheToolsOfTheExamplePoliciesAreTheSampleTools(t *testing.T) {
	t.Parallel()
	all, err := sample.Tools(sample.Config{ProviderURL: "http://127.0.0.1:7766"})
	if err != nil {
		t.Fatal(err)
	}
	var list []writ.Tool
	for _, tool := range all {
		list = append(list, writ.Tool{Published: tool.Spec().Publish(), TaskQueue: writ.DefaultTaskQueue})
	}
	want, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(exampleTools, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(exampleTools)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not that of the sample tools; run make docs (%v)", exampleTools, err)
	}
}

func TestTheCasesOfTheExamplePoliciesPassWithoutADatabase(t *testing.T) {
	t.Parallel()
	var report testReport
	r := command(t, "policy", "test", examplePolicies, "--tools", exampleTools, "--database-url", nowhere, "-o", "json")
	if r.document(t, &report); r.status != 0 || report.Passed < 5 || report.Failed != 0 || report.Passed != len(report.Cases) {
		t.Errorf("status %d, %+v, %s", r.status, report, r.stderr)
	}
	var check policyReport
	r = command(t, "policy", "check", examplePolicies, "--tools", exampleTools, "--database-url", nowhere, "-o", "json")
	if r.document(t, &check); r.status != 0 || check.PolicyDigest != report.PolicyDigest || len(check.Policies) != 4 || len(check.Faults) != 0 {
		t.Errorf("status %d, %+v, %s", r.status, check, r.stderr)
	}
}

// policyFolder writes files into a folder of the test's own and returns it.
func policyFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const everybodyRefunds = `permit(principal, action, resource == Tool::"payments.refund");`

func TestACaseThatExpectsSomethingElseFailsAndSaysWhatItGot(t *testing.T) {
	t.Parallel()
	folder := policyFolder(t, map[string]string{
		"a.cedar": everybodyRefunds + "\n" + `@id("two") @confirm("2") forbid(principal, action, resource == Tool::"payments.refund") when { context.payload.amount == decimal("2.0") };
			@id("night") forbid(principal, action, resource == Tool::"payments.refund") when { context.now < datetime("2026-01-01") };`,
		"a.tests.json": `[
			{"name": "now", "tool": "payments.refund", "payload": {"payment_id":"p","amount":"1"}, "principal": "ada", "now": "2026-06-01T12:00:00Z", "expect": "allow"},
			{"name": "then", "tool": "payments.refund", "payload": {"payment_id":"p","amount":"1"}, "principal": "ada", "now": "2025-06-01T12:00:00Z", "expect": "allow"},
			{"name": "never", "tool": "payments.refund", "payload": {"payment_id":"p","amount":"1"}, "principal": "ada", "expect": "error"},
			{"name": "one", "tool": "payments.refund", "payload": {"payment_id":"p","amount":"2"}, "principal": "ada", "now": "2026-06-01T12:00:00Z", "expect": "confirm"},
			{"name": "others", "tool": "payments.refund", "payload": {"payment_id":"p","amount":"1"}, "principal": "ada", "now": "2026-06-01T12:00:00Z", "expect": "allow", "policies": ["two"]}
		]`,
	})
	r := command(t, "policy", "test", folder, "--tools", exampleTools)
	for _, want := range []string{
		"a.tests.json: then: expected allow, got deny (forbidden by night)",
		"a.tests.json: one: expected confirm by 1, got confirm by 2 (",
		"a.tests.json: others: expected allow of two, got allow of a.cedar:1 (",
		"2 cases passed",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, r.stdout)
		}
	}
	if r.status != 2 || !strings.Contains(r.stderr, "policy_test_failed: 3 of 5 cases failed") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	var report testReport
	r = command(t, "policy", "test", folder, "--tools", exampleTools, "-o", "json")
	if r.document(t, &report); r.status != 2 || report.Passed != 2 || report.Failed != 3 || !report.Cases[2].OK || report.Cases[2].Got != "error" {
		t.Errorf("status %d, %+v", r.status, report)
	}
}

func TestACaseThatSaysLessThanItSeemsToIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ cases, code, says string }{
		"no case":           {`[]`, "policy_test_failed", "has no case"},
		"a misspelt member": {`[{"name":"a","tool":"echo","principal":"ada","expext":"allow"}]`, "usage", "expext"},
		"another spelling":  {`[{"Name":"a","tool":"echo","principal":"ada","expect":"allow"}]`, "usage", "Name"},
		"a member twice":    {`[{"name":"a","name":"b","tool":"echo","principal":"ada","expect":"allow"}]`, "usage", "duplicate"},
		"no name":           {`[{"tool":"echo","principal":"ada","expect":"allow"}]`, "usage", "no name"},
		"one name twice":    {`[{"name":"a","tool":"echo","principal":"ada","expect":"allow"},{"name":"a","tool":"echo","principal":"ada","expect":"deny"}]`, "usage", "two cases"},
		"no expectation":    {`[{"name":"a","tool":"echo","principal":"ada"}]`, "usage", "expect is allow"},
		"approvers":         {`[{"name":"a","tool":"echo","principal":"ada","expect":"allow","approvers":1}]`, "usage", "only of confirm"},
		"an unknown tool":   {`[{"name":"a","tool":"ecko","principal":"ada","expect":"deny"}]`, "unknown_tool", "ecko"},
		"nobody":            {`[{"name":"a","tool":"echo","expect":"deny"}]`, "unauthenticated", "principal"},
		"no requester":      {`[{"name":"a","action":"tool.confirm","tool":"echo","principal":"ada","expect":"allow"}]`, "usage", "the requester is missing"},
		"a requester of a request": {`[{"name":"a","tool":"echo","principal":"ada","requester":{"principal":"bob"},"expect":"allow"}]`, "usage",
			"who asks is the principal"},
		"a nameless requester": {`[{"name":"a","action":"tool.deny","tool":"echo","principal":"ada","requester":{},"expect":"deny"}]`, "unauthenticated", "principal"},
		"a nameless decider":   {`[{"name":"a","action":"tool.deny","tool":"echo","requester":{"principal":"ada"},"expect":"deny"}]`, "unauthenticated", "who decides"},
		"one of Writ's own": {`[{"name":"a","action":"tool.deny","tool":"echo","principal":"writ:temporal","requester":{"principal":"ada"},"expect":"deny"}]`,
			"system_principal", "writ:"},
		"a misspelt requester": {`[{"name":"a","action":"tool.deny","tool":"echo","principal":"ada","requester":{"role":"x"},"expect":"deny"}]`, "usage", "role"},
		"a misspelt action": {`[{"name":"a","action":"tool.confrim","tool":"echo","principal":"ada","requester":{"principal":"bob"},"expect":"deny"}]`,
			"invalid_request", "tool.confirm"},
		"a decision that waits": {`[{"name":"a","action":"tool.confirm","tool":"echo","principal":"ada","requester":{"principal":"bob"},"expect":"confirm"}]`,
			"usage", "of requests alone"},
		"a wrong payload": {`[{"name":"a","tool":"payments.refund","principal":"ada","payload":{"amount":"1"},"expect":"deny"}]`, "input_schema_violation", "payment_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds, "a.tests.json": c.cases})
			var f failure
			r := command(t, "policy", "test", folder, "--tools", exampleTools, "-o", "json")
			if r.document(t, &f); r.status == 0 || f.Error.Code != c.code || !strings.Contains(f.Error.Message, c.says) {
				t.Errorf("status %d, %+v", r.status, f.Error)
			}
		})
	}
}

func TestACaseOfADecisionAsksWhetherThePrincipalMayDecideWhatTheRequesterAskedFor(t *testing.T) {
	t.Parallel()
	folder := policyFolder(t, map[string]string{
		"a.cedar": everybodyRefunds + `
			@id("finance") permit(principal in Role::"finance", action == Action::"tool.confirm", resource == Tool::"payments.refund");
			@id("same-team") forbid(principal, action == Action::"tool.confirm", resource == Tool::"payments.refund")
			when { principal.roles.containsAny(context.requester.roles) || context.requester.onBehalfOf.contains(principal) };
			@id("night") forbid(principal, action == Action::"tool.cancel", resource == Tool::"payments.refund") when { context.now < datetime("2026-01-01") };`,
		"a.tests.json": strings.ReplaceAll(`[
			{"name": "finance", ASKED, "principal": "grace", "roles": ["finance"], "requester": {"principal": "ada", "roles": ["support"]}, "action": "tool.confirm", "expect": "allow", "policies": ["finance"]},
			{"name": "support", ASKED, "principal": "bob", "roles": ["support"], "requester": {"principal": "ada"}, "action": "tool.confirm", "expect": "allow"},
			{"name": "a team", ASKED, "principal": "grace", "roles": ["finance"], "requester": {"principal": "ada", "roles": ["finance"]}, "action": "tool.confirm", "expect": "deny", "policies": ["same-team"]},
			{"name": "for her", ASKED, "principal": "grace", "roles": ["finance"], "requester": {"principal": "x", "on_behalf_of": ["grace"]}, "action": "tool.confirm", "expect": "deny", "policies": ["same-team"]},
			{"name": "open", ASKED, "principal": "bob", "requester": {"principal": "ada"}, "action": "tool.deny", "expect": "deny"},
			{"name": "timeless", ASKED, "principal": "bob", "requester": {"principal": "ada"}, "action": "tool.cancel", "expect": "error"},
			{"name": "asks", ASKED, "principal": "grace", "action": "tool.execute", "expect": "allow", "policies": ["a.cedar:1"]}
		]`, "ASKED", `"tool": "payments.refund", "payload": {"payment_id":"p","amount":"1"}`),
	})
	r := command(t, "policy", "test", folder, "--tools", exampleTools)
	for _, want := range []string{
		"a.tests.json: support: expected allow, got deny (no policy permits it)",
		"a.tests.json: open: expected deny, got allow (no policy names tool.deny)",
		"5 cases passed",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, r.stdout)
		}
	}
	if r.status != 2 || !strings.Contains(r.stderr, "policy_test_failed: 2 of 7 cases failed") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

func TestADecisionIsExplainedWithoutBeingMade(t *testing.T) {
	t.Parallel()
	of := []string{"policy", "explain", "payments.refund", "--policies", examplePolicies, "--tools", exampleTools, "--database-url", nowhere,
		"--payload", `{"payment_id":"pay_1","amount":"100.01"}`}
	asks := append(of, "--requester", "ada", "--requester-role", "support", "--requester-on-behalf-of", "carol")
	for role, says := range map[string][]string{
		"finance": {"verdict                 allowed\n", "permitted by finance-confirms", "permit finance-confirms applies"},
		"support": {"verdict                 denied\n", "no policy permits it", `finance-confirms does not apply: its head does not fit: principal in Role::"finance"`},
	} {
		r := command(t, append(asks, "--action", "tool.confirm", "--principal", "grace", "--role", role)...)
		for _, want := range append(says, `Action::"tool.confirm"`, `Principal::"grace"`, `"onBehalfOf":[Principal::"carol"], "principal":Principal::"ada", "roles":["support"]`) {
			if r.status != 0 || !strings.Contains(r.stdout, want) {
				t.Errorf("%s: status %d; it does not say %q:\n%s%s", role, r.status, want, r.stdout, r.stderr)
			}
		}
	}
	for says, args := range map[string][]string{
		"the requester is missing":  append(of, "--action", "tool.confirm"),
		"who asks is the principal": asks,
		"say one of":                append(asks, "--action", "tool.confrim"),
	} {
		if r := command(t, args...); r.status != 2 || !strings.Contains(r.stderr, says) {
			t.Errorf("%q: status %d, %s", args, r.status, r.stderr)
		}
	}
	for _, beside := range [][]string{
		{"payments.refund"}, {"--principal", "ada"}, {"--action", "tool.execute"}, {"--action", "tool.deny", "--requester", "ada"}, {"--tools", exampleTools},
	} {
		r := command(t, append([]string{"policy", "explain", "--intent", "0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204", "--database-url", nowhere}, beside...)...)
		if r.status != 2 || !strings.Contains(r.stderr, "beside it there is only --policies") {
			t.Errorf("%q: status %d, %s", beside, r.status, r.stderr)
		}
	}
}

// A pipe that nobody writes to, and a device without an end, would be read for ever.
func TestWhatIsNoFileInAFolderOfPoliciesIsRefusedAndNotRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"b.cedar", "b.tests.json"} {
		for what, put := range map[string]func(path string) error{
			"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"a folder": func(path string) error { return os.Symlink("/", path) },
		} {
			folder := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds, "a.tests.json": "[]"})
			if err := put(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
			var f failure
			r := command(t, "policy", "test", folder, "--tools", exampleTools, "-o", "json")
			if r.document(t, &f); r.status != 2 || !strings.Contains(f.Error.Message, name+" is no file") {
				t.Errorf("%s as %s: status %d, %+v", what, name, r.status, f.Error)
			}
		}
	}
}

func TestACheckSaysAllThatIsWrongWithFileAndLine(t *testing.T) {
	t.Parallel()
	folder := policyFolder(t, map[string]string{
		"a.cedar": "\npermit(principal, action, resource == Tool::\"payments.refnud\");\n" +
			`permit(principal, action, resource == Tool::"payments.refund") when { context.payload.amnt == "1" };`,
		"b.cedar": `permit(principal, action == Action::"tool.exec", resource);`,
	})
	var report policyReport
	r := command(t, "policy", "check", folder, "--tools", exampleTools, "-o", "json")
	r.document(t, &report)
	if r.status != 2 || !strings.Contains(r.stderr, "invalid_policy") || len(report.Faults) < 4 {
		t.Fatalf("status %d, %+v, %s", r.status, report, r.stderr)
	}
	r = command(t, "policy", "check", folder, "--tools", exampleTools)
	for _, want := range []string{folder + "/a.cedar:2: ", folder + "/a.cedar:3: ", folder + "/b.cedar:1: "} {
		if r.status != 2 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d; it does not say %q:\n%s", r.status, want, r.stdout)
		}
	}
	for _, file := range []string{"nowhere.json", examplePolicies + "/refunds.tests.json"} {
		if r := command(t, "policy", "check", folder, "--tools", file); r.status != 2 || !strings.Contains(r.stderr, "--tools") {
			t.Errorf("%s: status %d, %s", file, r.status, r.stderr)
		}
	}
}

func TestARequestIsExplainedWithoutBeingMade(t *testing.T) {
	t.Parallel()
	asks := []string{"policy", "explain", "payments.refund", "--policies", examplePolicies, "--tools", exampleTools, "--database-url", nowhere,
		"--principal", "ada", "--role", "support", "--payload"}
	r := command(t, append(asks, `{"payment_id":"pay_1","amount":"100.01"}`)...)
	for _, want := range []string{
		"allowed when 1 confirm it", `decimal("100.01")`, `Principal::"ada"`, "refunds.cedar:5 permit support-refunds applies",
		"    @reason(\"a refund over 100.00 needs a second person from finance\")",
		"forbid refund-limit does not apply: this does not hold: when { context.payload.amount.greaterThan(decimal(\"5000.00\")) }",
	} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d; it does not say %q:\n%s%s", r.status, want, r.stdout, r.stderr)
		}
	}
	var e struct {
		Allow      bool
		Approvers  int
		Considered []struct{ ID, Outcome string }
	}
	r = command(t, append(asks, `{"payment_id":"pay_1","amount":"5000.01"}`, "-o", "json")...)
	if r.document(t, &e); r.status != 0 || e.Allow || len(e.Considered) != 4 {
		t.Errorf("status %d, %+v", r.status, e)
	}
	for _, args := range [][]string{
		append(asks, `{"amount":"1"}`), {"policy", "explain"}, {"policy", "explain", "--intent", "0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204", "--role", "support"},
		{"policy", "explain", "echo", "--tools", exampleTools, "--now", "noon"},
	} {
		if r := command(t, args...); r.status != 2 {
			t.Errorf("%q: status %d, %s", args, r.status, r.stderr)
		}
	}
}
