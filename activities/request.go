package activities

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/telemetry"
	"writ/tools"
)

// accepted returns the request with its payload in canonical form, or nil if there is none.
// Its error, unless the database did not answer, is a rejection: the workflow's id must be
// the one that its request derives, so that nobody can take another request's place.
func (a *Activities) accepted(ctx context.Context, in Input) (*Request, error) {
	if in.Defect != nil {
		return nil, in.Defect.Error()
	}
	if in.Request == nil {
		return nil, nil
	}
	r := *in.Request
	if r.PayloadRef != nil {
		if len(r.Payload) > 0 {
			return nil, intent.Errorf(intent.CodeInvalidPayload, "the request has a payload and a reference to another one; send one of them")
		}
		staged, err := a.store.Staged(ctx, in.IntentID, *r.PayloadRef)
		if err != nil {
			return nil, err
		}
		r.Payload, r.salt = staged.Body, staged.Salt
	}
	r, err := r.Canonical(a.maxPayload)
	if err != nil {
		return nil, err
	}
	if derived := intent.IntentID(r.Context.Tenant, r.RequestKey); derived != in.IntentID {
		return nil, intent.Errorf(intent.CodeIntentIDMismatch,
			"intent id %s is not the one of this tenant and request key; start workflow id tool.execute/%s", in.IntentID, derived)
	}
	return &r, a.takesText(r)
}

// takesText is the error of a payload that came as text for a tool whose input schema does
// not want an object.
func (a *Activities) takesText(r Request) error {
	if !r.read.FromText {
		return nil
	}
	tool, err := a.asked(r)
	if err == nil && !tool.Input.WantsObject() {
		err = r.read.NotObject()
	}
	return err
}

// asked returns the tool that the request asks for. Whoever names one that is not here hears it with
// code unknown_tool, which is an answer; see hosted for what is under way.
func (a *Activities) asked(r Request) (tools.Registered, error) {
	tool, ok := a.registry.Lookup(r.Tool)
	if !ok {
		return tool, intent.Errorf(intent.CodeUnknownTool, "the worker on task queue %q has no tool named %q", a.queue, r.Tool)
	}
	return tool, nil
}

// Check checks the tool's name, who asks, the risk, and the request key. Every door asks it before
// anything is written; its errors are those of intent.EffectContext.Check, invalid_request_key and
// reserved_request_key.
func (r Request) Check() error {
	if err := r.Context.Check(); err != nil {
		return err
	}
	if err := intent.CheckName("tool", r.Tool); err != nil {
		return err
	}
	return intent.CheckRequestKey(string(r.RequestKey))
}

// maxEscaped bounds a payload that a request carries itself, as Temporal's JSON spells it.
// Temporal refuses events of over 2 MiB (limit.blobSize.error), and the rest of the request
// needs a few hundred bytes.
const maxEscaped = 2<<20 - 64<<10

// Canonical checks the request and brings its payload into canonical form, as it is stored
// and delivered. limit is in bytes; 0 means intent.MaxPayload. Beside the errors of Check
// and of intent.ReadPayload there is payload_too_large for a payload without a
// reference whose escapes make it too large for Temporal.
func (r Request) Canonical(limit int) (Request, error) {
	if err := r.Check(); err != nil {
		return Request{}, err
	}
	if limit <= 0 {
		limit = intent.MaxPayload
	}
	arrives := limit
	if r.PayloadRef == nil {
		// What came through Temporal may be six times as long as what was sent; the limit is
		// on the content.
		arrives = max(limit, maxEscaped)
	}
	read, err := intent.ReadPayload(intent.Value{Raw: r.Payload}, arrives)
	if err != nil {
		return Request{}, err
	}
	payload := read.Canonical
	if len(payload) > limit {
		return Request{}, intent.Errorf(intent.CodePayloadTooLarge, "the payload has %d bytes in canonical form and %d are allowed; make it smaller", len(payload), limit)
	}
	if escaped := escapedSize(payload); len(payload) > intent.MaxInline && r.PayloadRef == nil && escaped > maxEscaped {
		return Request{}, intent.Errorf(intent.CodePayloadTooLarge,
			"the payload has %d bytes with <, > and & escaped, and a request in Temporal can carry %d; send it through a client of Writ, which stores it first", escaped, maxEscaped)
	}
	r.Payload, r.read = payload, read
	return r, nil
}

// Stage stores a payload that is too large for Temporal's history, once, and returns the request
// with the reference to it. A smaller one stays where it is.
func (r Request) Stage(ctx context.Context, store *outbox.Store) (Request, error) {
	if len(r.Payload) <= intent.MaxInline || r.PayloadRef != nil {
		return r, nil
	}
	var salt intent.Salt
	if _, err := rand.Read(salt[:]); err != nil {
		return r, fmt.Errorf("salt: %w", err)
	}
	ref, err := store.StagePayload(ctx, intent.IntentID(r.Context.Tenant, r.RequestKey), r.Payload, salt)
	if err != nil {
		return r, err
	}
	r.PayloadRef = &ref
	return r, nil
}

// Staged returns the request with a reference in place of its payload, as it is sent to
// Temporal.
func (r Request) Staged() Request {
	if r.PayloadRef != nil {
		r.Payload = nil
	}
	return r
}

// escapedSize is the payload's size with the six-byte escapes that encoding/json, and so
// Temporal's converter, puts in place of <, >, &, U+2028 and U+2029.
func escapedSize(payload []byte) int {
	size := len(payload) + 5*(bytes.Count(payload, []byte("<"))+bytes.Count(payload, []byte(">"))+bytes.Count(payload, []byte("&")))
	return size + 3*(bytes.Count(payload, []byte("\u2028"))+bytes.Count(payload, []byte("\u2029")))
}

