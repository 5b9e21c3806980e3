package cedar

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// kind is how a member of a payload is given to policies.
type kind int

const (
	// unchecked: the schema does not give the member one type that Cedar knows. It is given as
	// what it is, and a policy may read it only behind `has`.
	unchecked kind = iota
	text
	long
	decimal
	boolean
	set
	record
)

// field is a tool's input schema, as far as it can be said in Cedar.
type field struct {
	kind     kind
	optional bool
	nullable bool
	items    *field
	members  map[string]*field
	// open says that there may be other members.
	open bool
	// secret says that the value is writeOnly, or that it may be: it is not shown.
	secret bool
}

// maxFieldDepth bounds how deep a schema is read; what is deeper is unchecked.
const maxFieldDepth = 16

// inputSchema is the part of JSON Schema that says which type a value has.
type inputSchema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
	Prefix     json.RawMessage            `json:"prefixItems"`
	Patterns   json.RawMessage            `json:"patternProperties"`
}

// payloadField reads a tool's input schema. The member at the pointer amount is an exact amount.
func payloadField(schema json.RawMessage, amount string) *field {
	f := &field{kind: record, open: true, members: map[string]*field{}}
	if read := fieldOf(schema, 0); len(schema) > 0 && read.kind == record {
		f = read
	}
	f.optional, f.nullable = false, false
	at := f
	for _, name := range strings.Split(strings.TrimPrefix(amount, "/"), "/") {
		if at = at.members[name]; at == nil {
			return f
		}
	}
	if at.kind == text || at.kind == long {
		at.kind = decimal
	}
	return f
}

func fieldOf(schema json.RawMessage, depth int) *field {
	var s inputSchema
	if depth > maxFieldDepth || json.Unmarshal(schema, &s) != nil {
		return &field{secret: mayHide(schema, false)}
	}
	name, nullable := s.typeName()
	f := &field{nullable: nullable, optional: nullable}
	switch name {
	case "string":
		f.kind = text
	case "integer":
		f.kind = long
	case "number":
		f.kind = decimal
	case "boolean":
		f.kind = boolean
	case "array":
		if items := fieldOf(s.Items, depth+1); len(s.Prefix) == 0 && items.kind != unchecked && !items.nullable {
			f.kind, f.items = set, items
		}
	case "object":
		f.kind, f.members = record, map[string]*field{}
		f.open = string(s.Additional) != "false" || len(s.Patterns) > 0
		for member, sub := range s.Properties {
			read := fieldOf(sub, depth+1)
			read.optional = read.optional || !slices.Contains(s.Required, member)
			f.members[member] = read
		}
	}
	f.secret = mayHide(schema, f.kind == set || f.kind == record)
	return f
}

// mayHide reports whether the value, or something in it that is not read by itself, may be
// writeOnly. What is below properties and items is read by itself if inner says so.
func mayHide(schema json.RawMessage, inner bool) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return false // true, false, or nothing
	}
	for name, value := range members {
		switch name {
		case "writeOnly":
			if string(value) == "true" {
				return true
			}
		case "$ref", "$dynamicRef":
			return true
		case "$defs", "definitions", "description", "title", "default", "examples":
		case "properties", "items":
			if !inner && mentionsHidden(value) {
				return true
			}
		default:
			if mentionsHidden(value) {
				return true
			}
		}
	}
	return false
}

func mentionsHidden(schema json.RawMessage) bool {
	return bytes.Contains(schema, []byte(`"writeOnly"`)) || bytes.Contains(schema, []byte(`"$ref"`)) || bytes.Contains(schema, []byte(`"$dynamicRef"`))
}

// typeName returns the one type that is not null, and whether null is allowed beside it; "" if
// there is no such type.
func (s inputSchema) typeName() (name string, nullable bool) {
	if json.Unmarshal(s.Type, &name) == nil {
		return name, false
	}
	var several []string
	if json.Unmarshal(s.Type, &several) != nil {
		return "", false
	}
	rest := slices.DeleteFunc(slices.Clone(several), func(t string) bool { return t == "null" })
	if len(rest) != 1 {
		return "", false
	}
	return rest[0], len(rest) < len(several)
}

// has reports whether a payload may have something at the path.
func (f *field) has(path []string) bool {
	switch {
	case len(path) == 0 || f.kind == unchecked:
		return true
	case f.kind != record:
		return false
	}
	next, declared := f.members[path[0]]
	if !declared {
		return f.open
	}
	return next.has(path[1:])
}
