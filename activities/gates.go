package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// ruledTool is what a decision is made on of a tool.
func ruledTool(spec tools.Spec) policy.Tool {
	return policy.Tool{
		Name: spec.Name, Category: spec.Category, Provider: spec.Provider, Class: spec.Class(), SideEffectful: spec.SideEffectful,
		Risk: spec.Risk, MaxRisk: spec.MaxRisk, Consents: spec.Consents, DataClasses: spec.DataClasses,
	}
}

// Hosted is what policies may know of published tools before they are asked for.
func Hosted(list []tools.Published) []policy.Hosted {
	out := make([]policy.Hosted, len(list))
	for i, t := range list {
		out[i] = policy.Hosted{
			Name: t.Name, Category: t.Category, Provider: t.Behaviour.Provider, Class: t.Class,
			SideEffectful: t.Behaviour.SideEffectful, InputSchema: t.Behaviour.InputSchema, Amount: t.StakeAmount,
		}
	}
	return out
}

// WithGates returns g with Writ's own gates, which ask the outbox, in the place of those that are
// nil. There is no scorer of Writ's own.
func WithGates(g policy.Gates, store *outbox.Store) policy.Gates {
	if g.Consent == nil {
		g.Consent = consentGate{outboxGate{store}}
	}
	if g.Egress == nil {
		g.Egress = egressGate{outboxGate{store}}
	}
	return g
}

// outboxGate is a gate whose failure is that of the outbox.
type outboxGate struct{ store *outbox.Store }

func (outboxGate) OfOutbox() {}

type consentGate struct{ outboxGate }

func (consentGate) Name() string { return "consents" }

// Consented asks for the consent of all for whom it is asked, and where it is asked for nobody else,
// of who asks; and nobody among them, nor who asks, may have revoked it. So nobody gains by naming
// one more for whom they act; and an agent that leaves out for whom it acts has to have a consent of
// its own.
func (g consentGate) Consented(ctx context.Context, f policy.Facts) (policy.Verdict, error) {
	asks, asksFor := f.Context.Principal, f.Context.OnBehalfOf
	missing, err := g.store.MissingConsents(ctx, f.Context.Tenant, append([]string{asks}, asksFor...), f.Tool.Consents)
	if err != nil {
		return policy.Verdict{}, err
	}
	if len(asksFor) > 0 {
		missing = slices.DeleteFunc(missing, func(m outbox.NoConsent) bool { return m.Person == asks && m.RevokedAt.IsZero() })
	}
	if len(missing) == 0 {
		return policy.Verdict{Allow: true}, nil
	}
	first := missing[0]
	reason := first.Person + " has not consented to " + first.Purpose
	if !first.RevokedAt.IsZero() {
		reason = fmt.Sprintf("the consent of %s to %s was revoked at %s", first.Person, first.Purpose, first.RevokedAt.Format(time.RFC3339))
	}
	return policy.Verdict{Unsaid: first.RevokedAt.IsZero(), Reason: reason + more(len(missing))}, nil
}

type egressGate struct{ outboxGate }

func (egressGate) Name() string { return "egress-rules" }

func (g egressGate) MayLeave(ctx context.Context, f policy.Facts) (policy.Verdict, error) {
	missing, err := g.store.MissingEgress(ctx, f.Context.Tenant, f.Tool.Provider, f.Tool.DataClasses)
	if err != nil {
		return policy.Verdict{}, err
	}
	if len(missing) == 0 {
		return policy.Verdict{Allow: true}, nil
	}
	first := missing[0]
	reason := "no rule lets "
	if first.Denied {
		reason = "a rule does not let "
	}
	return policy.Verdict{Unsaid: !first.Denied, Reason: reason + first.DataClass + " go to " + f.Tool.Provider + more(len(missing))}, nil
}

// more says of how many nothing more is said.
func more(missing int) string {
	if missing < 2 {
		return ""
	}
	return fmt.Sprintf(", and %d more are missing", missing-1)
}
