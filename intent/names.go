package intent

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// maxName is the length in bytes that a name or a request key may have.
const maxName = 255

// ReservedPrefix starts the request keys that only Writ mints.
const ReservedPrefix = "writ:"

// mintedPrefix starts the key of a request that its caller did not name; a UUID follows.
const mintedPrefix = ReservedPrefix + "auto:"

// RequestKey is the caller's own name for one logical action, unique in its tenant. It
// is never sent to a provider; see IdempotencyKey.
type RequestKey string

// CheckName checks the name of a tenant, principal, tool or service: 1 to 255 ASCII
// letters, digits and . _ - : @ / that begin and end with a letter or a digit. what
// is the word for it in the message ("tool"). Names are compared byte for byte:
// nothing is trimmed or folded, so a look-alike is another name. The error is
// CodeInvalidName; its Offset is the first bad byte.
func CheckName(what, s string) error {
	if s == "" {
		return Errorf(CodeInvalidName, "the %s is empty; name it with 1 to %d letters, digits and . _ - : @ /", what, maxName)
	}
	if len(s) > maxName {
		return rejected(CodeInvalidName, maxName, "the %s has %d bytes and %d are allowed; choose a shorter one", what, len(s), maxName)
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && !strings.Contains("._-:@/", s[i:i+1]) {
			return rejected(CodeInvalidName, int64(i),
				"the %s contains %s at byte %d; use only ASCII letters, digits and . _ - : @ /", what, showByte(s[i]), i)
		}
	}
	for _, i := range []int{0, len(s) - 1} {
		if !alphanumeric(s[i]) {
			return rejected(CodeInvalidName, int64(i),
				"the %s has %s at byte %d; begin and end it with a letter or a digit", what, showByte(s[i]), i)
		}
	}
	return nil
}

// CheckOptionalName is CheckName of a name that need not be given: empty it is no name, and right.
func CheckOptionalName(what, s string) error {
	if s == "" {
		return nil
	}
	return CheckName(what, s)
}

// CheckRequestKey checks a request key wherever it comes from: 1 to 255 printable
// ASCII bytes (space to ~), taken as they are; a leading space is part of the key. In
// the reserved namespace only what MintedRequestKey returns is a key. The error is
// CodeInvalidRequestKey (its Offset is the first bad byte) or CodeReservedRequestKey.
func CheckRequestKey(s string) error {
	if s == "" {
		return Errorf(CodeInvalidRequestKey, "the request key is empty; give 1 to %d printable ASCII bytes, or no key at all", maxName)
	}
	if len(s) > maxName {
		return rejected(CodeInvalidRequestKey, maxName, "the request key has %d bytes and %d are allowed; choose a shorter one", len(s), maxName)
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return rejected(CodeInvalidRequestKey, int64(i),
				"the request key contains %s at byte %d; use only printable ASCII", showByte(s[i]), i)
		}
	}
	if strings.HasPrefix(s, ReservedPrefix) && !minted(s) {
		return reserved(s)
	}
	return nil
}

// MintedRequestKey is the key of a request whose caller gave none: an action of its
// own. u is random and is drawn before any I/O, so that retries send the same key. A
// caller may send it again; nobody can take one that Writ is going to give.
func MintedRequestKey(u uuid.UUID) RequestKey {
	return RequestKey(mintedPrefix + u.String())
}

// ScheduledRequestKey is the key of the request that a schedule makes for one of its nominal
// times: "schedule:NAME:TIME", the time in RFC 3339, UTC, to the second, which is how fine
// Temporal's nominal times are. With a name of at most MaxScheduleName bytes it fits.
func ScheduledRequestKey(schedule string, nominal time.Time) RequestKey {
	return RequestKey("schedule:" + schedule + ":" + nominal.UTC().Format(time.RFC3339))
}

// MaxScheduleName is the longest name of a schedule, in bytes.
const MaxScheduleName = 200

// minted reports whether s is spelled exactly as MintedRequestKey spells a key.
func minted(s string) bool {
	text, ok := strings.CutPrefix(s, mintedPrefix)
	if !ok {
		return false
	}
	_, err := parseUUID(text)
	return err == nil
}

func reserved(s string) error {
	return rejected(CodeReservedRequestKey, 0, "the request key %q begins with %q, which is reserved for Writ; choose another", s, ReservedPrefix)
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// showByte prints a byte so that a space, a control byte and a byte of a look-alike
// letter can be told apart.
func showByte(c byte) string {
	if c < ' ' || c > '~' {
		return fmt.Sprintf("the byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", c)
}
