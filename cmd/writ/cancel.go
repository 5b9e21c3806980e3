package main

import (
	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newCancelCommand(p *program) *cobra.Command {
	var f decisionFlags
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Send nothing more for an intent",
		Long: `Forbids every further request for an intent. It takes nothing back and interrupts nothing. An
intent of which nothing was sent ends as cancelled; one whose request is under way ends by what
that does; one whose outcome is open is looked up, or stays in doubt for somebody to resolve.
Cancelling again changes nothing.

Exit statuses: 0 cancelled, or to be cancelled once it is known that nothing happened; 1
infrastructure, 2 usage or no such intent, 7 it ended before.`,
		Example: `  writ intent cancel 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --note "the order was withdrawn"`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.decide(cmd, args[0], f, cancelledText, (*writ.Client).Cancel)
		},
	}
	f.register(cmd, "who cancels")
	f.registerStanding(cmd, "who cancels")
	return cmd
}

func cancelledText(v writ.Intent) string {
	switch {
	case v.State == intent.Cancelled:
		return "cancelled"
	case v.Effect == intent.Unknown && underWay(v):
		return "to be cancelled; nothing more is sent after the attempt that is under way"
	}
	return "to be cancelled, unless the effect happened; nothing more is sent"
}
