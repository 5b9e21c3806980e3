package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ"
	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

// explainFlags are the flags of writ policy explain.
type explainFlags struct {
	intent, policies         string
	payload, tenant, service string
	now                      string
	risk                     float64
	from                     toolsFlag
	identityFlags
	action    string
	requester policyIdentity
}

func newPolicyExplainCommand(p *program) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [TOOL]",
		Short: "Say which policies rule a request or a decision, or decided about an intent, and why",
		Long: `Says how policies decide about a request that nobody makes, with the flags of writ execute: which
apply, which fail and how, and which do not apply and what of them does not hold. It asks the
policies in force in PostgreSQL, or with --policies those of a folder; with --policies and --tools
it needs no database. It asks policies alone: no gate, no budget and no duplicate guard.

With --action tool.confirm, or another action by which people decide, it says in the same way
whether --principal may decide so about what --requester asked for. Only policies are asked: that
who asked may not confirm holds without them.

With --intent it explains the decision on an intent by the policies that it names, and says whether
those in force, or those of --policies, would decide otherwise now. With --intent and --action it
says whether --principal may decide so about that intent now, by the policies that it was decided
on, or those of --policies.

Of payloads it shows what policies read, and nothing that the tool's input schema calls writeOnly.`,
		Example: `  writ policy explain payments.refund --payload @refund.json --principal ada --role support
  writ policy explain payments.refund --payload @refund.json --policies examples/policies/refunds
  writ policy explain payments.refund --action tool.confirm --principal grace --role finance \
    --requester ada --requester-role support --payload @refund.json
  writ policy explain --intent 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204
  writ policy explain --intent 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --action tool.confirm \
    --principal grace --role finance`,
		Args: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("intent") {
				return one("TOOL")(cmd, args)
			}
			return f.checkBesideIntent(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
				return err
			}
			if err := f.resolve(cmd); err != nil {
				return err
			}
			return p.explain(cmd.Context(), strings.Join(args, ""), f)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *explainFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.intent, "intent", "", "explain the decision on the intent with this `id`; with --action who may decide about it")
	flags.StringVar(&f.policies, "policies", "", "`folder` of Cedar policies (default: those in force in PostgreSQL)")
	flags.StringVar(&f.payload, "payload", "{}", "`JSON` object, @FILE, or - for standard input")
	flags.StringVar(&f.tenant, "tenant", writ.DefaultTenant, "`tenant` whose action it would be")
	f.registerPrincipal(cmd, "who would ask, or decide")
	f.registerStanding(cmd, "who would ask, or decide")
	flags.StringVar(&f.action, "action", string(policy.ActionExecute), "what that one would do: an `action` of policies")
	flags.StringVar(&f.requester.Principal, "requester", "", "`name` of who asked for what is decided about; only with --action")
	flags.StringArrayVar(&f.requester.Roles, "requester-role", nil, "`role` in which it was asked; may be repeated")
	flags.StringArrayVar(&f.requester.OnBehalfOf, "requester-on-behalf-of", nil, "`principal` for whom it was asked, the nearest first; may be repeated")
	flags.StringVar(&f.service, "service", serviceName, "`name` of the service that would ask")
	flags.Float64Var(&f.risk, "risk", 0, "what is at risk, a `number` from 0 to 1, where that is more than the tool states")
	flags.StringVar(&f.now, "now", "", "the `time` that policies see, in RFC 3339 (default: this machine's)")
	f.from.register(cmd)
}

// decides reports whether the flags ask about a decision, and not about a request.
func (f *explainFlags) decides() bool { return policy.Action(f.action) != policy.ActionExecute }

// checkBesideIntent refuses what says again which request is meant.
func (f *explainFlags) checkBesideIntent(cmd *cobra.Command, args []string) error {
	beside := []string{"intent", "policies"}
	if f.decides() {
		beside = append(beside, "action", "principal", "role", "on-behalf-of")
	}
	other := len(args) > 0
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		other = other || flag.Changed && !slices.Contains(beside, flag.Name)
	})
	if other {
		return fmt.Errorf("--intent says which request is meant; beside it there is only --policies, and with an --action by which people decide --principal, --role and --on-behalf-of")
	}
	return nil
}

// explain answers what the flags ask, about a request for the tool or about an intent.
func (p *program) explain(ctx context.Context, tool string, f explainFlags) error {
	var files map[string]string
	if f.policies != "" {
		set, err := policyFiles(f.policies)
		if err != nil {
			return err
		}
		files = set.Files()
	}
	switch {
	case f.intent == "":
		return p.explainQuestion(ctx, tool, f, files)
	case f.decides():
		return p.explainDecision(ctx, f, files)
	}
	return p.explainIntent(ctx, f.intent, files)
}