// traced continues the caller's trace.
func (in Input) traced(ctx context.Context) context.Context {
	return telemetry.WithTraceparent(ctx, in.traceparent())
}

// Labels describe the request's intent in the Temporal UI.
func (r Request) Labels() Labels {
	return Labels{Tool: r.Tool, Tenant: r.Context.Tenant, RequestKey: r.RequestKey}
}

// Action is what must be equal for two requests to be the same one.
func (r Request) Action() intent.Action {
	return intent.Action{Tenant: r.Context.Tenant, Principal: r.Context.Principal, Tool: r.Tool, Payload: r.Payload}
}

// Mark tells requests under one request key apart: a digest of tool, payload and effect context.
// It is salted with the intent's id, since there is no row with a salt yet; the history that it
// stands in holds the payload itself, or its reference, which is marked in its place: equal
// payloads of one intent have equal references.
func (r Request) Mark() intent.Digest {
	payload := r.Payload
	if r.PayloadRef != nil {
		payload = []byte(strconv.Quote(r.PayloadRef.Digest.String()))
	} else if canonical, err := intent.CanonicalPayload(r.Payload, len(r.Payload)*6); err == nil { // it is never longer, see Canonicalize
		payload = canonical
	}
	return intent.Mark(intent.Salt(intent.IntentID(r.Context.Tenant, r.RequestKey)), r.Tool, payload, r.Context.Canonical())
}

// SameAs is the error of a request that is not the one that the row is the intent of; see
// intent.Sealed.
func (r Request) SameAs(row outbox.Row) error {
	return row.Sealed().Admits(r.RequestKey, r.Action(), r.Context.Canonical())
}

// requestOf returns the request that the row came from.
func (a *Activities) requestOf(ctx context.Context, row outbox.Row) (Request, error) {
	payload, err := a.store.Payload(ctx, row.ID)
	if err != nil {
		return Request{}, err
	}
	effectContext, err := row.Context()
	return Request{Tool: row.Tool, RequestKey: row.RequestKey, Payload: payload, Context: effectContext}, err
}

// maxTraceparent is the length in bytes up to which the caller's traceparent is kept; W3C's
// first version has 55.
const maxTraceparent = 255

// traceparent is what is kept of the caller's header. Whoever starts the workflow writes
// it; it must keep neither the row nor an event out.
func (in Input) traceparent() string { return storable(in.Traceparent, maxTraceparent) }

// propose makes the row of an authorized request. The salt is the one of a staged payload,
// else new each time: a proposal that finds its row already written is dropped, and the
// row's salt stands.
func (a *Activities) propose(r Request, traceparent string, d decided) (outbox.Proposal, error) {
	tool, err := a.hosted(r.Tool)
	if err != nil {
		return outbox.Proposal{}, err
	}
	p := outbox.Proposal{
		Tenant: r.Context.Tenant, RequestKey: r.RequestKey, Principal: r.Context.Principal, Tool: r.Tool, TaskQueue: a.queue,
		Payload: r.Payload, EffectContext: r.Context.Canonical(), Decision: d.recorded,
		IdempotencyKey: intent.DeriveKey(r.Context.Tenant, r.Tool, r.RequestKey, 1),
		SpecDigest:     tool.Digest, Rules: tool.Spec.Rules(),
		Traceparent: traceparent,
		Staged:      r.PayloadRef != nil, Salt: r.salt,
		SuspectedDuplicateOf: d.SuspectedDuplicateOf,
		Money:                (*outbox.Money)(policy.MoneyOf(r.Payload, tool.Spec.Stake.Amount, tool.Spec.Stake.Currency)),
	}
	if d.Confirm {
		p.ConfirmWithin, p.Approvers = a.confirmWithin, d.Quorum()
	}
	if p.Guard, err = guardOf(tool.Spec.Duplicates, r); err != nil {
		return outbox.Proposal{}, err
	}
	if !p.Staged {
		if _, err := rand.Read(p.Salt[:]); err != nil {
			return outbox.Proposal{}, fmt.Errorf("salt: %w", err)
		}
	}
	return p.Bound(), nil
}

func parseDecision(raw []byte) (decided, error) {
	var d policy.Decision
	if err := json.Unmarshal(raw, &d); err != nil {
		return decided{}, fmt.Errorf("decision: %w", err)
	}
	return record(d)
}

// maxRejection bounds a rejection's message in bytes: a tool's validation may repeat the
// payload, and Temporal would refuse the event for ever.
const maxRejection = 2000

// rejected turns the errors that are answers into progress; the others are retried.
func rejected(p Progress, in Input, err error) (Progress, error) {
	var e *intent.Error
	if err == nil || !errors.As(err, &e) || e.TryAgain || e.Effect != intent.NotApplied && e.Code != intent.CodeDropped {
		return p, err
	}
	p = Progress{
		Step:      intent.Step{Kind: StepReject, Reason: string(e.Code)},
		Rejection: &Rejection{Code: e.Code, Message: storable(e.Message, maxRejection), Offset: e.Offset, MayHaveRun: e.Effect != intent.NotApplied},
	}
	if in.Request != nil {
		p.Rejection.Of = in.Request.Mark()
	}
	if in.Request != nil && in.Request.Check() == nil {
		p.Labels = in.Request.Labels()
	}
	return p, nil
}
