package writ

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/telemetry"
)

// DefaultTenant is the tenant of requests that name none.
const DefaultTenant = "default"

// Error is every refusal and failure that Writ reports.
type Error = intent.Error

// Request asks for one run of a tool.
type Request struct {
	// Tool is the tool's name. Required.
	Tool string
	// Payload is a JSON object of at most Config.MaxPayload bytes. Empty: {}. A JSON string
	// that holds an object is decoded, once, for a tool whose input schema wants an object.
	Payload []byte
	// RequestKey is the caller's own name for this logical action, unique in its tenant:
	// 1 to 255 printable ASCII bytes. The same key again gives the first answer and sends
	// nothing, unless that was a refusal: then the request is decided on anew. With another action it is
	// idempotency_conflict, and with other Roles, OnBehalfOf or Service effect_context_mismatch. Empty:
	// the request is an action of its own, under a key that is minted
	// before any I/O and returned with the intent, also when the call fails. Whoever may
	// have to ask again mints the key first, with [NewRequestKey].
	RequestKey string
	// Tenant is whose action it is. Default: "default".
	Tenant string
	// Principal is who asks. Required. Who it is, is stated and not proven, as are Roles and
	// OnBehalfOf: whoever has the client is trusted to say so.
	Principal string
	// Roles are what the principal may act as, in any order: at most 32 names. Optional.
	Roles []string
	// OnBehalfOf is for whom the principal acts, the nearest first: at most 8 names. Optional.
	// None of them may confirm what is asked for.
	OnBehalfOf []string
	// Service, Process and Run say where the request comes from. Optional.
	Service, Process, Run string
	// Risk is what the caller knows to be at risk, from 0 to 1. It can only raise what the tool
	// states. Default 0.
	Risk float64

	// payloadOffset is where Payload begins in what ParseRequest read.
	payloadOffset int64
}

// prepared is a request that was checked and that has its identity.
type prepared struct {
	id      intent.ID
	request activities.Request
	payload intent.Payload
	// refused is the generation of the intent that the request found refused, and asks to have
	// decided on again; 0: there is none, or it was.
	refused int
}

// Check reports, without any I/O, what is wrong with the request where payloads may have
// 1 MiB; a client with another limit has a Check of its own. Execute and Submit check it too, and then what only the tool's published spec can
// tell: whether there is such a tool, and whether it takes an object inside a string.
func (r Request) Check() error {
	_, err := r.prepare(false, intent.MaxPayload)
	return err
}

// prepare checks the request without any I/O.
func (r Request) prepare(detached bool, maxPayload int) (prepared, error) {
	if r.Tenant == "" {
		r.Tenant = DefaultTenant
	}
	key := intent.RequestKey(r.RequestKey)
	if key == "" {
		var err error
		if key, err = NewRequestKey(); err != nil {
			return prepared{}, err
		}
	}
	request := activities.Request{
		Tool: r.Tool, RequestKey: key, Detached: detached,
		Context: intent.EffectContext{
			Principal: r.Principal, Tenant: r.Tenant, AuthenticationSource: intent.AuthenticatedDirect,
			Roles: intent.SortRoles(r.Roles), OnBehalfOf: slices.Clone(r.OnBehalfOf),
			Service: r.Service, Process: r.Process, Run: r.Run, Risk: r.Risk,
		},
	}
	payload, err := intent.ReadPayload(intent.Value{Raw: r.Payload, Offset: r.payloadOffset}, maxPayload)
	if err != nil {
		return prepared{}, err
	}
	request.Payload = payload.Canonical
	if err := request.Check(); err != nil {
		return prepared{}, err
	}
	return prepared{id: intent.IntentID(r.Tenant, key), request: request, payload: payload}, nil
}

// NewRequestKey mints the random key of an action that its caller has no name for. Nobody
// else will be given it, so it may be kept and used again to join the same intent.
func NewRequestKey() (intent.RequestKey, error) {
	random, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("mint a request key: %w", err)
	}
	return intent.MintedRequestKey(random), nil
}

func (p prepared) input(ctx context.Context) activities.Input {
	request := p.request.Staged()
	return activities.Input{IntentID: p.id, Request: &request, Refused: p.refused, Traceparent: telemetry.Traceparent(ctx)}
}
