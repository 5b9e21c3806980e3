package intent

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// source is JSON that is to be read, with the place where it stands in what the caller
// sent: an error names the caller's own byte.
type source struct {
	bytes []byte
	// place maps an offset in bytes to the offset in what the caller sent.
	place func(at int64) int64
}

// Value is one JSON value in a text of the caller's.
type Value struct {
	// Raw is the value as it was sent; empty if it is absent.
	Raw []byte
	// Offset is where Raw begins in what the caller sent, in bytes. Errors count from there.
	Offset int64
}

// IsAbsent reports whether nothing was sent, or null.
func (v Value) IsAbsent() bool {
	trimmed := bytes.Trim(v.Raw, jsonSpace)
	return len(trimmed) == 0 || string(trimmed) == "null"
}

// Check is Canonicalize for its error alone, whose offset is one in what the caller sent.
func (v Value) Check() error {
	_, err := canonicalize(v.source())
	return err
}

func (v Value) source() source {
	return source{v.Raw, func(at int64) int64 { return v.Offset + at }}
}

// trimmed is the value without the whitespace around it.
func (v Value) trimmed() Value {
	inner := bytes.TrimLeft(v.Raw, jsonSpace)
	return Value{bytes.TrimRight(inner, jsonSpace), v.Offset + int64(len(v.Raw)-len(inner))}
}

// inString is the text that a JSON string holds: content is what literal means, and literal
// is valid and stands at offset in what the caller sent.
func inString(content, literal []byte, offset int64) source {
	return source{content, func(at int64) int64 { return offset + spelled(literal, at) }}
}

// spelled returns where in the valid JSON string literal the byte stands that is number at
// of what the literal means; it begins a character.
func spelled(literal []byte, at int64) int64 {
	raw, meant := len(`"`), int64(0)
	for meant < at && raw < len(literal)-len(`"`) {
		size, means := character(literal[raw:])
		raw, meant = raw+size, meant+means
	}
	return int64(raw)
}

// character takes the first character off the rest of a valid JSON string: how many bytes
// spell it, and how many bytes of UTF-8 it means.
func character(rest []byte) (size int, means int64) {
	if rest[0] != '\\' {
		_, size := utf8.DecodeRune(rest)
		return size, int64(size)
	}
	unit, ok := escapedUnit(rest)
	switch {
	case !ok:
		return len(`\n`), 1
	case utf16.IsSurrogate(unit):
		return 2 * len(`\uXXXX`), utf8.UTFMax // both halves of a pair
	}
	return len(`\uXXXX`), int64(utf8.RuneLen(unit))
}

// escapedUnit reads the \uXXXX escape that b starts with, if it starts with one.
func escapedUnit(b []byte) (rune, bool) {
	if len(b) < len(`\uXXXX`) || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(unit), err == nil
}
