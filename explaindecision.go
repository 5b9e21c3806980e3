package writ

import (
	"context"
	"encoding/json"
	"fmt"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/policy/cedar"
)

// ExplainDecision says whether by may decide so about the intent now, as far as policies rule that,
// and why: those that the intent was decided on, as a call that decides asks them, or the ones in
// files, texts under the names of their files. It records nothing, and asks nothing but policies. If
// none of those that the intent was decided on rule who decides, everybody may, and no policy is
// named. The error has the codes of ActOf, intent_not_found, or invalid_policy if the policies do not
// fit the tool.
func (c *Client) ExplainDecision(ctx context.Context, id intent.ID, action policy.Action, by Decider, files map[string]string) (cedar.Explanation, error) {
	row, err := c.store.Load(ctx, id)
	if err != nil {
		return cedar.Explanation{}, err
	}
	var asked *rules
	if files == nil {
		asked, err = c.rulesOf(ctx, row)
	} else {
		asked, err = c.rulesIn(ctx, files, row)
	}
	if err != nil {
		return cedar.Explanation{}, err
	}
	var facts policy.Facts
	if asked != nil {
		facts = asked.facts
	}
	facts.Now = row.ReadAt
	act, err := ActOf(action, by, facts)
	switch {
	case err != nil:
		return cedar.Explanation{}, err
	case asked == nil:
		return cedar.Explanation{Allow: true, Reason: "no policies that the intent was decided on rule who decides", Considered: []cedar.Considered{}}, nil
	}
	return asked.policy.Explain(ctx, act), nil
}

// rulesIn is rulesOf of other policies.
func (c *Client) rulesIn(ctx context.Context, files map[string]string, row outbox.Row) (*rules, error) {
	var decision policy.Decision
	if err := json.Unmarshal(row.Decision, &decision); err != nil {
		return nil, fmt.Errorf("decision of intent %s: %w", row.ID, err)
	}
	tool, facts, err := c.factsOf(ctx, row, decision)
	if err != nil {
		return nil, err
	}
	set, err := cedar.FromFiles(files)
	if err != nil {
		return nil, err
	}
	bound, err := set.ForSome(Hosted([]Tool{tool}))
	return &rules{policy: bound, facts: facts}, err
}
