package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
	"writ/policy/cedar"
)

// policyCase is a question and what policies are expected to say to it.
type policyCase struct {
	Name string `json:"name"`
	policyQuestion
	Expect expectedCase `json:"expect"`
	// Approvers is how many people have to confirm; absent: 1. Only of confirm.
	Approvers int `json:"approvers"`
	// Policies are the ids of those that decide; absent: any.
	Policies *[]string `json:"policies"`
}

// expectedCase is what is expected of the policies.
type expectedCase string

// What policies can say: error is no answer, because a policy fails.
const (
	expectAllow   expectedCase = "allow"
	expectConfirm expectedCase = "confirm"
	expectDeny    expectedCase = "deny"
	expectError   expectedCase = "error"
)

// caseResult is how one case ended.
type caseResult struct {
	File     string `json:"file"`
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
	// Reason is the verdict's, or the error.
	Reason string `json:"reason,omitempty"`
}

// testReport is what writ policy test prints.
type testReport struct {
	PolicyDigest string       `json:"policy_digest"`
	Passed       int          `json:"passed"`
	Failed       int          `json:"failed"`
	Cases        []caseResult `json:"cases"`
}

// maxCases is the size of a file with cases in bytes.
const maxCases = 16 << 20

// testFiles is how the names of files with cases end.
const testFiles = ".tests.json"

func newPolicyTestCommand(p *program) *cobra.Command {
	var from toolsFlag
	cmd := &cobra.Command{
		Use:   "test FOLDER",
		Short: "Run the test cases that stand beside policies",
		Long: `Checks the policies of the folder as writ policy check does, and runs the cases in its files whose
names end in ` + testFiles + `. Each file is a list of cases, objects with these members:

  name, tool, principal, expect   required; expect is allow, deny, confirm, or error if one fails
  payload                         a JSON object, {} if it is absent; the tool has to take it
  roles, on_behalf_of             as what and for whom the principal acts
  action                          tool.execute, to ask, if it is absent; or one of those by which
                                  people decide, as tool.confirm: then the principal decides
  requester                       of such an action, required: who asked, an object with principal,
                                  roles and on_behalf_of
  tenant, service, risk, now      tenant is default, the others 0 or absent; now is RFC 3339
  approvers                       of confirm: how many people, 1 if it is absent
  policies                        the ids of those that decide; not looked at if it is absent

Exit statuses: 0 all passed, 1 infrastructure, 2 some failed or there is none (policy_test_failed),
or the policies or the cases are wrong. With -o json it prints
{"policy_digest":…,"passed":…,"failed":…,"cases":[{"file","name","ok","expected","got","reason"}]}.`,
		Example: `  writ policy test examples/policies/refunds
  writ policy test examples/policies/refunds --tools examples/policies/tools.json`,
		Args: one("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
				return err
			}
			return p.testPolicies(cmd.Context(), args[0], from)
		},
	}
	from.register(cmd)
	return cmd
}

func (p *program) testPolicies(ctx context.Context, folder string, from toolsFlag) error {
	set, err := policyFiles(folder)
	if err != nil {
		return err
	}
	cases, err := readCases(folder)
	if err != nil {
		return err
	}
	list, err := from.read(ctx, p)
	if err != nil {
		return err
	}
	bound, err := set.ForTools(writ.Hosted(list))
	if err != nil {
		return placed(folder, err)
	}
	report := testReport{PolicyDigest: set.Digest().String(), Cases: []caseResult{}}
	for _, c := range cases {
		result, err := c.run(ctx, bound.(*cedar.Set), list)
		if err != nil {
			return err
		}
		report.Cases = append(report.Cases, result)
		if result.OK {
			report.Passed++
		} else {
			report.Failed++
		}
	}
	if err := p.print(report, func(w io.Writer) { writeTestReport(w, report) }); err != nil || report.Failed == 0 {
		return err
	}
	return &toldError{intent.Errorf(intent.CodePolicyTestFailed, "%d of %s failed", report.Failed, counted(len(cases), "case", "cases"))}
}

