package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newHoldCommand(p *program) *cobra.Command {
	cmd := group("hold", "Stop a tool, a provider or a tenant, and let it go on", newHoldSetCommand(p), newHoldListCommand(p), newHoldLiftCommand(p))
	cmd.Long = `Stops whatever would be sent to a provider, by a tool or for a tenant, without refusing it:
intents are accepted and wait, and go on by themselves when the hold is lifted.

A provider that does not answer is held by its circuit breaker, which tries it from time to
time and lifts the hold at the first answer; see --breaker-failures of writ worker.`
	cmd.Example = `  writ hold set --provider bank --note "they migrate until 14:00"
  writ hold list
  writ hold lift --provider bank`
	return cmd
}

// holdFlags are the flags that name what is held.
type holdFlags struct{ tool, provider, tenant string }

func (f *holdFlags) register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.tool, "tool", "", what+" the tool of this `name`")
	cmd.Flags().StringVar(&f.provider, "provider", "", what+" every tool of the provider of this `name`")
	cmd.Flags().StringVar(&f.tenant, "tenant", "", what+" everything of the tenant of this `name`")
}

// subject returns what the flags name; they have to name exactly one thing.
func (f holdFlags) subject(cmd *cobra.Command) (writ.HoldRequest, error) {
	var given []writ.HoldRequest
	for _, r := range []writ.HoldRequest{{Scope: writ.HoldTool, Name: f.tool}, {Scope: writ.HoldProvider, Name: f.provider}, {Scope: writ.HoldTenant, Name: f.tenant}} {
		if cmd.Flags().Changed(string(r.Scope)) {
			given = append(given, r)
		}
	}
	if len(given) != 1 {
		return writ.HoldRequest{}, intent.Errorf(intent.CodeInvalidHold, "%d of --tool, --provider and --tenant are given; a hold has exactly one subject", len(given))
	}
	return given[0], intent.CheckName(string(given[0].Scope), given[0].Name)
}

func newHoldSetCommand(p *program) *cobra.Command {
	var on holdFlags
	var by decisionFlags
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Stop a tool, a provider or a tenant",
		Long: `Stops a tool, a provider or a tenant. When it returns, nothing more is sent for the intents
concerned, but what it lists as in flight: attempts that were granted before and have not
answered yet. They are not interrupted, because what was sent cannot be taken back.

A hold stands until somebody lifts it. Setting one that stands changes nothing, says whose it is,
and lists again what is in flight.`,
		Example: `  writ hold set --provider bank --note "they migrate until 14:00"
  writ hold set --tool payments.capture -o json | jq .in_flight`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			subject, err := on.subject(cmd)
			if err != nil {
				return err
			}
			return p.setHold(cmd, subject, by)
		},
	}
	on.register(cmd, "stop")
	by.register(cmd, "who sets the hold")
	by.registerStanding(cmd, "who sets the hold")
	return cmd
}

// heldNow is the document of writ hold set.
type heldNow struct {
	Hold     writ.Hold     `json:"hold"`
	InFlight []writ.Flight `json:"in_flight"`
}

