package writ

import (
	"cmp"
	"context"

	"writ/intent"
	"writ/outbox"
)

// EgressVerdict is what a rule about egress says.
type EgressVerdict = outbox.EgressVerdict

// The verdicts.
const (
	// EgressAllow: the data may go there.
	EgressAllow = outbox.EgressAllow
	// EgressDeny: it may not.
	EgressDeny = outbox.EgressDeny
	// EgressRemoved: the rule was taken back, and says nothing.
	EgressRemoved = outbox.EgressRemoved
)

// EgressSubject is what a rule about egress is about. In a list, empty members stand for any.
type EgressSubject struct {
	// Tenant is whose data it is. A rule without one is for every tenant that has no rule of its own.
	Tenant string `json:"tenant,omitempty"`
	// DataClass is what tools declare in Spec.DataClasses, and Provider what they do in Spec.Provider.
	DataClass string `json:"data_class"`
	Provider  string `json:"provider"`
}

// EgressRule is what was said of a subject.
type EgressRule struct {
	EgressSubject
	Verdict EgressVerdict `json:"verdict"`
	Statement
}

// AllowEgress records that the data may go to the provider. It counts from the moment at which it is
// committed, for whatever is decided on after that. The error has code invalid_name if a name is none.
func (c *Client) AllowEgress(ctx context.Context, on EgressSubject, by Decider) (EgressRule, error) {
	return c.setEgress(ctx, on, EgressAllow, by)
}

// DenyEgress records that it may not. What has not been claimed by then is refused as egress_denied
// when it is; nothing is interrupted. Of a tenant it comes before a general rule that allows.
func (c *Client) DenyEgress(ctx context.Context, on EgressSubject, by Decider) (EgressRule, error) {
	return c.setEgress(ctx, on, EgressDeny, by)
}

// RemoveEgress takes a rule back, as if nothing had been said. The error has code
// egress_rule_not_found if none stands.
func (c *Client) RemoveEgress(ctx context.Context, on EgressSubject, by Decider) (EgressRule, error) {
	return c.setEgress(ctx, on, EgressRemoved, by)
}

func (c *Client) setEgress(ctx context.Context, on EgressSubject, verdict EgressVerdict, by Decider) (EgressRule, error) {
	err := cmp.Or(intent.CheckOptionalName("tenant", on.Tenant), intent.CheckName("data class", on.DataClass), intent.CheckName("provider", on.Provider), by.check())
	if err != nil {
		return EgressRule{}, err
	}
	set, err := c.store.SetEgress(ctx, outbox.EgressSubject(on), verdict, by.recorded())
	if err != nil {
		return EgressRule{}, undecided(ctx, outbox.Row{}, err)
	}
	return egressOf(set), nil
}

// EgressRules returns the rules that stand and that of names; with all everything that was ever said.
// Ordered by provider, class and tenant, the newest first; at most 1,000. The error has
// code invalid_name if a name is none.
func (c *Client) EgressRules(ctx context.Context, of EgressSubject, all bool) ([]EgressRule, error) {
	if err := cmp.Or(intent.CheckOptionalName("tenant", of.Tenant), intent.CheckOptionalName("data class", of.DataClass), intent.CheckOptionalName("provider", of.Provider)); err != nil {
		return nil, err
	}
	list, err := c.store.EgressRules(ctx, outbox.EgressSubject(of), all)
	rules := make([]EgressRule, len(list))
	for i, said := range list {
		rules[i] = egressOf(said)
	}
	return rules, err
}

func egressOf(said outbox.EgressRule) EgressRule {
	return EgressRule{EgressSubject: EgressSubject(said.EgressSubject), Verdict: said.Verdict, Statement: statementOf(said.Said)}
}