func writeTestReport(w io.Writer, r testReport) {
	for _, c := range r.Cases {
		if !c.OK {
			fmt.Fprintln(w, printable(fmt.Sprintf("%s: %s: expected %s, got %s (%s)", c.File, c.Name, c.Expected, c.Got, c.Reason)))
		}
	}
	fmt.Fprintf(w, "%s passed\n", counted(r.Passed, "case", "cases"))
}

// placedCase is a case with the file that it stands in.
type placedCase struct {
	policyCase
	file string
}

// readCases reads all cases of a folder. A set without one is not tested.
func readCases(folder string) (all []placedCase, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, testFiles) {
			return err
		}
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if err != nil {
			return usage("the cases cannot be read: %w", err)
		}
		if !info.Mode().IsRegular() {
			return usage("the cases cannot be read: %s is no file", path) // a pipe or a device has no end
		}
		text, err := input{what: "file of cases " + path, limit: maxCases, shrink: "divide it into several", bare: true}.readFile(path)
		if err != nil {
			return err
		}
		var list []policyCase
		if err := jsonv2.Unmarshal(text, &list, jsonv2.RejectUnknownMembers(true)); err != nil {
			return usage("%s: %w", path, err)
		}
		named := make(map[string]bool, len(list))
		for _, c := range list {
			of := placedCase{c, path}
			if err := of.check(named[c.Name]); err != nil {
				return err
			}
			named[c.Name] = true
			all = append(all, of)
		}
		return nil
	})
	if err == nil && len(all) == 0 {
		err = intent.Errorf(intent.CodePolicyTestFailed, "%s has no case, so nothing was tested; write one into a file whose name ends in %s", folder, testFiles)
	}
	return all, err
}

// check refuses a case that says less than it seems to, or has the name of another one of its file.
func (c placedCase) check(twice bool) error {
	wrong := ""
	switch {
	case c.Name == "":
		wrong = "a case has no name"
	case twice:
		wrong = fmt.Sprintf("two cases have the name %.100q", c.Name)
	case c.Expect != expectAllow && c.Expect != expectConfirm && c.Expect != expectDeny && c.Expect != expectError:
		wrong = fmt.Sprintf("%s: expect is allow, confirm, deny or error, and not %.64q", c.Name, c.Expect)
	case c.Expect == expectConfirm && !c.isRequest():
		wrong = c.Name + ": confirm is expected of requests alone"
	case c.policyQuestion.check() != "":
		wrong = c.Name + ": " + c.policyQuestion.check()
	case c.Approvers < 0 || c.Approvers > 0 && c.Expect != expectConfirm:
		wrong = c.Name + ": approvers is a number from 1, and only of confirm"
	case c.Policies != nil && c.Expect == expectError:
		wrong = c.Name + ": no policies decide where error is expected"
	default:
		return nil
	}
	return usage("%s: %s", c.file, wrong)
}

// run asks the policies. The error says that nobody could ask or decide so.
func (c placedCase) run(ctx context.Context, set *cedar.Set, list []writ.Tool) (caseResult, error) {
	r := caseResult{File: c.file, Name: c.Name, Expected: string(c.Expect)}
	_, act, err := c.act(list)
	if err != nil {
		return r, placed(c.file+": "+c.Name, err)
	}
	verdict, err := set.Answer(ctx, act)
	r.Reason = verdict.Reason
	switch {
	case err != nil:
		r.Got, r.Reason = string(expectError), err.Error()
	case !verdict.Allow:
		r.Got = string(expectDeny)
	case verdict.Approval == nil:
		r.Got = string(expectAllow)
	default:
		r.Got = fmt.Sprintf("%s by %d", expectConfirm, verdict.Approval.Approvers)
	}
	if c.Expect == expectConfirm {
		r.Expected = fmt.Sprintf("%s by %d", expectConfirm, max(c.Approvers, 1))
	}
	if c.Policies != nil {
		r.Expected += " of " + listText(slices.Sorted(slices.Values(*c.Policies)))
		r.Got += " of " + listText(verdict.Policies)
	}
	r.OK = r.Got == r.Expected
	return r, nil
}

// listText names the members of a list.
func listText(list []string) string {
	if len(list) == 0 {
		return "no policy"
	}
	return strings.Join(list, ", ")
}
