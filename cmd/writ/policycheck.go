package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
	"writ/policy/cedar"
)

// toolsFlag says where the tools come from that policies are held against.
type toolsFlag struct{ file string }

func (f *toolsFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "tools", "", "`file` with what writ tools list -o json prints, or - for standard input (default: the tools in PostgreSQL)")
}

// toolsFile is what --tools names.
var toolsFile = input{what: "list of --tools", flag: "--tools", limit: 64 << 20, shrink: "name what `writ tools list -o json` prints", bare: true}

// read returns the tools.
func (f toolsFlag) read(ctx context.Context, p *program) ([]writ.Tool, error) {
	if f.file == "" {
		return withClient(ctx, p, (*writ.Client).Tools)
	}
	text, err := toolsFile.read(ctx, f.file, p.stdin)
	if err != nil {
		return nil, err
	}
	var list []writ.Tool
	err = json.Unmarshal(text, &list)
	if err == nil && list == nil {
		err = errors.New("it is no list")
	}
	for i, t := range list {
		switch {
		case err != nil:
		case slices.ContainsFunc(list[:i], func(other writ.Tool) bool { return other.Name == t.Name }):
			err = fmt.Errorf("it has %.100q twice", t.Name)
		default:
			err = intent.CheckName("tool", t.Name)
		}
	}
	if err != nil {
		return nil, usage("--tools %s is not what `writ tools list -o json` prints: %w", f.file, err)
	}
	return list, nil
}

// policyReport is what writ policy check finds.
type policyReport struct {
	PolicyDigest string        `json:"policy_digest,omitempty"`
	Policies     []string      `json:"policies"`
	Tools        []string      `json:"tools"`
	Faults       []cedar.Fault `json:"faults"`
}

func newPolicyCheckCommand(p *program) *cobra.Command {
	var from toolsFlag
	cmd := &cobra.Command{
		Use:   "check FOLDER",
		Short: "Check policies against the tools, without a worker",
		Long: `Checks the policies of the folder as a worker does when it starts, and says all that is wrong with
them, each with file and line. The tools are those that workers have published, or with --tools
those of a file, which needs no database.

Exit statuses: 0 they fit, 1 infrastructure, 2 they do not, with code invalid_policy. With -o json
it prints {"policy_digest":…,"policies":[…],"tools":[…],"faults":[{"file","line","message"}]}.`,
		Example: `  writ tools list -o json > tools.json
  writ policy check examples/policies/refunds --tools tools.json`,
		Args: one("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
				return err
			}
			return p.checkPolicies(cmd.Context(), args[0], from)
		},
	}
	from.register(cmd)
	return cmd
}

func (p *program) checkPolicies(ctx context.Context, folder string, from toolsFlag) error {
	list, err := from.read(ctx, p)
	if err != nil {
		return err
	}
	report := policyReport{Policies: []string{}, Tools: toolNames(list), Faults: []cedar.Fault{}}
	set, err := policyFiles(folder)
	if err == nil {
		report.PolicyDigest, report.Policies = set.Digest().String(), set.IDs()
		_, err = set.ForTools(writ.Hosted(list))
	}
	var faults cedar.Faults
	if err != nil && !errors.As(err, &faults) {
		return err
	}
	for _, f := range faults {
		f.File = filepath.Join(folder, f.File)
		report.Faults = append(report.Faults, f)
	}
	if err := p.print(report, func(w io.Writer) { writePolicyReport(w, report) }); err != nil || len(faults) == 0 {
		return err
	}
	return &toldError{intent.Errorf(intent.CodeInvalidPolicy, "%s; correct them and look again", counted(len(faults), "fault", "faults"))}
}

func writePolicyReport(w io.Writer, r policyReport) {
	for _, f := range r.Faults {
		fmt.Fprintln(w, printable(f.String()))
	}
	if len(r.Faults) == 0 {
		fmt.Fprintf(w, "%s, which fit %s: %s\n", counted(len(r.Policies), "policy", "policies"), counted(len(r.Tools), "tool", "tools"), strings.Join(r.Tools, ", "))
		fmt.Fprintf(w, "digest %s\n", r.PolicyDigest)
	}
}

func toolNames(list []writ.Tool) []string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names
}
