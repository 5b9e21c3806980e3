package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Digest is a SHA-256 over a form that names its own domain and version, so that a
// digest of one thing can never be taken for a digest of another. The zero Digest
// stands for "none".
type Digest [32]byte

// Salt is the random part of every digest of an intent's content that is stored or
// shown: small contents can be guessed, and erasing the salt erases the link. It has
// no text form on purpose; a salt is not shown.
type Salt [16]byte

// Action is what must be equal for two requests to be the same action.
type Action struct {
	Tenant    string
	Principal string
	Tool      string
	// Payload is what CanonicalPayload returned. Other bytes are not refused here, but
	// their fingerprint is not the one of any accepted request.
	Payload []byte
}

// Authorized is everything that a decision to run an intent was about.
type Authorized struct {
	Fingerprint Digest
	SpecDigest  Digest
	Context     []byte // EffectContext.Canonical
	Decision    []byte // canonical JSON
	Key         IdempotencyKey
	Generation  int // from 1
}

// Fingerprint is the digest by which a second request under the same request key is
// recognized as the same action. A joiner's is computed with the salt of the row that
// it joins.
func Fingerprint(salt Salt, a Action) Digest {
	return digestOf("fingerprint", canonicalObject(
		member{"payload", embedded(a.Payload)},
		member{"principal", text(a.Principal)},
		member{"salt", hexText(salt[:])},
		member{"tenant", text(a.Tenant)},
		member{"tool", text(a.Tool)},
	))
}

// Mark is the digest by which a caller recognizes its own request in the answer of a run that
// another request under the same key may have begun. context is EffectContext.Canonical.
func Mark(salt Salt, tool string, payload, context []byte) Digest {
	return digestOf("mark", canonicalObject(
		member{"context", embedded(context)},
		member{"payload", embedded(payload)},
		member{"salt", hexText(salt[:])},
		member{"tool", text(tool)},
	))
}

// Commitment is the digest of everything that was authorized. It needs no salt of its
// own, since the fingerprint in it has one.
func Commitment(a Authorized) Digest {
	return digestOf("commitment", canonicalObject(
		member{"context", embedded(a.Context)},
		member{"decision", embedded(a.Decision)},
		member{"fingerprint", text(a.Fingerprint.String())},
		member{"generation", []byte(strconv.Itoa(a.Generation))},
		member{"idempotency_key", text(string(a.Key))},
		member{"spec_digest", text(a.SpecDigest.String())},
	))
}

// PayloadDigest is the digest by which a payload that is stored apart from its row is
// found. It stands in Temporal's history, so its salt does not.
func PayloadDigest(salt Salt, payload []byte) Digest {
	sum := sha256.Sum256(payload)
	return digestOf("payload", canonicalObject(
		member{"body_sha256", hexText(sum[:])},
		member{"salt", hexText(salt[:])},
	))
}

// ResultDigest is the digest of a tool's result: any bytes, of any size, with their
// media type. The body enters as its SHA-256, so that it is read once and not copied.
func ResultDigest(salt Salt, mediaType string, body []byte) Digest {
	sum := sha256.Sum256(body)
	return digestOf("result", canonicalObject(
		member{"body_sha256", hexText(sum[:])},
		member{"media_type", text(mediaType)},
		member{"salt", hexText(salt[:])},
	))
}

// KeyDigest is what a receipt shows of an idempotency key, which is itself a
// capability at the provider.
func KeyDigest(salt Salt, key IdempotencyKey) Digest {
	return digestOf("key", canonicalObject(
		member{"key", text(string(key))},
		member{"salt", hexText(salt[:])},
	))
}

// SpecDigest is the digest of the behavioural part of a tool's spec, an object in
// canonical JSON.
func SpecDigest(canonicalSpec []byte) Digest {
	return digestOf("tool-spec", canonicalSpec)
}

// String returns 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether d stands for "none".
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns what String returns.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what String returns, and no other spelling of it.
func (d *Digest) UnmarshalText(b []byte) error {
	var parsed Digest
	n, err := hex.Decode(parsed[:], b[:min(len(b), 2*len(parsed))])
	if err != nil || n != len(parsed) || parsed.String() != string(b) {
		return fmt.Errorf("a digest is %d lower-case hexadecimal digits, not %.70q", 2*len(parsed), b)
	}
	*d = parsed
	return nil
}

// digestOf is the only place where bytes become a digest. The line in front of the
// canonical form names the domain and the version of the form; no canonical JSON
// contains a raw line feed, so the two parts cannot run into each other.
func digestOf(form string, canonical []byte) Digest {
	h := sha256.New()
	h.Write([]byte("writ/" + form + "/v1\n"))
	h.Write(canonical)
	return Digest(h.Sum(nil))
}

// member is one member of a canonical object; value is canonical JSON.
type member struct {
	name  string
	value []byte
}

// canonicalObject writes an object of members that are canonical already, so that a
// payload of the full depth can be embedded one level deeper. Names are literals of
// this package: ASCII, distinct, without escapes.
func canonicalObject(members ...member) []byte {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	size := len("{}")
	for _, m := range members {
		size += len(m.name) + len(m.value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, m.name...)
		out = append(out, `":`...)
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// text is a canonical JSON string. Bytes that are not UTF-8 become U+FFFD, as in every
// JSON that Go writes: digests are total, because the media type that a tool reports
// after its effect happened must never be a reason to lose the receipt. Names and keys
// are ASCII by CheckName and CheckRequestKey, where that case does not exist.
func text(s string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return quoted
}

func hexText(b []byte) []byte { return text(hex.EncodeToString(b)) }

// embedded is canonical JSON as a member's value; nothing is null.
func embedded(canonical []byte) []byte {
	if len(canonical) == 0 {
		return []byte("null")
	}
	return canonical
}
