package writ

import (
	"bytes"
	"context"
	"encoding/json"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/policy/cedar"
)

// permitted is the decider as it is recorded, if the policies that the intent was decided on let it
// decide. They are asked under the intent's lock; what they read is read before. If the intent was
// decided on anew in between, the error has code commitment_changed.
func (c *Client) permitted(ctx context.Context, row outbox.Row, by Decider) (outbox.Decider, error) {
	decider := by.recorded()
	rules, err := c.rulesOf(ctx, row)
	if err != nil {
		return decider, err
	}
	decider.Permit = func(locked outbox.Row, kind intent.DecisionKind) error {
		if !bytes.Equal(locked.Decision, row.Decision) {
			return intent.Errorf(intent.CodeCommitmentChanged,
				"intent %s was decided on anew meanwhile, and nothing was recorded; look again with `writ intent get %s`", row.ID, row.ID)
		}
		if rules == nil {
			return nil
		}
		return rules.permit(ctx, locked, kind, decider.Identity())
	}
	return decider, nil
}

// rules are policies that rule who may decide about an intent.
type rules struct {
	policy *cedar.Set // for the intent's tool
	facts  policy.Facts
}

// rulesOf is nil if the intent was decided on without policies, or by a set of which PostgreSQL has
// no text: then a worker of an earlier release had it, which could rule no decider, or it is the
// host's own and not in Cedar.
func (c *Client) rulesOf(ctx context.Context, row outbox.Row) (*rules, error) {
	decision, err := decisionOf(row)
	if err != nil && row.State == intent.AwaitingConfirmation {
		return nil, nil // nobody can confirm what was changed by hand, and denying it sends nothing
	}
	if err != nil {
		return nil, err
	}
	if decision.PolicyDigest == "" {
		return nil, nil
	}
	set, err := readPolicies(ctx, c.store, decision.PolicyDigest)
	switch {
	case intent.CodeOf(err) == intent.CodePoliciesNotFound:
		return nil, nil
	case err != nil || !set.GovernsDeciders():
		return nil, err
	}
	tool, facts, err := c.factsOf(ctx, row, decision)
	if err != nil {
		return nil, err
	}
	bound, err := set.ForSome(Hosted([]Tool{tool}))
	if err != nil {
		return nil, err
	}
	return &rules{policy: bound, facts: facts}, nil
}

// decisionOf is the decision that is on the row.
func decisionOf(row outbox.Row) (policy.Decision, error) {
	var d policy.Decision
	if err := json.Unmarshal(row.Decision, &d); err != nil {
		return d, outbox.Unreadable("what is recorded as the decision on intent "+row.ID.String(), err)
	}
	return d, nil
}

// permit is the error, with code not_permitted, of somebody whom the policies do not let decide so.
// What had to be confirmed is confirmed anew by whoever issues it again.
func (r *rules) permit(ctx context.Context, row outbox.Row, kind intent.DecisionKind, by intent.EffectContext) error {
	actions := []policy.Action{policy.ActionOf(kind)}
	if kind == intent.Reissue && row.Record().Quorum() > 0 {
		actions = append(actions, policy.ActionConfirm)
	}
	for _, action := range actions {
		act := policy.Act{Action: action, By: by, On: r.facts}
		act.On.Now = row.ReadAt
		verdict, err := r.policy.MayDecide(ctx, act)
		if err == nil && verdict.Allow {
			continue
		}
		reason := verdict.Reason
		if err != nil {
			reason = "the policies give no answer: " + err.Error()
		}
		return intent.Errorf(intent.CodeNotPermitted, "%s is not permitted %s on intent %s: %s; nothing was recorded", by.Principal, action, row.ID, reason).
			Proven(intent.Happened(row.Record()))
	}
	return nil
}
