package intent

import (
	"crypto/hmac"
	"crypto/sha256"
)

// DuplicateAction is what is done with a request that has no key of its own and repeats an
// earlier one within the tool's guard window.
type DuplicateAction string

const (
	// FlagDuplicates runs the intent and names the earlier one on it.
	FlagDuplicates DuplicateAction = ""
	// RefuseDuplicates refuses the intent.
	RefuseDuplicates DuplicateAction = "refuse"
	// ConfirmDuplicates lets the intent wait until a person has confirmed it.
	ConfirmDuplicates DuplicateAction = "confirm"
)

// GuardKey is a tenant's secret under which actions are compared for as long as the guard
// looks back. It has no text form on purpose; a key is not shown.
type GuardKey [32]byte

// GuardDigest tells whether two actions are the same one, across intents: an HMAC, because
// whoever reads the database could else guess small payloads, also when they are erased from
// their rows. Once its key is deleted nothing can be compared with it.
func GuardDigest(key GuardKey, a Action) Digest {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("writ/duplicate-guard/v1\n"))
	h.Write(canonicalObject(
		member{"payload", embedded(a.Payload)},
		member{"principal", text(a.Principal)},
		member{"tenant", text(a.Tenant)},
		member{"tool", text(a.Tool)},
	))
	return Digest(h.Sum(nil))
}

// Minted reports whether Writ made the key for a request whose caller named none. A caller's
// own key says which action is meant, so such a request repeats no other.
func (k RequestKey) Minted() bool { return minted(string(k)) }
