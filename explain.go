package writ

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/policy/cedar"
	"writ/tools"
)

// FactsOf is what a host's policy is asked about the request, at the time now, after the rules before
// it have let it pass. It does no I/O. The error says why the request would be no request: it has
// the codes of Request.Check, or input_schema_violation.
func FactsOf(r Request, tool Tool, now time.Time) (policy.Facts, error) {
	r.Tool = tool.Name
	p, err := r.prepare(false, maxMaxPayload)
	if err != nil {
		return policy.Facts{}, err
	}
	schema, err := tools.CompileSchema(tool.Behaviour.InputSchema)
	if err != nil {
		return policy.Facts{}, err
	}
	if err := schema.Validate(p.request.Payload); err != nil {
		return policy.Facts{}, intent.Errorf(intent.CodeInputSchema, "%s does not take this payload: %w", tool.Name, err)
	}
	return policy.Facts{
		Context: p.request.Context, Tool: policy.Tool{Name: tool.Name}, Payload: p.request.Payload,
		Risk: max(r.Risk, tool.Behaviour.Risk), Now: now,
	}, nil
}

// ActOf is what policies are asked about a decision of by on an intent whose facts FactsOf returned.
// It does no I/O. The error has the codes of a decision that is refused for who makes it, or
// invalid_request if people decide by no such action.
func ActOf(action policy.Action, by Decider, f policy.Facts) (policy.Act, error) {
	if !slices.Contains(policy.DecidingActions(), action) {
		return policy.Act{}, intent.Errorf(intent.CodeInvalidRequest, "nobody decides by the action %.64q; say one of %v", action, policy.DecidingActions())
	}
	if err := by.check(); err != nil {
		return policy.Act{}, err
	}
	return policy.Act{Action: action, By: by.recorded().Identity(), On: f}, nil
}

// ExplainPolicies says how the policies, texts under the names of their files, would rule a request
// for the tool, policy.Asking of what FactsOf returned, or what ActOf did. The error has code
// invalid_policy if they do not fit the tool.
func ExplainPolicies(ctx context.Context, files map[string]string, tool Tool, a policy.Act) (cedar.Explanation, error) {
	set, err := cedar.FromFiles(files)
	if err != nil {
		return cedar.Explanation{}, err
	}
	return explain(ctx, set, tool, a)
}

func explain(ctx context.Context, set *cedar.Set, tool Tool, a policy.Act) (cedar.Explanation, error) {
	bound, err := set.ForSome(Hosted([]Tool{tool}))
	if err != nil {
		return cedar.Explanation{}, err
	}
	return bound.Explain(ctx, a), nil
}

// IntentExplanation is how the decision on an intent came about, and whether it would be another now.
type IntentExplanation struct {
	Intent intent.ID `json:"intent"`
	Tool   string    `json:"tool"`
	// Decision is the one on the row: a policy.Decision.
	Decision json.RawMessage `json:"decision"`
	// Then is how the policies that the decision names come to it; nil if it names none, or if their
	// text was not kept.
	Then *cedar.Explanation `json:"then,omitempty"`
	// Now is how the other policies decide on the same request at this time; nil if there are none.
	Now *cedar.Explanation `json:"now,omitempty"`
	// Differs says whether they decide otherwise than the decision's; nil if that is not known.
	Differs *bool `json:"differs,omitempty"`
	// Missing says why Then or Now is.
	Missing []string `json:"missing,omitempty"`
}

// ExplainIntent explains the decision on an intent, and how these policies would decide on it now:
// texts under the names of their files, or if files is nil those in force.
func (c *Client) ExplainIntent(ctx context.Context, id intent.ID, files map[string]string) (IntentExplanation, error) {
	row, err := c.store.Load(ctx, id)
	if err != nil {
		return IntentExplanation{}, err
	}
	e := IntentExplanation{Intent: row.ID, Tool: row.Tool, Decision: shownDecision(row.Decision)}
	decision, err := decisionOf(row)
	if err != nil {
		return e, err
	}
	tool, f, err := c.factsOf(ctx, row, decision)
	if err != nil {
		return e, err
	}
	if decision.PolicyDigest == "" {
		e.Missing = append(e.Missing, "the decision names no policies")
	} else if e.Then, err = c.explainStored(ctx, decision.PolicyDigest, tool, f, &e.Missing); err != nil {
		return e, err
	}
	now, inForce, err := c.store.NowAndPolicies(ctx)
	if err != nil {
		return e, err
	}
	f.Now = now
	switch {
	case files != nil:
		other, err := ExplainPolicies(ctx, files, tool, policy.Asking(f))
		if err != nil {
			return e, err
		}
		e.Now = &other
	case inForce == "":
		e.Missing = append(e.Missing, "no policies are in force in PostgreSQL")
	default:
		if e.Now, err = c.explainStored(ctx, inForce, tool, f, &e.Missing); err != nil {
			return e, err
		}
	}
	if e.Then != nil && e.Now != nil {
		differs := e.Then.Allow != e.Now.Allow || e.Then.Approvers != e.Now.Approvers
		e.Differs = &differs
	}
	return e, nil
}

// factsOf is what policies were asked about the intent when it was created.
func (c *Client) factsOf(ctx context.Context, row outbox.Row, decision policy.Decision) (Tool, policy.Facts, error) {
	asked, err := row.Context()
	if err != nil {
		return Tool{}, policy.Facts{}, err
	}
	payload, err := c.store.Payload(ctx, row.ID)
	if err != nil {
		return Tool{}, policy.Facts{}, err
	}
	tool, known, err := c.toolOfIntent(ctx, row)
	if err == nil && !known {
		tool, err = c.Tool(ctx, row.Tool)
	}
	return tool, policy.Facts{
		Context: asked, Tool: policy.Tool{Name: row.Tool}, Payload: payload, Risk: decision.Risk, Now: row.CreatedAt,
	}, err
}

// explainStored explains with the policies of the digest. If they are not kept, or do not fit the
// tool, it adds why to missing.
func (c *Client) explainStored(ctx context.Context, digest string, tool Tool, f policy.Facts, missing *[]string) (*cedar.Explanation, error) {
	set, err := readPolicies(ctx, c.store, digest)
	if err == nil {
		var e cedar.Explanation
		if e, err = explain(ctx, set, tool, policy.Asking(f)); err == nil {
			return &e, nil
		}
	}
	if !unfitPolicies(err) {
		return nil, err
	}
	*missing = append(*missing, err.Error())
	return nil, nil
}
