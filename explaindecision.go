package writ

import (
	"context"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

// ExplainDecision says whether by may decide so about the intent now, as far as policies rule that,
// and why: those that the intent was decided on, as a call that decides asks them, or the ones in
// files, texts under the names of their files. It records nothing, and asks nothing but policies. If
// the intent was decided on without any whose text is kept, everybody may, and no policy is named.
// The error has the codes of ActOf, intent_not_found, or invalid_policy if the policies do not fit
// the tool.
func (c *Client) ExplainDecision(ctx context.Context, id intent.ID, action policy.Action, by Decider, files map[string]string) (cedar.Explanation, error) {
	row, err := c.store.Load(ctx, id)
	if err != nil {
		return cedar.Explanation{}, err
	}
	decision, set, err := c.decidedBy(ctx, row)
	if err != nil {
		return cedar.Explanation{}, err
	}
	tool, f, err := c.factsOf(ctx, row, decision)
	if err != nil {
		return cedar.Explanation{}, err
	}
	f.Now = row.ReadAt
	act, err := ActOf(action, by, f)
	switch {
	case err != nil:
		return cedar.Explanation{}, err
	case files != nil:
		return ExplainPolicies(ctx, files, tool, act)
	case set == nil:
		return cedar.Explanation{Allow: true, Reason: "no policies are on record that the intent was decided on", Considered: []cedar.Considered{}}, nil
	}
	return explain(ctx, set, tool, act)
}
