package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/policy/cedar"
)

func TestWhatCannotBeReadAsPoliciesToolsOrCasesIsRefusedInFewWords(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("a", 100_000)
	folder := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds})
	looping := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds})
	if err := os.Symlink("b.cedar", filepath.Join(looping, "b.cedar")); err != nil {
		t.Fatal(err)
	}
	large := policyFolder(t, nil)
	if err := os.WriteFile(filepath.Join(large, "a.cedar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(large, "a.cedar"), 100<<20); err != nil {
		t.Fatal(err)
	}
	cases := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds, "a.tests.json": ""})
	if err := os.Truncate(filepath.Join(cases, "a.tests.json"), maxCases+1); err != nil {
		t.Fatal(err)
	}
	list := func(text string) string {
		return filepath.Join(policyFolder(t, map[string]string{"tools.json": text}), "tools.json")
	}
	check := func(folder, tools string) []string { return []string{"policy", "check", folder, "--tools", tools} }
	explain := []string{"policy", "explain", "payments.refund", "--policies", folder, "--tools", exampleTools, "--payload", `{"payment_id":"p","amount":"1"}`}
	for name, c := range map[string]struct {
		code, says string
		args       []string
	}{
		"no folder":               {"usage", "the FOLDER is empty", check("", exampleTools)},
		"no folder to put":        {"usage", "the FOLDER is empty", []string{"policy", "put", ""}},
		"no folder to test":       {"usage", "the FOLDER is empty", []string{"policy", "test", ""}},
		"a folder that is none":   {"invalid_policy", "no such file", check(filepath.Join(folder, "b"), exampleTools)},
		"a file":                  {"invalid_policy", "not a directory", check(filepath.Join(folder, "a.cedar"), exampleTools)},
		"a link to itself":        {"invalid_policy", "too many levels of symbolic links", check(looping, exampleTools)},
		"a file of 100 MiB":       {"invalid_policy", "has more than 1048576 bytes", check(large, exampleTools)},
		"a NUL":                   {"invalid_policy", "cannot be read", check("\x00", exampleTools)},
		"cases of 16 MiB":         {"payload_too_large", "divide it", []string{"policy", "test", cases, "--tools", exampleTools}},
		"tools without an end":    {"payload_too_large", "the list of --tools", check(folder, "/dev/zero")},
		"no tools":                {"usage", "it is no list", check(folder, list("null"))},
		"tools that are no list":  {"usage", "is not what", check(folder, list("{}"))},
		"a tool twice":            {"usage", `it has "echo" twice`, check(folder, list(`[{"name":"echo"},{"name":"echo"}]`))},
		"a tool without a name":   {"usage", "the tool is empty", check(folder, list(`[{}]`))},
		"a folder of tools":       {"payload_unreadable", "the list of --tools", check(folder, folder)},
		"a tool that is not here": {"unknown_tool", "there is no tool", []string{"policy", "explain", huge, "--policies", folder, "--tools", exampleTools}},
		"an action that is none":  {"usage", "the requester is missing", append(explain, "--action", huge)},
		"a risk that is none":     {"invalid_request", "NaN", append(explain, "--risk", "NaN")},
		"another tool's schema": {"invalid_tool_spec", "schema", []string{"policy", "explain", "echo", "--policies", folder,
			"--tools", list(`[{"name":"echo","behaviour":{"input_schema":[1]}}]`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f failure
			r := command(t, append(c.args, "--database-url", nowhere, "-o", "json")...)
			if r.document(t, &f); r.status != 2 || f.Error.Code != c.code || !strings.Contains(f.Error.Message, c.says) || len(f.Error.Message) > 1000 {
				t.Errorf("status %d, %s: %.1000s", r.status, f.Error.Code, f.Error.Message)
			}
		})
	}
}

func TestToolsAreReadFromStandardInput(t *testing.T) {
	t.Parallel()
	tools, err := os.ReadFile(exampleTools)
	if err != nil {
		t.Fatal(err)
	}
	folder := policyFolder(t, map[string]string{"a.cedar": everybodyRefunds})
	if r := commandWithInput(t, string(tools), "policy", "check", folder, "--tools", "-"); r.status != 0 || !strings.Contains(r.stdout, "1 policy, which fit 9 tools") {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
}

// Each would be refused at the first decision, or would not be what it seems to be.
func TestACheckFindsWhatCedarLetsIn(t *testing.T) {
	t.Parallel()
	const about = `permit (principal, action, resource == Tool::"payments.refund")`
	for says, text := range map[string]string{
		"a character that turns the direction":   about + "\n// \u202e\n;",
		"a character that turns the direction o": about + "when { principal.name == \"\u2066a\u2069\" };",
		"invalid character NUL":                  about + ";\x00",
		"failed to parse as a decimal value":     about + `when { context.payload.amount.lessThan(decimal("1,00")) };`,
		"failed to parse as a datetime value":    about + `when { context.now < datetime("yesterday") };`,
		"failed to parse as IP address":          about + `when { ip("300.1.1.1").isIpv4() };`,
		"wrong number of arguments":              about + `when { decimal("1.0", "2.0") == decimal("1.0") };`,
		"`exec` is not a function":               about + `when { exec("rm") == 1 };`,
		"unrecognized entity type `User`":        `permit (principal == User::"x", action, resource == Tool::"payments.refund");`,
		"expected ident":                         `permit (principal == ?principal, action, resource);`,
		"value out of range":                     about + `when { 99999999999999999999 == 1 };`,
	} {
		var report policyReport
		r := command(t, "policy", "check", policyFolder(t, map[string]string{"a.cedar": text}), "--tools", exampleTools, "-o", "json")
		r.document(t, &report)
		if r.status != 2 || len(report.Faults) != 1 || !strings.Contains(report.Faults[0].Message, says) {
			t.Errorf("%s: status %d, %+v", says, r.status, report.Faults)
		}
	}
}

func TestAWorkerDoesNotStartWithPoliciesThatAreTooMany(t *testing.T) {
	t.Parallel()
	folder := policyFolder(t, map[string]string{"a.cedar": strings.Repeat("permit(principal,action,resource);", cedar.MaxPolicies+1)})
	var f failure
	r := command(t, "worker", "--policies", folder, "--database-url", nowhere, "--temporal-address", noTemporal, "-o", "json")
	if r.document(t, &f); r.status != 2 || f.Error.Code != "invalid_policy" || !strings.Contains(f.Error.Message, "more than 2000 policies") {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
}
