package intent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Sealed is what a request key stands for once it is used: the action, and the effect context
// that it was asked for in.
type Sealed struct {
	Salt        Salt
	Fingerprint Digest
	Context     []byte // EffectContext.Canonical
}

// Admits is the error of a request under the key that is not the one that was sealed: with code
// idempotency_conflict for another action, of which it says nothing, or that of SameAuthority.
// context is the EffectContext.Canonical of the request.
func (s Sealed) Admits(key RequestKey, action Action, context []byte) error {
	if Fingerprint(s.Salt, action) != s.Fingerprint {
		return Errorf(CodeIdempotencyConflict,
			"request key %q was used in this tenant for another tool, payload or principal; nothing was sent for this request; use a new key for a new action", key)
	}
	return SameAuthority(key, s.Context, context)
}

// SameAuthority is the error, with code effect_context_mismatch, of a request under the key whose
// effect context gives its principal another authority than the one that was sealed for the same
// action. It names the members that differ, and none of their values.
//
// A member may differ from one try to the next if it only says where the request comes from
// (session_hash, process, run, host_binding) or what its caller thinks of it (risk).
func SameAuthority(key RequestKey, sealed, context []byte) error {
	return compare(key, sealed, context, false)
}

// MayReplace is SameAuthority for a request that is decided on in the place of the one that was
// sealed: it may not state less risk either, because nobody lowers what another has stated.
func MayReplace(key RequestKey, sealed, context []byte) error {
	return compare(key, sealed, context, true)
}

func compare(key RequestKey, sealed, context []byte, replaces bool) error {
	if bytes.Equal(sealed, context) {
		return nil
	}
	var a, b EffectContext
	if err := cmp.Or(json.Unmarshal(sealed, &a), json.Unmarshal(context, &b)); err != nil {
		return Errorf(CodeContextMismatch,
			"with which authority request key %q was used cannot be read any more; nothing was sent for this request; use a new key: %w", key, err)
	}
	var differ []string
	for _, member := range []struct {
		name string
		same bool
	}{
		{"authentication_source", a.source() == b.source()},
		{"on_behalf_of", slices.Equal(a.OnBehalfOf, b.OnBehalfOf)},
		{"risk", !replaces || b.Risk >= a.Risk},
		{"roles", slices.Equal(a.Roles, b.Roles)},
		{"service", a.Service == b.Service},
	} {
		if !member.same {
			differ = append(differ, member.name)
		}
	}
	if differ == nil {
		return nil
	}
	return Errorf(CodeContextMismatch,
		"request key %q was used for this action with another authority (%s); nothing was sent for this request, and the first one stays as it is; ask as the first one did, or with a new key for an action of its own",
		key, strings.Join(differ, ", "))
}

// source is who vouches for the context: where it does not say, nobody but the process that asks.
func (c EffectContext) source() string { return cmp.Or(c.AuthenticationSource, AuthenticatedDirect) }
