package intent

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

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
	return canonicalize(Value{Raw: src}.source())
}

func canonicalize(src source) ([]byte, error) {
	// The whole text comes first: JSON is UTF-8 before it is anything else (RFC 8259,
	// section 8.1), and a syntax error inside a string is then never about encoding.
	if at := invalidUTF8(src.bytes); at >= 0 {
		return nil, src.notUTF8(int64(at))
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

// exactNumbers parses the single value in src, enforces every limit, and returns the
// same value with each number in its canonical spelling; the order of members stays.
func exactNumbers(src source) (jsontext.Value, error) {
	// A bytes.Buffer is read in place; the decoder promises not to write to it.
	dec := jsontext.NewDecoder(bytes.NewBuffer(src.bytes))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, src.syntaxError(dec.InputOffset(), err)
		}
		if dec.StackDepth() > MaxDepth {
			return nil, src.tooDeep(dec.InputOffset() - 1)
		}
		if token.Kind() == jsontext.KindNumber {
			literal := token.String()
			number, err := canonicalNumber(literal, src.place(dec.InputOffset()-int64(len(literal))))
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
			return out.Bytes(), src.endsAt(dec.InputOffset())
		}
	}
}

// endsAt is the error for anything but whitespace from the offset end on.
func (src source) endsAt(end int64) error {
	rest := bytes.TrimLeft(src.bytes[end:], jsonSpace)
	if len(rest) == 0 {
		return nil
	}
	at := src.place(int64(len(src.bytes) - len(rest)))
	return rejected(CodeTrailingData, at, "there is more after the JSON value, at byte %d; send exactly one value", at)
}

// syntaxError gives an error of the decoder its code. The decoder's own texts and
// most of its error values are not part of its promise, so the code is read from the
// input at the offset it reports; read is the end of the last good token.
func (src source) syntaxError(read int64, err error) *Error {
	at := int64(len(src.bytes))
	cause := err
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		at, cause = syntactic.ByteOffset, syntactic.Err
	}
	sent := src.place(at)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return src.duplicate(at)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		sent = src.place(int64(len(src.bytes)))
		return rejected(CodeInvalidJSON, sent, "the JSON ends at byte %d before its value is complete; send all of it", sent)
	case at < int64(len(src.bytes)) && invalidUTF8(src.bytes[at:min(at+utf8.UTFMax, int64(len(src.bytes)))]) == 0:
		// Only in an envelope, whose values are not looked into while it is taken apart.
		return src.notUTF8(at)
	case bytes.IndexByte(src.bytes[read:at], '"') >= 0 && loneSurrogate(src.bytes[at:]):
		return rejected(CodeLoneSurrogate, sent,
			"the escape %s at byte %d is half of a surrogate pair; send both halves, or the character itself", src.bytes[at:at+6], sent)
	}
	return rejected(CodeInvalidJSON, sent, "the JSON is not valid at byte %d: %w; send one value as RFC 8259 defines it", sent, cause)
}

func (src source) tooDeep(at int64) *Error {
	at = src.place(at)
	return rejected(CodeTooDeep, at, "arrays and objects are nested deeper than %d levels at byte %d; send a flatter value", MaxDepth, at)
}

func (src source) duplicate(at int64) *Error {
	at = src.place(at)
	return rejected(CodeDuplicateMember, at, "the member name at byte %d occurs a second time in its object; send each name once", at)
}

func (src source) notUTF8(at int64) *Error {
	at = src.place(at)
	return rejected(CodeInvalidUTF8, at, "the bytes from byte %d on are not UTF-8; encode the JSON as UTF-8", at)
}

// unwritable is the error for a value that was read but not written, which would be a
// defect of this package: it refuses rather than guesses.
func unwritable(err error) *Error {
	return rejected(CodeInvalidJSON, -1, "the JSON has no canonical form: %w; report this as a defect of Writ", err)
}

// loneSurrogate reports whether b, the part of a string from where it was rejected,
// starts with a well-formed \u escape of a surrogate.
func loneSurrogate(b []byte) bool {
	unit, ok := escapedUnit(b)
	return ok && utf16.IsSurrogate(unit)
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

// rejected is Errorf for input that was refused at a byte; -1 where there is none.
func rejected(code Code, offset int64, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Offset = offset
	return e
}