func (p *program) setHold(cmd *cobra.Command, subject writ.HoldRequest, by decisionFlags) error {
	decider, err := by.decider(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	client, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	hold, flights, err := client.SetHold(ctx, subject, decider)
	if err != nil {
		return err
	}
	p.warnOfUnknown(ctx, client, subject)
	p.warnOfStanding(hold, decider)
	return p.print(heldNow{hold, flights}, func(w io.Writer) { writeHeld(w, hold, flights) })
}

// warnOfUnknown tells who may have mistyped a name. The hold stands all the same: what it stops
// may come later, and a hold must not wait for questions.
func (p *program) warnOfUnknown(ctx context.Context, client *writ.Client, subject writ.HoldRequest) {
	list, err := client.Tools(ctx)
	if err != nil {
		p.log.Warn("the hold stands; it could not be checked whether its name is known", "error", err)
		return
	}
	known := subject.Scope == writ.HoldTenant || slices.ContainsFunc(list, func(t writ.Tool) bool {
		return subject.Scope == writ.HoldTool && t.Name == subject.Name || subject.Scope == writ.HoldProvider && t.Behaviour.Provider == subject.Name
	})
	if !known {
		fmt.Fprintf(p.stderr, "writ: warning: no published tool is, or has, the %s %s; the hold stands all the same\n", subject.Scope, subject.Name)
	}
}

// warnOfStanding tells who meant to set a hold that somebody else's stands already.
func (p *program) warnOfStanding(h writ.Hold, by writ.Decider) {
	if h.Principal == by.Principal && h.Note == by.Note {
		return
	}
	fmt.Fprintf(p.stderr, "writ: warning: a hold on %s %s stood already, set %s; it stands as it was, and this note was not recorded\n",
		h.Scope, h.Name, printable(setText(h)))
}

func writeHeld(w io.Writer, h writ.Hold, flights []writ.Flight) {
	var b block
	b.add("hold", fmt.Sprintf("on %s %s: nothing more is sent until writ hold lift %s", h.Scope, h.Name, h.ID))
	b.add("set", setText(h))
	if len(flights) == 0 {
		b.add("in flight", "nothing")
	}
	for _, f := range flights {
		b.add("in flight", fmt.Sprintf("attempt %d of %s for %s, key %q, intent %s; it may be sent until %s",
			f.Attempt, f.Tool, f.Tenant, f.RequestKey, f.IntentID, moment(f.LeaseUntil)))
	}
	b.write(w)
}

// setText says who set a hold and why.
func setText(h writ.Hold) string {
	return decisionText(standing(h.Principal, h.Standing), h.Note, h.SetAt)
}

// holdText says what keeps an intent waiting.
func holdText(h writ.Hold) string {
	return fmt.Sprintf("the hold on %s %s, set %s", h.Scope, h.Name, setText(h))
}

func newHoldListCommand(p *program) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the holds that stand",
		Long:  "Lists the holds that stand, the latest first; with --all those that were lifted too, 1,000 at most.",
		Example: `  writ hold list
  writ hold list --all -o json | jq '.[] | select(.automatic)'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listHolds(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that were lifted")
	return cmd
}

func (p *program) listHolds(ctx context.Context, all bool) error {
	list, err := withClient(ctx, p, func(c *writ.Client, ctx context.Context) ([]writ.Hold, error) { return c.Holds(ctx, all) })
	if err != nil {
		return err
	}
	return p.print(list, func(w io.Writer) { writeHolds(w, list) })
}

func writeHolds(w io.Writer, list []writ.Hold) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no holds")
		return
	}
	rows := [][]string{{"SET", "ON", "BY", "NEXT PROBE", "LIFTED", "NOTE", "HOLD"}}
	for _, h := range list {
		lifted := "-"
		if !h.LiftedAt.IsZero() {
			lifted = decisionText(standing(h.LiftedBy, h.LiftedAs), h.LiftNote, h.LiftedAt)
		}
		probe := "-"
		if h.Automatic && h.LiftedAt.IsZero() {
			probe = moment(h.ProbeAt)
		}
		rows = append(rows, []string{moment(h.SetAt), string(h.Scope) + " " + h.Name, h.Principal, probe, lifted, h.Note, h.ID})
	}
	writeTable(w, rows)
}

func newHoldLiftCommand(p *program) *cobra.Command {
	var on holdFlags
	var by decisionFlags
	cmd := &cobra.Command{
		Use:   "lift [ID]",
		Short: "Lift a hold, so that what it kept waiting goes on",
		Long: `Lifts the hold of the id, or every hold on a tool, a provider or a tenant, also one that a
circuit breaker has set. What it kept waiting goes on by itself within seconds.`,
		Example: `  writ hold lift --provider bank --note "they are back"
  writ hold lift 5b0c9a53-6d0c-4f0e-8a51-0c1f4a9fd0a7`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return one("ID")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if named := cmd.Flags().Changed("tool") || cmd.Flags().Changed("provider") || cmd.Flags().Changed("tenant"); named {
					return usage("give either the id of a hold or one of --tool, --provider and --tenant")
				}
				return p.liftHolds(cmd, by, func(context.Context, *writ.Client) ([]string, error) { return args, nil })
			}
			subject, err := on.subject(cmd)
			if err != nil {
				return err
			}
			return p.liftHolds(cmd, by, subjectHolds(subject))
		},
	}
	on.register(cmd, "lift what stops")
	by.register(cmd, "who lifts the hold")
	by.registerStanding(cmd, "who lifts the hold")
	return cmd
}

// subjectHolds returns the ids of all holds that stand on the subject.
func subjectHolds(subject writ.HoldRequest) func(context.Context, *writ.Client) ([]string, error) {
	return func(ctx context.Context, client *writ.Client) (ids []string, err error) {
		list, err := client.Holds(ctx, false)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			if h.Scope == subject.Scope && h.Name == subject.Name {
				ids = append(ids, h.ID)
			}
		}
		if len(ids) == 0 {
			return nil, intent.Errorf(intent.CodeHoldNotFound, "no hold stands on %s %s; `writ hold list` shows those that do", subject.Scope, subject.Name)
		}
		return ids, nil
	}
}

func (p *program) liftHolds(cmd *cobra.Command, by decisionFlags, which func(context.Context, *writ.Client) ([]string, error)) error {
	decider, err := by.decider(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	client, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ids, err := which(ctx, client)
	if err != nil {
		return err
	}
	lifted := make([]writ.Hold, len(ids))
	for i, id := range ids {
		if lifted[i], err = client.LiftHold(ctx, id, decider); err != nil {
			return err
		}
	}
	return p.print(lifted, func(w io.Writer) {
		var b block
		for _, h := range lifted {
			b.add("lifted", fmt.Sprintf("the hold on %s %s that %s set at %s; what it kept waiting goes on", h.Scope, h.Name, h.Principal, moment(h.SetAt)))
		}
		b.write(w)
	})
}
