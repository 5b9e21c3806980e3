package intent

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Envelope is an object whose members are a closed set, as it was sent: the request around
// a payload. The values are raw, so that each is read by its own rule, and whatever is
// wrong with it has its place in what the caller sent.
type Envelope map[string]Value

// ReadEnvelope splits an object into its members. what is the word for it in messages
// ("request"), known are the names that it may have. Names are compared exactly: a member
// that is not known, also one that differs from a known one in case only, is
// CodeUnknownMember, and a name that comes twice is CodeDuplicateMember; readers of JSON do
// not agree on what either would mean. Anything but an object is CodeInvalidRequest. The
// other errors are those of Canonicalize, of what stands around the values: a value may
// still be refused when it is read, by Text, Name, RequestKey or ReadPayload.
func ReadEnvelope(v Value, what string, known []string) (Envelope, error) {
	src := v.source()
	// Names are compared below, and each value is looked into by its own reader.
	dec := jsontext.NewDecoder(bytes.NewBuffer(v.Raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != jsontext.KindBeginObject {
		if _, err := canonicalize(src); err != nil {
			return nil, err
		}
		return nil, v.wrongKind(what, "a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, src.syntaxError(0, err)
	}
	e := Envelope{}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := src.next(dec)
		if err != nil {
			return nil, err
		}
		member, err := e.admit(name, what, known)
		if err != nil {
			return nil, err
		}
		if e[member], err = src.next(dec); err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, src.syntaxError(dec.InputOffset(), err)
	}
	if err := src.endsAt(dec.InputOffset()); err != nil {
		return nil, err
	}
	return e, nil
}

// admit returns the name of a member, unless there must not be one of that name.
func (e Envelope) admit(name Value, what string, known []string) (string, error) {
	member, err := name.text()
	if err != nil {
		return "", err
	}
	if slices.Contains(known, member) {
		if _, twice := e[member]; twice {
			return "", name.source().duplicate(0)
		}
		return member, nil
	}
	for _, k := range known {
		if strings.EqualFold(member, k) {
			return "", rejected(CodeUnknownMember, name.Offset,
				"the %s has a member %.64q at byte %d, which is spelled %q; names are compared exactly", what, member, name.Offset, k)
		}
	}
	return "", rejected(CodeUnknownMember, name.Offset,
		"the %s has no member %.64q (byte %d); its members are %s", what, member, name.Offset, strings.Join(known, ", "))
}

// Text returns the string that is the value of a member; "" if it is absent or null. The
// error is CodeInvalidRequest for any other value, or one of Canonicalize.
func (e Envelope) Text(member string) (string, error) {
	v := e[member]
	if v.IsAbsent() {
		return "", nil
	}
	if v.kind() != '"' {
		if _, err := canonicalize(v.source()); err != nil {
			return "", err
		}
		return "", v.wrongKind(member, "a string")
	}
	return v.text()
}

// Name is Text for a member that holds a name, see CheckName. A member that is there and
// empty is CodeInvalidName: it is not taken for an absent one.
func (e Envelope) Name(member string) (string, error) {
	return e.checked(member, func(s string) error { return CheckName(member, s) })
}

// Names returns the names in the array that is the value of a member, in their order; nil if it is
// absent or null. The error is CodeInvalidRequest for any other value, CodeInvalidName, or one of
// Canonicalize.
func (e Envelope) Names(member string) ([]string, error) {
	v := e[member]
	if v.IsAbsent() {
		return nil, nil
	}
	if err := v.Check(); err != nil {
		return nil, err
	}
	if v.kind() != '[' {
		return nil, v.wrongKind(member, "an array of strings")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v.Raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, v.source().syntaxError(0, err)
	}
	names := []string{}
	for dec.PeekKind() != jsontext.KindEndArray {
		element, err := v.source().next(dec)
		if err != nil {
			return nil, err
		}
		if element.kind() != '"' {
			return nil, element.wrongKind("value in "+member, "a string")
		}
		name, err := Envelope{member: element}.Name(member)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// RequestKey is Text for a member that holds a request key, see CheckRequestKey. A member
// that is there and empty is CodeInvalidRequestKey: it is not taken for an absent one.
func (e Envelope) RequestKey(member string) (string, error) {
	return e.checked(member, CheckRequestKey)
}

// Risk returns the number of a member that holds a risk, see IsRisk; 0 if it is absent or null.
func (e Envelope) Risk(member string) (float64, error) {
	v := e[member]
	if v.IsAbsent() {
		return 0, nil
	}
	risk, err := strconv.ParseFloat(string(v.trimmed().Raw), 64)
	if err != nil || !IsRisk(risk) {
		return 0, v.wrongKind(member, "a number from 0 to 1")
	}
	return risk, nil
}

// checked is Text with a check. The offset of the check's error becomes one in what the
// caller sent; its message goes on to count in the name.
func (e Envelope) checked(member string, check func(string) error) (string, error) {
	s, err := e.Text(member)
	if err != nil || e[member].IsAbsent() {
		return "", err
	}
	var refused *Error
	if errors.As(check(s), &refused) {
		v := e[member].trimmed()
		placed := *refused
		placed.Offset = inString(nil, v.Raw, v.Offset).place(max(refused.Offset, 0))
		return "", &placed
	}
	return s, nil
}

// next takes the name or the value that dec is at, whatever is in it.
func (src source) next(dec *jsontext.Decoder) (Value, error) {
	read := dec.InputOffset()
	if kind := dec.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		raw, err := dec.ReadValue()
		if err != nil {
			return Value{}, src.syntaxError(read, err)
		}
		return src.value(dec.InputOffset()-int64(len(raw)), dec.InputOffset()), nil
	}
	start, deep, outside := int64(-1), int64(-1), dec.StackDepth()
	for {
		_, err := dec.ReadToken()
		// The decoder gives up at some depth; the value was too deep for us before.
		if deep < 0 && dec.StackDepth()-outside > MaxDepth {
			deep = dec.InputOffset() - 1
		}
		switch {
		case err != nil && deep >= 0:
			return Value{}, src.tooDeep(deep)
		case err != nil:
			return Value{}, src.syntaxError(dec.InputOffset(), err)
		case start < 0:
			start = dec.InputOffset() - 1
		}
		if dec.StackDepth() == outside {
			return src.value(start, dec.InputOffset()), nil
		}
	}
}

func (src source) value(from, to int64) Value {
	return Value{Raw: src.bytes[from:to], Offset: src.place(from)}
}

// kind is the first byte of the value, which is not absent.
func (v Value) kind() byte { return v.trimmed().Raw[0] }

// text is what a JSON string means.
func (v Value) text() (string, error) {
	canonical, err := canonicalize(v.source())
	if err != nil {
		return "", err
	}
	content, err := jsontext.AppendUnquote(nil, canonical)
	if err != nil {
		return "", unwritable(err)
	}
	return string(content), nil
}

// wrongKind is the error for a value that is JSON and not what it must be.
func (v Value) wrongKind(what, wanted string) *Error {
	v = v.trimmed()
	return rejected(CodeInvalidRequest, v.Offset, "the %s is %s at byte %d; send %s", what, describe(v.Raw), v.Offset, wanted)
}
