package intent

import "encoding/json"

// EffectContext is the immutable identity and provenance of a request: who asks, in
// whose name, and from where. It is bound into the commitment and handed to the tool.
// It never holds a credential, a client or a connection. What is not known is empty
// and is left out of the canonical form, so that a later field does not change the
// digests of older contexts.
type EffectContext struct {
	Principal string `json:"principal,omitempty"`
	Tenant    string `json:"tenant,omitempty"`
	// AuthenticationSource says who vouches for the principal, its roles and its delegation. See
	// Proven.
	AuthenticationSource string `json:"authentication_source,omitempty"`
	// Roles are what the principal may act as: sorted, each once, at most MaxRoles.
	Roles []string `json:"roles,omitempty"`
	// OnBehalfOf is for whom the principal acts, the nearest first, at most MaxDelegation: an
	// agent that Ada's assistant called acts for the assistant, and that for Ada.
	OnBehalfOf []string `json:"on_behalf_of,omitempty"`
	// Service is the calling service.
	Service string `json:"service,omitempty"`
	// SessionHash is a digest of the caller's session identifier, never the identifier.
	SessionHash string `json:"session_hash,omitempty"`
	// Process and Run name the business process, and the run of it, that asks.
	Process string `json:"process,omitempty"`
	Run     string `json:"run,omitempty"`
	// HostBinding names the machine or workload that the request is bound to.
	HostBinding string `json:"host_binding,omitempty"`
	// Risk is what the caller states, from 0 to 1. It can only raise what the tool states itself.
	Risk float64 `json:"risk,omitempty"`
}

// IsRisk reports whether r is a risk: a number from 0, nothing, to 1.
func IsRisk(r float64) bool { return r >= 0 && r <= 1 }

// AuthenticatedDirect is the AuthenticationSource of what a process states that is itself
// trusted to say who the principal is: stated, and not proven.
const AuthenticatedDirect = "direct"

// Proven reports whether somebody vouches for the principal beside the process that asks. No
// door of this release has a credential to look at, so each refuses to be told of a source
// that would make this true; see CheckSource.
func (c EffectContext) Proven() bool {
	return c.AuthenticationSource != "" && c.AuthenticationSource != AuthenticatedDirect
}

// Canonical returns c as canonical JSON.
func (c EffectContext) Canonical() []byte {
	encoded, err := json.Marshal(c)
	if err == nil {
		encoded, err = Canonicalize(encoded)
	}
	if err != nil {
		// Strings, lists of strings and a number that is one always encode, and what encodes is one
		// plain object.
		panic("intent: an effect context has no canonical form: " + err.Error())
	}
	return encoded
}
