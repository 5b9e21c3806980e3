package intent

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxPayload is the size in bytes that a payload may have where nothing else is
// configured; it bounds the bytes sent and their canonical form alike.
const MaxPayload = 1 << 20

// MaxInline is the size in bytes up to which a payload or a result stands in its row and in
// Temporal's history. A larger one is stored once, apart, and referred to by its digest.
const MaxInline = 64 << 10

// MaxDepth is how many arrays and objects may be open at once in canonical JSON.
const MaxDepth = 128

// jsonSpace is the whitespace of RFC 8259, section 2.
const jsonSpace = " \t\r\n"

// Canonicalize returns the one spelling of the JSON value in src: RFC 8785 layout
// (members ordered by the UTF-16 code units of their names, minimal escapes, no
// whitespace), except that a number is never rounded to a double: it is written as
// its exact decimal value in RFC 8785's notation. Two texts have the same canonical
// form if, and only if, they are the same value. Canonical text is its own canonical
// form. src is neither changed nor kept, and the result is at most six times as long.
//
// What has no single, exact meaning is an *Error whose Offset is the zero-based byte
// at which src was rejected: CodeInvalidJSON, CodeInvalidUTF8, CodeLoneSurrogate,
// CodeDuplicateMember, CodeTrailingData, CodeTooDeep (MaxDepth), CodeNumberTooLong
// (MaxDigits) or CodeNumberOutOfRange (MaxExponent).
func Canonicalize(src []byte) ([]byte, error) {
	// The whole text comes first: JSON is UTF-8 before it is anything else (RFC 8259,
	// section 8.1), and a syntax error inside a string is then never about encoding.
	if at := invalidUTF8(src); at >= 0 {
		return nil, rejected(CodeInvalidUTF8, int64(at), "the bytes from byte %d on are not UTF-8; encode the JSON as UTF-8", at)
	}
	value, err := exactNumbers(src)
	if err != nil {
		return nil, err
	}
	// The names are known to be unique; looking again would only cost time.
	err = value.Format(jsontext.ReorderRawObjects(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, unwritable(err)
	}
	return value, nil
}

// CanonicalPayload returns the canonical form of a tool's arguments, which are an
// object. Nothing, "" and null are what agents send for "no arguments" and mean {}.
// Any other value that is not an object is CodePayloadNotObject, and the message
// names what it was; an object inside a JSON string is a string.
//
// limit is in bytes and holds for src and for the result, each by itself (1e20
// becomes 100000000000000000000); beyond it the error is CodePayloadTooLarge. A limit
// of 0 or less means MaxPayload. All other errors are those of Canonicalize.
func CanonicalPayload(src []byte, limit int) ([]byte, error) {
	if limit <= 0 {
		limit = MaxPayload
	}
	if len(src) > limit {
		return nil, rejected(CodePayloadTooLarge, int64(limit),
			"the payload has %d bytes and %d are allowed; send a reference to large content, not the content", len(src), limit)
	}
	if len(src) == 0 {
		src = []byte("null")
	}
	value, err := Canonicalize(src)
	if err != nil {
		return nil, err
	}
	switch {
	case string(value) == `""`, string(value) == "null":
		value = []byte("{}")
	case value[0] != '{':
		start := len(src) - len(bytes.TrimLeft(src, jsonSpace))
		return nil, rejected(CodePayloadNotObject, int64(start), "the payload is %s; send %s", describe(value), wanted(value))
	}
	if len(value) > limit {
		return nil, rejected(CodePayloadTooLarge, -1,
			"the payload has %d bytes in canonical form and %d are allowed; send a reference to large content, not the content", len(value), limit)
	}
	return value, nil
}

// exactNumbers parses the single value in src, enforces every limit, and returns the
// same value with each number in its canonical spelling; the order of members stays.
func exactNumbers(src []byte) (jsontext.Value, error) {
	// A bytes.Buffer is read in place; the decoder promises not to write to it.
	dec := jsontext.NewDecoder(bytes.NewBuffer(src))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxError(src, dec.InputOffset(), err)
		}
		if dec.StackDepth() > MaxDepth {
			at := dec.InputOffset() - 1
			return nil, rejected(CodeTooDeep, at, "arrays and objects are nested deeper than %d levels at byte %d; send a flatter value", MaxDepth, at)
		}
		if token.Kind() == jsontext.KindNumber {
			literal := token.String()
			number, err := canonicalNumber(literal, dec.InputOffset()-int64(len(literal)))
			if err != nil {
				return nil, err
			}
			if err := enc.WriteValue(jsontext.Value(number)); err != nil {
				return nil, unwritable(err)
			}
		} else if err := enc.WriteToken(token); err != nil {
			return nil, unwritable(err)
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	end := dec.InputOffset()
	if rest := bytes.TrimLeft(src[end:], jsonSpace); len(rest) > 0 {
		at := int64(len(src) - len(rest))
		return nil, rejected(CodeTrailingData, at, "there is more after the JSON value, at byte %d; send exactly one value", at)
	}
	return out.Bytes(), nil
}

// syntaxError gives an error of the decoder its code. The decoder's own texts and
// most of its error values are not part of its promise, so the code is read from the
// input at the offset it reports; read is the end of the last good token.
func syntaxError(src []byte, read int64, err error) *Error {
	at := int64(len(src))
	cause := err
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		at, cause = syntactic.ByteOffset, syntactic.Err
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return rejected(CodeDuplicateMember, at,
			"the member name at byte %d occurs a second time in its object; send each name once", at)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at = int64(len(src))
		return rejected(CodeInvalidJSON, at, "the JSON ends at byte %d before its value is complete; send all of it", at)
	case bytes.IndexByte(src[read:at], '"') >= 0 && loneSurrogate(src[at:]):
		return rejected(CodeLoneSurrogate, at,
			"the escape %s at byte %d is half of a surrogate pair; send both halves, or the character itself", src[at:at+6], at)
	}
	return rejected(CodeInvalidJSON, at, "the JSON is not valid at byte %d: %w; send one value as RFC 8259 defines it", at, cause)
}

// unwritable is the error for a value that was read but not written, which would be a
// defect of this package: it refuses rather than guesses.
func unwritable(err error) *Error {
	return rejected(CodeInvalidJSON, -1, "the JSON has no canonical form: %w; report this as a defect of Writ", err)
}

// loneSurrogate reports whether b, the part of a string from where it was rejected,
// starts with a well-formed \u escape of a surrogate.
func loneSurrogate(b []byte) bool {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return false
		}
	}
	return utf16.IsSurrogate(r)
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}

// describe names the kind of a canonical value that is not an object.
func describe(value []byte) string {
	switch value[0] {
	case '"':
		return "a string"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	default:
		return "a number"
	}
}

func wanted(value []byte) string {
	if value[0] == '"' {
		return "a JSON object itself, not text that contains one"
	}
	return "a JSON object"
}

// rejected is Errorf for input that was refused at a byte; -1 where there is none.
func rejected(code Code, offset int64, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Offset = offset
	return e
}
