package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

// decisionFlags are the flags of whoever decides something.
type decisionFlags struct {
	identityFlags
	note string
}

func newConfirmCommand(p *program) *cobra.Command {
	var f decisionFlags
	var commitment string
	cmd := &cobra.Command{
		Use:   "confirm ID",
		Short: "Let an intent that waits for a person go on",
		Long: `Confirms an intent that waits for a person, as writ intent get shows it, so that it runs. The
confirmation is used once and stands in the receipt. Who asked for the intent may not confirm
it, nor for whom that one acts, nor who acts for one of them; and after its time nobody may.
Where its policy wants more than one person, it goes on with the last of them.

--commitment names what you were shown, as writ intent get shows it: if the intent is bound to
anything else by now, nothing is recorded.

It returns when the confirmation is committed; writ intent watch follows the intent from there.

Exit statuses: 0 confirmed, 1 infrastructure, 2 usage or no such intent, 3 too late or not
yours to confirm, 7 it does not wait for a decision, or waits for others than you, or is bound to
another commitment; the message says who decided before.`,
		Example: `  writ intent list --state awaiting_confirmation
  writ intent get 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204
  writ confirm 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --commitment 5d1c09ab77e0f1d2 --principal ada
  writ intent watch 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204`,
		Args: one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var shown intent.DigestPrefix
			if cmd.Flags().Changed("commitment") {
				var err error
				if shown, err = intent.ParseDigestPrefix(commitment); err != nil {
					return err
				}
			}
			return p.decide(cmd, args[0], f, confirmedText, func(c *writ.Client, ctx context.Context, id intent.ID, by writ.Decider) (writ.Intent, error) {
				return c.ConfirmShown(ctx, id, shown, by)
			})
		},
	}
	f.register(cmd, "who confirms")
	cmd.Flags().StringVar(&commitment, "commitment", "", "the `digits` of the commitment that you were shown, at least the first 16; anything else is not confirmed")
	f.registerStanding(cmd, "who confirms")
	return cmd
}

func newDenyCommand(p *program) *cobra.Command {
	var f decisionFlags
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse an intent that waits for a person",
		Long: `Denies an intent that waits for a person: it is refused, with a receipt, and nothing is sent.
Who asked for it may deny it too, and so take it back.

Exit statuses: 0 denied, 1 infrastructure, 2 usage or no such intent, 3 too late or not permitted,
7 it does not wait for a decision; the message says who decided before.`,
		Example: `  writ deny 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --principal ada --note "sent twice by mistake"`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.decide(cmd, args[0], f, always("denied; nothing was sent"), (*writ.Client).Deny)
		},
	}
	f.register(cmd, "who denies")
	f.registerStanding(cmd, "who denies")
	return cmd
}

func (f *decisionFlags) register(cmd *cobra.Command, who string) {
	f.registerPrincipal(cmd, who)
	cmd.Flags().StringVar(&f.note, "note", "", "`text` that says why; at most 1,000 bytes on one line")
}

// confirmedText says whether others are missing.
func confirmedText(v writ.Intent) string {
	if v.State == intent.AwaitingConfirmation {
		return "confirmed; it goes on when " + counted(v.Approvers-v.Confirmed, "more person has", "more people have")
	}
	return "confirmed; it goes on without this command"
}

// decider returns who decides.
func (f decisionFlags) decider(cmd *cobra.Command) (writ.Decider, error) {
	if err := f.resolve(cmd); err != nil {
		return writ.Decider{}, err
	}
	return writ.Decider{Principal: f.principal, Note: f.note, Roles: f.roles, OnBehalfOf: f.onBehalfOf}, nil
}

// always is what is said of a decision however the intent stands then.
func always(text string) func(writ.Intent) string { return func(writ.Intent) string { return text } }

// decide records a person's decision and shows the intent as it stands then, under what said
// says of it.
func (p *program) decide(cmd *cobra.Command, text string, f decisionFlags, said func(writ.Intent) string,
	record func(*writ.Client, context.Context, intent.ID, writ.Decider) (writ.Intent, error),
) error {
	decider, err := f.decider(cmd)
	if err != nil {
		return err
	}
	v, err := fetch(cmd.Context(), p, text, func(c *writ.Client, ctx context.Context, id intent.ID) (writ.Intent, error) {
		return record(c, ctx, id, decider)
	})
	if err != nil {
		return err
	}
	v.Payload, v.Decision = unpainted(v.Payload), unpainted(v.Decision)
	return p.print(v, func(w io.Writer) {
		var b block
		b.add("decision", said(v))
		b.add("state", string(v.State))
		b.add("effect", effectIn(v))
		describe(&b, v)
		b.write(w)
	})
}
