package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
)

func newEgressCommand(p *program) *cobra.Command {
	cmd := group("egress", "Rule which data may go to which provider",
		newEgressSetCommand(p, egressAllow), newEgressSetCommand(p, egressDeny), newEgressSetCommand(p, egressRemove), newEgressListCommand(p))
	cmd.Long = `Rules which classes of data may go to which provider. A tool that declares a class runs only
where a rule lets it go to the tool's provider: the tenant's own rule, and where it has none, the
one for all tenants. Without any rule it may not go there.`
	cmd.Example = `  writ egress allow contact --provider mailer --tenant acme --note "contract of 2 March"
  writ egress deny health --provider mailer --all-tenants
  writ egress list --provider mailer`
	return cmd
}

type egressSaying = saying[writ.EgressSubject, writ.EgressRule]

var (
	egressAllow = egressSaying{
		use: "allow CLASS", short: "Let data of a class go to a provider",
		long:    "Lets data of a class go to a provider. Who said so, when and why is kept.",
		example: `  writ egress allow contact --provider mailer --tenant acme --note "contract of 2 March"`,
		who:     "who allows it", record: (*writ.Client).AllowEgress,
	}
	egressDeny = egressSaying{
		use: "deny CLASS", short: "Do not let data of a class go to a provider",
		long: `Does not let data of a class go to a provider. What waits and was not sent is refused with a
receipt when it would be. What is being sent is not interrupted; see writ hold set. Who said so,
when and why is kept.`,
		example: `  writ egress deny health --provider mailer --all-tenants`,
		who:     "who denies it", record: (*writ.Client).DenyEgress,
	}
	egressRemove = egressSaying{
		use: "remove CLASS", short: "Take a rule back",
		long: `Takes a rule back, as if nothing had been said. Without its own rule a tenant has the one for all
tenants, and without that the data may not go there. What was said is kept.`,
		example: `  writ egress remove contact --provider mailer --tenant acme`,
		who:     "who takes it back", record: (*writ.Client).RemoveEgress,
	}
)

func newEgressSetCommand(p *program, does egressSaying) *cobra.Command {
	var on writ.EgressSubject
	var by decisionFlags
	var general bool
	cmd := &cobra.Command{
		Use: does.use, Short: does.short, Long: does.long, Example: does.example,
		Args: one("CLASS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			on.DataClass = args[0]
			if err := noneEmpty(cmd.Flags(), "tenant"); err != nil {
				return err // it would be a rule for all tenants
			}
			if general {
				if cmd.Flags().Changed("tenant") {
					return usage("--tenant and --all-tenants exclude each other")
				}
				on.Tenant = ""
			}
			return said(cmd, p, by, does.record, on, writeEgressRules)
		},
	}
	cmd.Flags().StringVar(&on.Provider, "provider", "", "`name` of the provider; required")
	cmd.Flags().StringVar(&on.Tenant, "tenant", writ.DefaultTenant, "the rule is for the tenant of this `name`")
	cmd.Flags().BoolVar(&general, "all-tenants", false, "the rule is for every tenant that has none of its own")
	by.register(cmd, does.who)
	by.registerStanding(cmd, does.who)
	return cmd
}

func newEgressListCommand(p *program) *cobra.Command {
	var of writ.EgressSubject
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List which data may go to which provider, and which may not",
		Long: `Lists the rules that stand, with --all everything that was ever said, the newest first. It shows
1,000 at most.`,
		Example: `  writ egress list --provider mailer
  writ egress list --class contact --all -o json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listSaid(cmd, p, (*writ.Client).EgressRules, of, all, writeEgressRules)
		},
	}
	cmd.Flags().StringVar(&of.Tenant, "tenant", "", "only the own rules of the tenant of this `name`")
	cmd.Flags().StringVar(&of.Provider, "provider", "", "only those for the provider of this `name`")
	cmd.Flags().StringVar(&of.DataClass, "class", "", "only those about the class of this `name`")
	cmd.Flags().BoolVar(&all, "all", false, "also what counts no more")
	return cmd
}

func writeEgressRules(w io.Writer, list []writ.EgressRule) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no rules about egress")
		return
	}
	rows := [][]string{{"TENANT", "CLASS", "PROVIDER", "RULE", "SAID"}}
	for _, r := range list {
		rows = append(rows, []string{orAny(r.Tenant), r.DataClass, r.Provider, string(r.Verdict), statementText(r.Statement)})
	}
	writeTable(w, rows)
}
