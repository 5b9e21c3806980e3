package writ

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/telemetry"
	"writ/workflows"
)

// DefaultTenant is the tenant of requests that name none.
const DefaultTenant = "default"

// Error is every refusal and failure that Writ reports.
type Error = intent.Error

// Request asks for one run of a tool.
type Request struct {
	// Tool is the tool's name. Required.
	Tool string
	// Payload is a JSON object of at most 1 MiB. Empty: {}.
	Payload []byte
	// RequestKey is the caller's own name for this logical action, unique in its tenant:
	// 1 to 255 printable ASCII bytes. The same key again gives the first answer and sends
	// nothing. Empty: the request is an action of its own, under a key that is minted
	// before any I/O and returned with the intent, also when the call fails. Whoever may
	// have to ask again mints the key first, with [NewRequestKey].
	RequestKey string
	// Tenant is whose action it is. Default: "default".
	Tenant string
	// Principal is who asks. Required.
	Principal string
	// Service, Process and Run say where the request comes from. Optional.
	Service, Process, Run string
}

// prepared is a request that was checked and that has its identity.
type prepared struct {
	id      intent.ID
	request activities.Request
}

// prepare checks the request without any I/O.
func (r Request) prepare(detached bool) (prepared, error) {
	if r.Principal == "" {
		return prepared{}, intent.Errorf(intent.CodeUnauthenticated, "the request names no principal; say who asks")
	}
	if r.Tenant == "" {
		r.Tenant = DefaultTenant
	}
	names := []struct{ what, value string }{
		{"tool", r.Tool}, {"tenant", r.Tenant}, {"principal", r.Principal},
		{"service", r.Service}, {"process", r.Process}, {"run", r.Run},
	}
	for i, name := range names {
		if optional := i > 2; optional && name.value == "" {
			continue
		}
		if err := intent.CheckName(name.what, name.value); err != nil {
			return prepared{}, err
		}
	}
	key, err := r.key()
	if err != nil {
		return prepared{}, err
	}
	payload, err := intent.CanonicalPayload(r.Payload, intent.MaxPayload)
	if err != nil {
		return prepared{}, err
	}
	if escaped := escapedSize(payload); escaped > maxEscaped {
		return prepared{}, intent.Errorf(intent.CodePayloadTooLarge,
			"the payload takes %d bytes with its <, > and & escaped, and %d are allowed; make it smaller", escaped, maxEscaped)
	}
	return prepared{
		id: intent.IntentID(r.Tenant, key),
		request: activities.Request{
			Tool: r.Tool, RequestKey: key, Payload: json.RawMessage(payload), Detached: detached,
			Context: intent.EffectContext{
				Principal: r.Principal, Tenant: r.Tenant, AuthenticationSource: intent.AuthenticatedDirect,
				Service: r.Service, Process: r.Process, Run: r.Run,
			},
		},
	}, nil
}

// maxEscaped bounds the payload as Temporal's JSON carries it. Temporal refuses a start of
// over 2 MiB (limit.blobSize.error), and the rest of the request needs a few hundred bytes.
const maxEscaped = 2<<20 - 64<<10

// escapedSize is the payload's size with the six-byte escapes that encoding/json, and so
// Temporal's converter, puts in place of <, >, &, U+2028 and U+2029.
func escapedSize(payload []byte) int {
	size := len(payload) + 5*(bytes.Count(payload, []byte("<"))+bytes.Count(payload, []byte(">"))+bytes.Count(payload, []byte("&")))
	return size + 3*(bytes.Count(payload, []byte("\u2028"))+bytes.Count(payload, []byte("\u2029")))
}

func (r Request) key() (intent.RequestKey, error) {
	if r.RequestKey != "" {
		return intent.RequestKey(r.RequestKey), intent.CheckRequestKey(r.RequestKey)
	}
	return NewRequestKey()
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
	return activities.Input{IntentID: p.id, Request: &p.request, Traceparent: telemetry.Traceparent(ctx)}
}

func (p prepared) labels() activities.Labels {
	return activities.Labels{Tool: p.request.Tool, Tenant: p.request.Context.Tenant, RequestKey: p.request.RequestKey}
}

// sameAs reports whether the row is the intent of this very request; the error says
// nothing of the first one.
func (p prepared) sameAs(row outbox.Row) error { return p.request.SameAs(row) }

// workflowID is where the intent is found in the Temporal UI.
func (p prepared) workflowID() string { return workflows.ID(p.id) }
