package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ"
	"writ/policy/cedar"
)

func newPolicyCommand(p *program) *cobra.Command {
	cmd := group("policy", "Put Cedar policies in force, check, test and explain them",
		newPolicyCheckCommand(p), newPolicyTestCommand(p), newPolicyPutCommand(p), newPolicyListCommand(p),
		newPolicyShowCommand(p), newPolicyExplainCommand(p))
	cmd.Long = `Says who may run what, in Cedar. Policies are files whose names end in .cedar, in a folder that a
worker is given with --policies, or in PostgreSQL, where writ policy put puts them in force for all
workers with --stored-policies.`
	cmd.Example = `  writ policy test examples/policies/refunds
  writ policy put examples/policies/refunds --principal ada --note "as the audit asked"
  writ policy explain payments.refund --payload @refund.json --role support`
	return cmd
}

// policyFiles reads the policies of a folder.
func policyFiles(folder string) (*cedar.Set, error) {
	if folder == "" {
		return nil, usage("the FOLDER is empty; name one")
	}
	set, err := cedar.Load(os.DirFS(folder))
	if err != nil {
		return nil, placed(folder, err)
	}
	return set, nil
}

// placed is the error with where it comes from before its message.
func placed(where string, err error) error {
	e := *described(err)
	e.Message = where + ": " + e.Message
	return &e
}

func newPolicyPutCommand(p *program) *cobra.Command {
	var by decisionFlags
	var digest string
	cmd := &cobra.Command{
		Use:   "put [FOLDER]",
		Short: "Put the policies of a folder in force",
		Long: `Checks the policies of the folder against all tools that workers have published, stores them in
PostgreSQL, and puts them in force: workers with --stored-policies decide by them from their next
decision on. With --digest it puts stored ones in force again, as to take a change back.

Who put which policies in force, when and why is kept for ever; see writ policy list. To put what
is in force already changes nothing.

Exit statuses: 0 in force, 1 infrastructure, 2 usage, or policies that do not fit (invalid_policy).`,
		Example: `  writ policy put examples/policies/refunds --principal ada --note "as the audit asked"
  writ policy put --digest "$(writ policy list -o json | jq -r '.[1].digest')" --note "taken back"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == cmd.Flags().Changed("digest") || len(args) > 1 {
				return fmt.Errorf("%s takes one FOLDER, or --digest", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags(), "digest"); err != nil {
				return err
			}
			return p.putPolicies(cmd, args, digest, by)
		},
	}
	by.register(cmd, "who puts them in force")
	by.registerStanding(cmd, "who puts them in force")
	cmd.Flags().StringVar(&digest, "digest", "", "the whole `digest` of policies that are stored, in the place of FOLDER")
	return cmd
}

func (p *program) putPolicies(cmd *cobra.Command, args []string, digest string, by decisionFlags) error {
	if len(args) == 0 {
		stored, err := p.policies(cmd.Context(), digest)
		if err != nil {
			return err
		}
		return said(cmd, p, by, (*writ.Client).PutPolicies, stored.Files, writePolicyChanges)
	}
	set, err := policyFiles(args[0])
	if err != nil {
		return err
	}
	return said(cmd, p, by, (*writ.Client).PutPolicies, set.Files(), writePolicyChanges)
}

func newPolicyListCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List who put which policies in force, newest first",
		Long:  "Lists every change of the policies in PostgreSQL, newest first, 1,000 at most.",
		Example: `  writ policy list
  writ policy list -o json | jq -r '.[] | select(.in_force).digest'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := withClient(cmd.Context(), p, (*writ.Client).PolicyChanges)
			if err != nil {
				return err
			}
			return p.print(list, func(w io.Writer) { writePolicyChanges(w, list) })
		},
	}
}

func writePolicyChanges(w io.Writer, list []writ.PolicyChange) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no policies were ever put in force; put some with `writ policy put`")
		return
	}
	rows := [][]string{{"NUMBER", "", "DIGEST", "PUT BY"}}
	for _, c := range list {
		standing := ""
		if c.InForce {
			standing = "in force"
		}
		rows = append(rows, []string{fmt.Sprint(c.Number), standing, c.Digest, statementText(c.Statement)})
	}
	writeTable(w, rows)
}

func newPolicyShowCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "show [DIGEST]",
		Short: "Show the text of policies",
		Long: `Shows the policies in force in PostgreSQL, or those with the digest, as decisions and receipts name
it: workers store theirs when they start, and what was stored is kept for ever.

With -o json it is {"digest":…,"files":{"refunds.cedar":"…"}}.`,
		Example: `  writ policy show
  writ policy show 5243f51598ba1ff61e1ef524b4a70bddc018ebe9e3874a73a04d767603ee8f55`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "" {
				return usage("the DIGEST is empty; leave it out for the policies in force")
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := p.policies(cmd.Context(), strings.Join(args, "")) // of none: those in force
			if err != nil {
				return err
			}
			return p.print(set, func(w io.Writer) {
				for _, name := range slices.Sorted(maps.Keys(set.Files)) {
					fmt.Fprintf(w, "// %s\n", printable(name))
					writeLines(w, "", set.Files[name])
				}
			})
		},
	}
}

// policies reads the set with the digest, or the one in force if that is empty.
func (p *program) policies(ctx context.Context, digest string) (writ.PolicySet, error) {
	return withClient(ctx, p, func(c *writ.Client, ctx context.Context) (writ.PolicySet, error) { return c.Policies(ctx, digest) })
}

// writeLines writes text of unknown origin line by line, each after the indent.
func writeLines(w io.Writer, indent, text string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		fmt.Fprintln(w, indent+printable(strings.TrimRight(line, "\r\n")))
	}
}
