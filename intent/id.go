package intent

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// ID is an intent's identity, derived from its tenant and request key. The zero ID
// names no intent.
type ID [16]byte

// IdempotencyKey is what a provider receives so that it can recognize a request that
// was sent before: 36 ASCII bytes, a UUID in its usual text. It belongs to one
// generation of one intent and is persisted before anything is sent.
type IdempotencyKey string

// IntentID derives the id of the intent that key names in tenant. The same pair always
// gives the same id, in every process and release.
func IntentID(tenant string, key RequestKey) ID {
	return ID(uuidV8(digestOf("intent-id", canonicalObject(
		member{"request_key", text(string(key))},
		member{"tenant", text(tenant)},
	))))
}

// DeriveKey derives the idempotency key of one generation of the intent that key
// names in tenant. Generations count from 1. Deriving is for the moment before the
// key is persisted; afterwards the persisted key is sent, never a derived one.
func DeriveKey(tenant, tool string, key RequestKey, generation int) IdempotencyKey {
	return IdempotencyKey(uuidV8(digestOf("idempotency-key", canonicalObject(
		member{"generation", []byte(strconv.Itoa(generation))},
		member{"request_key", text(string(key))},
		member{"tenant", text(tenant)},
		member{"tool", text(tool)},
	))).String())
}

// ParseID reads the 36-character text of an ID. Only the spelling that String prints
// is accepted. The error is CodeInvalidIntentID.
func ParseID(s string) (ID, error) {
	u, err := parseUUID(s)
	if err != nil {
		return ID{}, Errorf(CodeInvalidIntentID, "the intent id %w; copy it as it was printed, 36 characters in lower case", err)
	}
	return ID(u), nil
}

// String returns the 36-character lower-case text of a UUID.
func (id ID) String() string { return uuid.UUID(id).String() }

// IsZero reports whether id names no intent.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText returns what String returns.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseID.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// uuidV8 makes a UUID of version 8, whose bits are the application's own, from the
// first 128 bits of a digest (RFC 9562, section 5.8).
func uuidV8(d Digest) uuid.UUID {
	u := uuid.UUID(d[:16])
	u[6] = u[6]&0x0f | 0x80 // version 8
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return u
}

// parseUUID reads a UUID in the one spelling that uuid.UUID.String prints, not in the
// others (braces, urn:uuid:, upper case) that the uuid package reads too.
func parseUUID(s string) (uuid.UUID, error) {
	u, err := uuid.Parse(s)
	if err != nil || u.String() != s {
		return uuid.UUID{}, fmt.Errorf("%.64q is not a UUID", s)
	}
	return u, nil
}
