package main

import (
	"slices"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newReissueCommand(p *program) *cobra.Command {
	var f decisionFlags
	cmd := &cobra.Command{
		Use:   "reissue ID",
		Short: "Begin an intent that failed again, under a new idempotency key",
		Long: `Begins an intent that failed again: the same action under the same request key, with a new
idempotency key. The policy is asked again. It is refused unless everything on record says that
nothing happened; an intent in doubt has to be resolved first.

It returns when the new generation is committed; writ intent watch follows it from there.

Exit statuses: 0 issued again, 1 infrastructure, 2 usage or no such intent, 3 not
permitted, 7 it did not fail, or
its effect may have happened.`,
		Example: `  writ reissue 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --note "the account is funded now"
  writ intent watch 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204`,
		Args: one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.decide(cmd, args[0], f, reissuedText, (*writ.Client).Reissue)
		},
	}
	f.register(cmd, "who issues it again")
	f.registerStanding(cmd, "who issues it again")
	return cmd
}

// reissuedText tells a generation that begins now from one that the same person had begun
// before, which the command returns as it stands.
func reissuedText(v writ.Intent) string {
	begun := v.State.Ended() || slices.ContainsFunc(v.Attempts, func(a writ.Attempt) bool { return a.Generation == v.Generation })
	if !begun {
		return "issued again; it goes on without this command"
	}
	by := ""
	for _, d := range v.Decisions {
		if d.Kind == intent.Reissue {
			by = " " + decidedText(d)
		}
	}
	return "nothing new was begun: it was issued again before" + by
}
