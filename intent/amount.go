package intent

import "regexp"

// countable is a decimal that a budget counts exactly: up to 30 digits, and 18 behind the point,
// which is more than any currency has. A number in a payload is in RFC 8785's notation, which has
// an exponent only outside of that range, or for an amount under a millionth.
var countable = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,18})?$`)

// Countable reports whether the amount is one that a budget can allow, and count.
func Countable(amount string) bool { return countable.MatchString(amount) }
