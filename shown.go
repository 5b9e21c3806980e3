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
	schema *tools.Schema
	stake  stakeOf
}

// specOf returns the spec that the row was authorized under, as it is published last, or if it is
// not on record the one in force; false if there is none either. One that was read is kept: what a
// digest stands for never changes, and of the rest nothing is lost if it is old.
func (c *Client) specOf(ctx context.Context, row outbox.Row) (shownSpec, bool, error) {
	if known, ok := c.shownSpecs.Load(row.SpecDigest); ok {
		return known.(shownSpec), true, nil
	}
	published, found, err := c.store.SpecOf(ctx, row.Tool, row.SpecDigest)
	if err != nil {
		return shownSpec{}, false, err
	}
	if !found {
		return c.specInForce(ctx, row.Tool)
	}
	spec, err := shownSpecOf(published)
	if err == nil {
		c.shownSpecs.Store(row.SpecDigest, spec)
	}
	return spec, err == nil, err
}

// specInForce is specOf of what was not authorized.
func (c *Client) specInForce(ctx context.Context, tool string) (shownSpec, bool, error) {
	published, err := c.store.Spec(ctx, tool)
	if intent.CodeOf(err) == intent.CodeUnknownTool {
		return shownSpec{}, false, nil
	}
	if err != nil {
		return shownSpec{}, false, err
	}
	spec, err := shownSpecOf(published)
	return spec, err == nil, err
}

func shownSpecOf(published outbox.Spec) (shownSpec, error) {
	tool, err := toolOf(published)
	if err != nil {
		return shownSpec{}, err
	}
	spec := shownSpec{stake: stakeOf{tool.StakeAmount, tool.StakeCurrency}}
	if raw := tool.Behaviour.InputSchema; bytes.Contains(raw, []byte(`"writeOnly"`)) { // few have one, and compiling takes time
		if spec.schema, err = tools.CompileSchema(raw); err != nil {
			return shownSpec{}, outbox.Unreadable("what is published as the input schema of "+published.Name, err)
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
	spec, found, err := c.specOf(ctx, row)
	if err != nil {
		return err
	}
	if err := spec.show(payload, found, v); err != nil {
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
	spec, found, err := c.specInForce(ctx, submitted.Tool)
	if err == nil {
		err = spec.show(submitted.Payload, found, submitted)
	}
	return row, submitted, err
}

func (s shownSpec) show(payload []byte, found bool, v *Intent) (err error) {
	if !found {
		v.Payload, v.Masked = json.RawMessage(`"`+tools.Masked+`"`), []string{""}
		return nil
	}
	if v.Payload, v.Masked, err = s.schema.Mask(payload); err != nil {
		return outbox.Unreadable("what is recorded as the payload of intent "+v.ID.String(), err)
	}
	return nil
}
