package writ

import (
	"bytes"
	"context"
	"encoding/json"

	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

// shownSpec is what of a tool's published spec decides how a payload is shown.
type shownSpec struct {
	// known is false if nobody has published the tool.
	known  bool
	schema *tools.Schema
	stake  stakeOf
}

// specOf returns the spec that the row was authorized under, or if it is not on record the one in
// force. One that was read is kept: what a digest stands for never changes, and of the rest nothing
// is lost if it is old.
func (c *Client) specOf(ctx context.Context, row outbox.Row) (shownSpec, error) {
	if kept, ok := c.shownSpecs.Load(row.SpecDigest); ok {
		return kept.(shownSpec), nil
	}
	tool, known, err := c.toolOfIntent(ctx, row)
	switch {
	case err != nil:
		return shownSpec{}, err
	case !known:
		return c.specInForce(ctx, row.Tool)
	}
	spec, err := shownSpecOf(tool)
	if err == nil {
		c.shownSpecs.Store(row.SpecDigest, spec)
	}
	return spec, err
}

// specInForce is specOf of what was not authorized.
func (c *Client) specInForce(ctx context.Context, name string) (shownSpec, error) {
	tool, err := c.Tool(ctx, name)
	switch {
	case intent.CodeOf(err) == intent.CodeUnknownTool:
		return shownSpec{}, nil
	case err != nil:
		return shownSpec{}, err
	}
	return shownSpecOf(tool)
}

func shownSpecOf(tool Tool) (spec shownSpec, err error) {
	spec = shownSpec{known: true, stake: stakeOf{tool.StakeAmount, tool.StakeCurrency}}
	if raw := tool.Behaviour.InputSchema; bytes.Contains(raw, []byte(`"writeOnly"`)) { // few have one, and compiling takes time
		if spec.schema, err = tools.CompileSchema(raw); err != nil {
			return shownSpec{}, outbox.Unreadable("what is published as the input schema of "+tool.Name, err)
		}
	}
	return spec, nil
}

// showPayload reads the payload into the view, without what the tool's input schema marks writeOnly.
// Of a tool that nobody has published nobody knows what that is, so all of it is masked.
func (c *Client) showPayload(ctx context.Context, row outbox.Row, v *Intent) error {
	payload, err := c.store.Payload(ctx, row.ID)
	if err != nil {
		return err
	}
	spec, err := c.specOf(ctx, row)
	if err != nil {
		return err
	}
	if err := spec.show(payload, v); err != nil {
		return err
	}
	if row.State == intent.AwaitingConfirmation {
		v.Stake = spec.stake.in(v.Payload)
	}
	return nil
}

// lookShown is look with the payload of an enqueued request as it may be shown. Its tool's spec is the
// one in force.
func (c *Client) lookShown(ctx context.Context, id intent.ID) (outbox.Row, *Intent, error) {
	row, submitted, err := c.look(ctx, id)
	if err != nil || submitted == nil {
		return row, nil, err
	}
	spec, err := c.specInForce(ctx, submitted.Tool)
	if err == nil {
		err = spec.show(submitted.Payload, submitted)
	}
	return row, submitted, err
}

func (s shownSpec) show(payload []byte, v *Intent) (err error) {
	if !s.known {
		v.Payload, v.Masked = json.RawMessage(`"`+tools.Masked+`"`), []string{""}
		return nil
	}
	if v.Payload, v.Masked, err = s.schema.Mask(payload); err != nil {
		return outbox.Unreadable("what is recorded as the payload of intent "+v.ID.String(), err)
	}
	return nil
}
