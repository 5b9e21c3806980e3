package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
)

func newConsentCommand(p *program) *cobra.Command {
	cmd := group("consent", "Record who consents to what", newConsentSetCommand(p, consentGrant), newConsentSetCommand(p, consentRevoke), newConsentListCommand(p))
	cmd.Long = `Records to which purposes a person consents. A tool that declares a purpose runs only for persons
who consent to it: all on whose behalf it is asked, and where there is none, who asks.`
	cmd.Example = `  writ consent grant marketing --person ada --tenant acme --note "signed on 2 March"
  writ consent list --person ada`
	return cmd
}

type consentSaying = saying[writ.ConsentSubject, writ.Consent]

var (
	consentGrant = consentSaying{
		use: "grant PURPOSE", short: "Record that a person consents",
		long: `Records that a person consents to a purpose, until that is revoked. Who acts for the person may not
grant it (delegated_consent). Who said so, when and why is kept.`,
		example: `  writ consent grant marketing --person ada --tenant acme --note "signed on 2 March"`,
		who:     "who says that the person consents", record: (*writ.Client).GrantConsent,
	}
	consentRevoke = consentSaying{
		use: "revoke PURPOSE", short: "Record that a person does not consent, or no longer",
		long: `Records that a person does not consent to a purpose, or no longer. What waits and was not sent
is refused with a receipt when it would be. What is being sent is not interrupted; see writ hold
set. Who said so, when and why is kept.`,
		example: `  writ consent revoke marketing --person ada --tenant acme --note "by mail"`,
		who:     "who says that the person does not consent", record: (*writ.Client).RevokeConsent,
	}
)

func newConsentSetCommand(p *program, does consentSaying) *cobra.Command {
	var on writ.ConsentSubject
	var by decisionFlags
	cmd := &cobra.Command{
		Use: does.use, Short: does.short, Long: does.long, Example: does.example,
		Args: one("PURPOSE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			on.Purpose = args[0]
			return said(cmd, p, by, does.record, on, writeConsents)
		},
	}
	cmd.Flags().StringVar(&on.Person, "person", "", "`name` of the person whom it concerns; required")
	cmd.Flags().StringVar(&on.Tenant, "tenant", writ.DefaultTenant, "`name` of the tenant")
	by.register(cmd, does.who)
	by.registerStanding(cmd, does.who)
	return cmd
}

func newConsentListCommand(p *program) *cobra.Command {
	var of writ.ConsentSubject
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List who consents to what, and who does not",
		Long: `Lists what was said last of each tenant, person and purpose, with --all everything that was ever
said, the newest first. It shows 1,000 at most.`,
		Example: `  writ consent list --tenant acme --purpose marketing
  writ consent list --person ada --all -o json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listSaid(cmd, p, (*writ.Client).Consents, of, all, writeConsents)
		},
	}
	cmd.Flags().StringVar(&of.Tenant, "tenant", "", "only those of the tenant of this `name`")
	cmd.Flags().StringVar(&of.Person, "person", "", "only those of the person of this `name`")
	cmd.Flags().StringVar(&of.Purpose, "purpose", "", "only those to the purpose of this `name`")
	cmd.Flags().BoolVar(&all, "all", false, "also what counts no more")
	return cmd
}

func writeConsents(w io.Writer, list []writ.Consent) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no consents")
		return
	}
	rows := [][]string{{"TENANT", "PERSON", "PURPOSE", "CONSENT", "SAID"}}
	for _, c := range list {
		consent := "granted"
		if !c.Granted {
			consent = "revoked"
		}
		rows = append(rows, []string{c.Tenant, c.Person, c.Purpose, consent, statementText(c.Statement)})
	}
	writeTable(w, rows)
}
