package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"writ/intent"
)

// Schema is a compiled JSON Schema (draft 2020-12). The nil Schema takes everything. It is
// safe for concurrent use.
type Schema struct {
	wantsObject bool
	// checkers holds idle *checker. One counts the steps of one check at a time.
	checkers sync.Pool
}

// CompileSchema compiles a schema as it stands in a [Spec] or a [Published] one; an empty
// raw gives a nil Schema. It does no I/O. The error is an *intent.Error with code
// invalid_tool_spec; [Spec.InputSchema] says what is refused.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	s, err := compileSchema(raw)
	if err != nil {
		return nil, intent.Errorf(intent.CodeInvalidSpec, "the schema %w", err)
	}
	return s, nil
}

func compileSchema(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	canonical, err := canonicalSchema(raw)
	if err != nil {
		return nil, err
	}
	first, err := newChecker(canonical)
	if err != nil {
		return nil, err
	}
	s := &Schema{wantsObject: wantsObject(first.root)}
	s.checkers.New = func() any {
		another, err := newChecker(canonical)
		if err != nil {
			panic("tools: a schema compiled once and not twice: " + err.Error())
		}
		return another
	}
	s.checkers.Put(first)
	return s, nil
}

// Validate checks one JSON document. It takes what [intent.Canonicalize] takes, and returns
// its error for anything else. Numbers are compared exactly, however large.
//
// A document that does not satisfy the schema gives an error of at most 1,000 bytes: the
// first place, in the order of names and indexes, what is wanted there, and how many
// failures there are besides. It repeats names of members and what stands in the schema, never
// a value, and nothing below a place that the schema marks writeOnly. The same document
// always gives the same text.
//
// A check has a budget of time and memory. A document that would exceed it (which takes a
// recursive schema that matches one value in several ways, or very long numbers) is
// refused like one that does not satisfy the schema.
func (s *Schema) Validate(doc []byte) error {
	if s == nil {
		return nil
	}
	canonical, err := intent.Canonicalize(doc)
	if err != nil {
		return err
	}
	size, err := measure(canonical)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(canonical))
	if err != nil {
		return uncheckable("it cannot be read")
	}
	c := s.checkers.Get().(*checker)
	defer s.checkers.Put(c)
	return c.check(value, size)
}

// WantsObject reports whether the schema takes an object and no text: the type at its
// root, or in what the root refers to, is "object", or a list with "object" and without
// "string".
func (s *Schema) WantsObject() bool { return s != nil && s.wantsObject }

// wantsObject looks at what every value must satisfy: the root, what it refers to, and
// their allOf.
func wantsObject(root *jsonschema.Schema) bool {
	seen := map[*jsonschema.Schema]bool{}
	var wants func(*jsonschema.Schema) bool
	wants = func(s *jsonschema.Schema) bool {
		if s == nil || seen[s] {
			return false
		}
		seen[s] = true
		if s.Types != nil {
			names := s.Types.ToStrings()
			if slices.Contains(names, "object") && !slices.Contains(names, "string") {
				return true
			}
		}
		return wants(s.Ref) || slices.ContainsFunc(s.AllOf, wants)
	}
	return wants(root)
}
