package intent

import (
	"strconv"
	"strings"
)

// MaxDigits is how many digits a number may have, counted from its first digit that
// is not zero (so 0.001 has one, and 1.10 has three).
const MaxDigits = 1000

// MaxExponent is the largest magnitude of the power of ten of a number's first
// non-zero digit, the range of IEEE 754 decimal128. Zero has no exponent.
const MaxExponent = 6144

// decimal is the exact value ±0.digits × 10^point, as ECMA-262 takes a number apart
// (Number::toString: digits are its s, point its n). Zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   string // neither end is '0'
	point    int64
}

// canonicalNumber returns the canonical spelling of a JSON number literal that starts
// at offset, or CodeNumberTooLong or CodeNumberOutOfRange.
func canonicalNumber(literal string, offset int64) (string, error) {
	d, precision := parseDecimal(literal)
	if precision > MaxDigits {
		return "", rejected(CodeNumberTooLong, offset,
			"the number at byte %d has %d digits and %d are allowed; send it as a string", offset, precision, MaxDigits)
	}
	// The first digit stands for 10^(point-1).
	if d.digits != "" && (d.point-1 > MaxExponent || d.point-1 < -MaxExponent) {
		return "", rejected(CodeNumberOutOfRange, offset,
			"the number at byte %d lies outside 1e-%d to 1e+%d in magnitude; send it as a string", offset, MaxExponent, MaxExponent)
	}
	return d.String(), nil
}

// parseDecimal takes apart a literal whose syntax is that of RFC 8259, section 6.
// precision is the number of digits written from the first non-zero one on.
func parseDecimal(literal string) (d decimal, precision int) {
	literal, negative := strings.CutPrefix(literal, "-")
	significand, exponent := literal, int64(0)
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		significand, exponent = literal[:i], parseExponent(literal[i+1:])
	}
	whole, fraction, _ := strings.Cut(significand, ".")
	written := whole + fraction
	digits := strings.TrimLeft(written, "0")
	if digits == "" {
		return decimal{}, 0
	}
	leading := len(written) - len(digits)
	return decimal{
		negative: negative,
		digits:   strings.TrimRight(digits, "0"),
		point:    exponent + int64(len(whole)-leading),
	}, len(digits)
}

// parseExponent returns the exponent, cut off far beyond what the position of the
// decimal point in any text that fits into memory could bring back into range.
func parseExponent(s string) int64 {
	const far = int64(1) << 50
	exponent, _ := strconv.ParseInt(s, 10, 64) // an overflow yields the nearest int64
	return max(-far, min(exponent, far))
}

// String writes d as ECMA-262 Number::toString lays a number out (RFC 8785, section
// 3.2.2.3): without an exponent from 1e-6 to below 1e21, otherwise as d.ddde±x.
func (d decimal) String() string {
	count := int64(len(d.digits))
	var s string
	switch n := d.point; {
	case d.digits == "":
		return "0"
	case count <= n && n <= 21:
		s = d.digits + strings.Repeat("0", int(n-count))
	case 0 < n && n <= 21:
		s = d.digits[:n] + "." + d.digits[n:]
	case -6 < n && n <= 0:
		s = "0." + strings.Repeat("0", int(-n)) + d.digits
	default:
		s = d.digits[:1]
		if count > 1 {
			s += "." + d.digits[1:]
		}
		if n > 0 {
			s += "e+" + strconv.FormatInt(n-1, 10)
		} else {
			s += "e" + strconv.FormatInt(n-1, 10)
		}
	}
	if d.negative {
		return "-" + s
	}
	return s
}
