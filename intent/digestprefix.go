package intent

import (
	"fmt"
	"regexp"
	"strings"
)

// DigestPrefix is the beginning of a digest's text, as people copy it: 16 to 64 lower-case
// hexadecimal digits, or nothing, which every digest begins with.
type DigestPrefix string

// shortDigits is how many digits [Short] shows: 64 bits of what nobody can choose, because the
// salt of a fingerprint is random.
const shortDigits = 16

var digestPrefix = regexp.MustCompile(`^[0-9a-f]{16,64}$`)

// ParseDigestPrefix reads what somebody copied; its error has code invalid_commitment.
func ParseDigestPrefix(text string) (DigestPrefix, error) {
	if !digestPrefix.MatchString(text) {
		return "", Errorf(CodeInvalidCommitment, "a commitment is its first 16 to 64 lower-case hexadecimal digits, not %.70q; `writ intent get` shows it", text)
	}
	return DigestPrefix(text), nil
}

// Begins reports whether the digest begins with p.
func (p DigestPrefix) Begins(d Digest) bool { return strings.HasPrefix(d.String(), string(p)) }

// Short returns the beginning of a digest that people compare.
func Short(d Digest) DigestPrefix { return DigestPrefix(fmt.Sprintf("%x", d[:shortDigits/2])) }
