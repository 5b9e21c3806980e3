package intent

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxPayload is the size in bytes that a payload may have where nothing else is
// configured; it bounds the bytes sent and their canonical form alike.
const MaxPayload = 1 << 20

// MaxInline is the size in bytes up to which a payload or a result stands in its row and in
// Temporal's history. A larger one is stored once, apart, and referred to by its digest.
const MaxInline = 64 << 10

// Payload is a tool's arguments.
type Payload struct {
	// Canonical is an object in canonical form.
	Canonical []byte
	// FromText says that the object came inside a JSON string, which is how some agents
	// send arguments. Only a tool whose input schema wants an object takes it; for any other
	// the payload is a string, and NotObject is the error.
	FromText bool
	offset   int64
}

// ReadPayload reads a tool's arguments, which are an object. Nothing, "" and null are what
// agents send for "no arguments" and mean {}. Any other value that is not an object is
// CodePayloadNotObject, and the message names what it was.
//
// A string whose text begins with { is decoded, once: the text must be exactly one object,
// and a string in it stays a string. Its errors are those of Canonicalize, and their
// offsets are those of the caller's bytes that spell the text.
//
// limit is in bytes and holds for what was sent and for the canonical form, each by itself
// (1e20 becomes 100000000000000000000); beyond it the error is CodePayloadTooLarge. A limit
// of 0 or less means MaxPayload. All other errors are those of Canonicalize.
func ReadPayload(v Value, limit int) (Payload, error) {
	if limit <= 0 {
		limit = MaxPayload
	}
	if len(v.Raw) > limit {
		return Payload{}, rejected(CodePayloadTooLarge, v.Offset+int64(limit),
			"the payload has %d bytes and %d are allowed; send a reference to large content, not the content", len(v.Raw), limit)
	}
	p, err := readPayload(v)
	if err != nil {
		return Payload{}, err
	}
	if len(p.Canonical) > limit {
		return Payload{}, rejected(CodePayloadTooLarge, -1,
			"the payload has %d bytes in canonical form and %d are allowed; send a reference to large content, not the content", len(p.Canonical), limit)
	}
	return p, nil
}

// CanonicalPayload is ReadPayload for a tool that takes no object inside a string.
func CanonicalPayload(src []byte, limit int) ([]byte, error) {
	p, err := ReadPayload(Value{Raw: src}, limit)
	if err != nil {
		return nil, err
	}
	if p.FromText {
		return nil, p.NotObject()
	}
	return p.Canonical, nil
}

// NotObject is the error of a payload that came as text, for a tool that wants none.
func (p Payload) NotObject() *Error {
	return rejected(CodePayloadNotObject, p.offset,
		"the payload is a string; send a JSON object itself, not text that contains one: no input schema of this tool asks for an object")
}

// readPayload is ReadPayload without its limit.
func readPayload(v Value) (Payload, error) {
	if len(v.Raw) == 0 {
		v.Raw = []byte("null")
	}
	value, err := canonicalize(v.source())
	if err != nil {
		return Payload{}, err
	}
	sent := v.trimmed()
	p := Payload{Canonical: value, offset: sent.Offset}
	switch {
	case string(value) == `""`, string(value) == "null":
		p.Canonical = []byte("{}")
	case value[0] == '"':
		p.FromText = true
		p.Canonical, err = objectInText(sent)
	case value[0] != '{':
		err = rejected(CodePayloadNotObject, sent.Offset, "the payload is %s; send a JSON object", describe(value))
	}
	return p, err
}

// objectInText returns the canonical form of the one object that is the text of a valid
// JSON string.
func objectInText(literal Value) ([]byte, error) {
	content, err := jsontext.AppendUnquote(nil, literal.Raw)
	if err != nil {
		return nil, unwritable(err)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(content, jsonSpace), []byte("{")) {
		return nil, rejected(CodePayloadNotObject, literal.Offset, "the payload is a string; send a JSON object")
	}
	return canonicalize(inString(content, literal.Raw, literal.Offset))
}

// describe names the kind of a JSON value.
func describe(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '"':
		return "a string"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
