package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// Resolution says what became of an intent in doubt.
type Resolution struct {
	// As is one of the Resolve constants. Required.
	As ResolutionKind
	// Result is what the tool would have answered, as JSON of at most 64 KiB
	// (intent.MaxInline). Only with ResolveApplied. Default: the intent completes without an
	// answer.
	Result json.RawMessage
}

// ResolutionKind is what a person says of an intent in doubt.
type ResolutionKind string

const (
	// ResolveApplied: the effect happened. The intent completes.
	ResolveApplied ResolutionKind = "applied"
	// ResolveNotApplied: it did not, under any key that the intent has used. The intent fails.
	ResolveNotApplied ResolutionKind = "not_applied"
	// ResolveRetry: nobody knows; the budgets of attempts and lookups begin anew. It is refused
	// where the effect could happen twice.
	ResolveRetry ResolutionKind = "retry"
)

// Check reports, without any I/O, what is wrong with the resolution, or with who resolves and
// why; a note is required. The code is invalid_resolution, or one of the decider's: see
// [Client.Confirm].
func (r Resolution) Check(by Decider) error {
	if !slices.Contains([]ResolutionKind{ResolveApplied, ResolveNotApplied, ResolveRetry}, r.As) {
		return intent.Errorf(intent.CodeInvalidResolution, "%.40q is no resolution; say applied, not_applied or retry", r.As)
	}
	if err := by.check(); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(by.Note) == "":
		return intent.Errorf(intent.CodeInvalidResolution, "a resolution needs a note; say how you know")
	case len(r.Result) == 0:
		return nil
	case r.As != ResolveApplied:
		return intent.Errorf(intent.CodeInvalidResolution, "a result goes with applied, and this says %s; leave it out", r.As)
	case len(r.Result) > intent.MaxInline:
		return intent.Errorf(intent.CodeInvalidResolution, "the result has %d bytes and %d are allowed; leave it out, or give its essence", len(r.Result), intent.MaxInline)
	}
	if _, err := intent.Canonicalize(r.Result); err != nil {
		return intent.Errorf(intent.CodeInvalidResolution, "the result is no JSON that means one thing; give what the tool would have answered: %w", err)
	}
	return nil
}

// Resolve records what a person knows of an intent in doubt. ResolveApplied and
// ResolveNotApplied end it, with a receipt; after ResolveRetry it goes on by its rule. The
// intent is returned as it stands when the decision is committed; it goes on whatever becomes
// of the caller. The same call again changes nothing until the intent is parked once more.
//
// The error has the code of [Resolution.Check], or invalid_resolution if the result is not what
// the tool's output schema promised when the intent was authorized; not_in_doubt if there is
// nothing to resolve, and it then says who decided what; or retry_refused.
func (c *Client) Resolve(ctx context.Context, id intent.ID, r Resolution, by Decider) (Intent, error) {
	if err := r.Check(by); err != nil {
		return Intent{}, err
	}
	return c.decide(ctx, id, by, func(decider outbox.Decider, row outbox.Row) (outbox.Row, error) {
		as := outbox.Resolution{Kind: r.decision()}
		if len(r.Result) > 0 {
			if err := c.promises(ctx, row, r.Result); err != nil {
				return outbox.Row{}, err
			}
			as.MediaType, as.Result = tools.MediaTypeJSON, r.Result
		}
		return c.store.Resolve(ctx, id, as, decider, activities.Seal)
	})
}

func (r Resolution) decision() intent.DecisionKind {
	switch r.As {
	case ResolveApplied:
		return intent.ResolveApplied
	case ResolveNotApplied:
		return intent.ResolveNotApplied
	case ResolveRetry:
	}
	return intent.Retry
}

// promises is the error of a result that the intent's tool would not have answered, as it was
// when the intent was authorized. If that is not known any more, any answer may be one.
func (c *Client) promises(ctx context.Context, row outbox.Row, result []byte) error {
	tool, known, err := c.toolOfIntent(ctx, row)
	if err != nil || !known {
		return err
	}
	schema, err := tools.CompileSchema(tool.Behaviour.OutputSchema)
	if err != nil {
		return fmt.Errorf("output schema of %s: %w", row.Tool, err)
	}
	if err := schema.Validate(result); err != nil {
		return intent.Errorf(intent.CodeInvalidResolution, "%s does not answer so; correct the result or leave it out: %w", row.Tool, err)
	}
	return nil
}

// Reissue begins an intent that failed again: with the same payload, under a new idempotency
// key and the policy of now. Nothing may be on record that says that the effect happened or may
// have happened. The same call again changes nothing while the new generation stands.
//
// The error has code not_reissuable if the intent did not fail, or if something is. The budgets
// count it anew, so it may have code budget_exceeded or budget_uncountable.
func (c *Client) Reissue(ctx context.Context, id intent.ID, by Decider) (Intent, error) {
	if err := by.check(); err != nil {
		return Intent{}, err
	}
	return c.decide(ctx, id, by, func(decider outbox.Decider, row outbox.Row) (outbox.Row, error) {
		money, err := c.moneyOf(ctx, row)
		if err != nil {
			return outbox.Row{}, err
		}
		return c.store.Reissue(ctx, id, decider, money, activities.Renewal)
	})
}

// moneyOf is what budgets of money count of the intent, by the spec that it was authorized under.
func (c *Client) moneyOf(ctx context.Context, row outbox.Row) (*outbox.Money, error) {
	tool, known, err := c.toolOfIntent(ctx, row)
	if err != nil || !known {
		return nil, err
	}
	payload, err := c.store.Payload(ctx, row.ID)
	return (*outbox.Money)(policy.MoneyOf(payload, tool.StakeAmount, tool.StakeCurrency)), err
}

// toolOfIntent is the intent's tool as it was when the intent was authorized; false if that is not
// known any more.
func (c *Client) toolOfIntent(ctx context.Context, row outbox.Row) (tool Tool, known bool, err error) {
	spec, known, err := c.store.SpecOf(ctx, row.Tool, row.SpecDigest)
	if err != nil || !known {
		return Tool{}, false, err
	}
	tool, err = toolOf(spec)
	return tool, true, err
}
