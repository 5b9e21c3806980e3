package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

// resolveFlags are the flags of writ resolve.
type resolveFlags struct {
	decisionFlags
	applied, notApplied, retry bool
	result, from               string
}

func newResolveCommand(p *program) *cobra.Command {
	var f resolveFlags
	cmd := &cobra.Command{
		Use:   "resolve [ID]",
		Short: "Say what became of an intent in doubt",
		Long: `Says what became of an intent in doubt, once the provider has been asked. --applied: the effect
happened, and the intent completes; --result is what the tool would have answered. --not-applied:
it did not happen, under any key that the intent has used, and the intent fails. --retry: it goes
on by its rule with new budgets; that is refused where the effect could happen twice, so always
for a tool without a key and without a lookup. Evidence that comes later is not lost: what
speaks against the end raises an alert.

--from reads many: a JSON object on each line, with intent_id, resolution (applied, not_applied
or retry), note and, with applied, result. Before the first line is recorded, each is checked: its
form, that its intent exists and is in doubt, and that its tool would give such a result. If one
line fails that, nothing is recorded. What became of each is the answer. The same file again
changes nothing.

It returns when the decision is committed.

Exit statuses: 0 recorded, 1 infrastructure, 2 usage or no such intent, 3 a retry that is
refused, or not permitted, 7 not in doubt; the message says who decided before. With --from that
of the first line that failed.`,
		Example: `  writ doubt
  writ resolve 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --applied \
    --result '{"id":"cap_1"}' --note "on the bank's statement of 2 March"
  writ resolve 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --not-applied \
    --note "support case 4711: they have nothing"
  writ resolve --from resolutions.jsonl`,
		Args: idOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("from") {
				return p.resolveFrom(cmd, f)
			}
			return p.resolve(cmd, args[0], f)
		},
	}
	f.register(cmd, "who resolves")
	f.registerStanding(cmd, "who resolves")
	cmd.Flags().BoolVar(&f.applied, "applied", false, "the effect happened")
	cmd.Flags().BoolVar(&f.notApplied, "not-applied", false, "the effect did not happen")
	cmd.Flags().BoolVar(&f.retry, "retry", false, "try again, if that cannot make it happen twice")
	cmd.Flags().StringVar(&f.result, "result", "", "with --applied, what the tool would have answered: `JSON` of at most 64 KiB, @FILE, or - for standard input")
	cmd.Flags().StringVar(&f.from, "from", "", "resolve what the lines of this `file` say; - for standard input")
	return cmd
}

// idOrFile is the rule of resolve's arguments: an intent with flags that say what became of it,
// or --from, which says it of many.
func idOrFile(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("from") {
		if len(args) == 0 {
			return fmt.Errorf("writ resolve takes the ID of an intent, or --from and a file that names many")
		}
		return one("ID")(cmd, args)
	}
	if cmd.Flag("from").Value.String() == "" {
		return fmt.Errorf("--from is empty; name a file, or - for standard input")
	}
	mixed := len(args) > 0 || slices.ContainsFunc([]string{"applied", "not-applied", "retry", "result", "note"}, cmd.Flags().Changed)
	if mixed {
		return fmt.Errorf("--from says everything but who resolves; leave out ID, --applied, --not-applied, --retry, --result and --note")
	}
	return nil
}

func (p *program) resolve(cmd *cobra.Command, text string, f resolveFlags) error {
	resolution, err := p.resolution(cmd, f)
	if err != nil {
		return err
	}
	decider, err := f.decider(cmd)
	if err != nil {
		return err
	}
	if err := resolution.Check(decider); err != nil {
		return err
	}
	return p.decide(cmd, text, f.decisionFlags, resolvedText(resolution.As),
		func(c *writ.Client, ctx context.Context, id intent.ID, by writ.Decider) (writ.Intent, error) {
			return c.Resolve(ctx, id, resolution, by)
		})
}

// resolution returns what the flags say; they have to say exactly one thing.
func (p *program) resolution(cmd *cobra.Command, f resolveFlags) (writ.Resolution, error) {
	var said []writ.ResolutionKind
	for _, flag := range []struct {
		given bool
		as    writ.ResolutionKind
	}{{f.applied, writ.ResolveApplied}, {f.notApplied, writ.ResolveNotApplied}, {f.retry, writ.ResolveRetry}} {
		if flag.given {
			said = append(said, flag.as)
		}
	}
	if len(said) != 1 {
		return writ.Resolution{}, intent.Errorf(intent.CodeInvalidResolution, "%d of --applied, --not-applied and --retry are given; say exactly one, and a --note that says how you know", len(said))
	}
	r := writ.Resolution{As: said[0]}
	if !cmd.Flags().Changed("result") {
		return r, nil
	}
	var err error
	r.Result, err = input{what: "result", flag: "--result", limit: intent.MaxInline, shrink: "give its essence, or leave it out"}.read(cmd.Context(), f.result, p.stdin)
	if err == nil && len(r.Result) == 0 {
		err = intent.Errorf(intent.CodeInvalidResolution, "the result is empty; leave --result out if nobody knows it")
	}
	return r, err
}

// resolvedText returns what is said of the decision, which the same person may have made before.
func resolvedText(as writ.ResolutionKind) func(writ.Intent) string {
	return func(v writ.Intent) string {
		switch as {
		case writ.ResolveApplied:
			return "resolved as applied"
		case writ.ResolveNotApplied:
			return "resolved as not applied; nothing more is sent"
		case writ.ResolveRetry:
			if v.State.Ended() {
				return "nothing new was begun: it was let go on before, and has ended"
			}
			return "it goes on by its rule, without this command"
		}
		return string(as)
	}
}