// question is what the flags ask, without its payload.
func (f explainFlags) question(tool string) (policyQuestion, error) {
	q := policyQuestion{
		Action: policy.Action(f.action), Tool: tool, Tenant: f.tenant, Service: f.service, Risk: f.risk, Now: time.Now(),
		policyIdentity: policyIdentity{Principal: f.principal, Roles: f.roles, OnBehalfOf: f.onBehalfOf},
	}
	if f.requester.Principal != "" || len(f.requester.Roles)+len(f.requester.OnBehalfOf) > 0 {
		q.Requester = &f.requester
	}
	if wrong := q.check(); wrong != "" {
		return q, usage("%s", wrong)
	}
	if f.now == "" {
		return q, nil
	}
	var err error
	if q.Now, err = time.Parse(time.RFC3339, f.now); err != nil {
		return q, usage("--now is not a time in RFC 3339: %w", err)
	}
	return q, nil
}

func (p *program) explainQuestion(ctx context.Context, name string, f explainFlags, files map[string]string) error {
	q, err := f.question(name)
	if err != nil {
		return err
	}
	if q.Payload, err = payloadOnly(intent.MaxPayload).read(ctx, f.payload, p.stdin); err != nil {
		return err
	}
	list, err := f.from.read(ctx, p)
	if err != nil {
		return err
	}
	tool, act, err := q.act(list)
	if err != nil {
		return err
	}
	if files == nil {
		inForce, err := p.policies(ctx, "")
		if err != nil {
			return err
		}
		files = inForce.Files
	}
	e, err := writ.ExplainPolicies(ctx, files, tool, act)
	if err != nil {
		return err
	}
	return p.print(e, func(w io.Writer) { writeExplanation(w, e) })
}

func (p *program) explainDecision(ctx context.Context, f explainFlags, files map[string]string) error {
	e, err := fetch(ctx, p, f.intent, func(c *writ.Client, ctx context.Context, id intent.ID) (cedar.Explanation, error) {
		by := writ.Decider{Principal: f.principal, Roles: f.roles, OnBehalfOf: f.onBehalfOf}
		return c.ExplainDecision(ctx, id, policy.Action(f.action), by, files)
	})
	if err != nil {
		return err
	}
	return p.print(e, func(w io.Writer) { writeExplanation(w, e) })
}

func (p *program) explainIntent(ctx context.Context, text string, files map[string]string) error {
	e, err := fetch(ctx, p, text, func(c *writ.Client, ctx context.Context, id intent.ID) (writ.IntentExplanation, error) {
		return c.ExplainIntent(ctx, id, files)
	})
	if err != nil {
		return err
	}
	return p.print(e, func(w io.Writer) { writeIntentExplanation(w, e) })
}

func writeIntentExplanation(w io.Writer, e writ.IntentExplanation) {
	var d policy.Decision
	_ = json.Unmarshal(e.Decision, &d) // it was read from a row before
	var b block
	b.add("intent", e.Intent.String())
	b.add("tool", e.Tool)
	b.add("decided", verdictText(d.Allow, d.Quorum()))
	b.add("code", string(d.Code))
	b.add("by", d.Policy)
	b.add("reason", d.Reason)
	for _, missing := range e.Missing {
		b.add("not known", missing)
	}
	if e.Differs != nil {
		now := "it would be decided alike: "
		if *e.Differs {
			now = "it would be decided otherwise: "
		}
		b.add("now", now+verdictText(e.Now.Allow, e.Now.Approvers)+", "+explainedReason(*e.Now))
	}
	b.write(w)
	if e.Then != nil {
		fmt.Fprintln(w, "\nwhen it was decided")
		writeExplanation(w, *e.Then)
	}
	if e.Now != nil && (e.Then == nil || *e.Differs) {
		fmt.Fprintln(w, "\nnow")
		writeExplanation(w, *e.Now)
	}
}

func verdictText(allow bool, approvers int) string {
	switch {
	case !allow:
		return "denied"
	case approvers > 0:
		return fmt.Sprintf("allowed when %d confirm it", approvers)
	}
	return "allowed"
}

func explainedReason(e cedar.Explanation) string {
	if e.Error != "" {
		return "no answer, which denies: " + strings.ReplaceAll(e.Error, "\n", "; ")
	}
	return e.Reason
}

func writeExplanation(w io.Writer, e cedar.Explanation) {
	var b block
	b.add("verdict", verdictText(e.Allow, e.Approvers))
	b.add("reason", explainedReason(e))
	b.add("policies", e.PolicyDigest)
	for _, name := range slices.Sorted(maps.Keys(e.Given)) {
		b.add(name, e.Given[name])
	}
	b.write(w)
	for _, c := range e.Considered {
		outcome := strings.ReplaceAll(string(c.Outcome), "_", " ")
		if c.Why != "" {
			outcome += ": " + c.Why
		}
		fmt.Fprintf(w, "\n%s\n", printable(fmt.Sprintf("%s:%d %s %s %s", c.File, c.Line, c.Kind, c.ID, outcome)))
		writeLines(w, "    ", c.Text)
	}
}
