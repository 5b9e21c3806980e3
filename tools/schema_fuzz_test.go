package tools_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"writ/intent"
	"writ/tools"
)

// rich has every keyword that is checked. What is under "secret", "hidden" and in "vault" is
// marked writeOnly in one way or another.
const rich = `{
	"type": ["object", "array", "string"],
	"required": ["kind"],
	"properties": {
		"kind":   {"enum": ["card", "cash", 1.5, null]},
		"amount": {"type": ["number", "string"], "minimum": 0.01, "exclusiveMaximum": 1e30, "multipleOf": 0.01, "pattern": "^[0-9.]+$"},
		"note":   {"type": "string", "minLength": 2, "maxLength": 20, "not": {"const": "no"}},
		"tags":   {"type": "array", "uniqueItems": true, "minItems": 1, "maxItems": 4, "items": {"type": "string"}},
		"pair":   {"prefixItems": [{"type": "integer"}, {"type": "string"}], "unevaluatedItems": false},
		"some":   {"contains": {"type": "integer"}, "minContains": 1, "maxContains": 2},
		"child":  {"$ref": "#"},
		"secret": {"writeOnly": true, "type": "object", "required": ["pin"], "propertyNames": {"maxLength": 3}, "additionalProperties": {"type": "integer"}}
	},
	"patternProperties": {"^x-": {"type": "string"}, "^h": {"$ref": "#/$defs/hidden"}},
	"propertyNames": {"maxLength": 12, "pattern": "^[a-zA-Z0-9-]*$"},
	"dependentRequired": {"amount": ["currency"]},
	"dependentSchemas": {"currency": {"properties": {"vault": {"writeOnly": true}}, "minProperties": 2}},
	"anyOf": [{"required": ["amount"]}, {"properties": {"kind": {"const": "cash"}}}],
	"oneOf": [{"type": "object"}, {"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}, {"type": "string"}],
	"if": {"properties": {"kind": {"const": "card"}}}, "then": {"required": ["secret"]}, "else": {"maxProperties": 6},
	"unevaluatedProperties": {"type": "boolean"},
	"$defs": {"hidden": {"anyOf": [{"writeOnly": true}, true], "type": "array", "items": {"type": "object", "maxProperties": 1}}}
}`

// FuzzSchemaValidate checks that a document is judged as the library judges it without the
// budget and the hooks, always in the same words, and that the words never repeat a value or
// anything that is marked writeOnly.
func FuzzSchemaValidate(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `"CANARY"`, `null`, `1`, `{"kind":"card"}`, `{"kind":"cash","amount":12.90,"currency":true}`,
		`{"kind":"card","amount":"CANARY","currency":"CANARY","secret":{"pin":"CANARY","CANARY":1}}`,
		`{"kind":"CANARY","tags":["CANARY","CANARY"],"pair":[1,"a","CANARY"],"some":["CANARY"],"note":"CANARYCANARYCANARYCANARY"}`,
		`{"kind":1.5,"child":{"kind":null,"child":{"kind":"card","secret":{"CANARY":"CANARY"}}}}`,
		`{"hide":[{"CANARY":1,"b":"CANARY"}],"h":{"CANARY":1}}`, `{"vault":{"CANARY":"CANARY"},"currency":1}`,
		`[null,{"kind":"cash"},["CANARY"],{"secret":["CANARY",{"CANARY":[]}]}]`,
		`{"kind":"cash","amount":1e6144,"currency":true}`, `{"kind":"cash","amount":0.015,"currency":true}`,
		`{"some":[1,2,3],"tags":[[[],[]],[[[]]]],"x-a":1,"pair":[1.0,2]}`,
	} {
		f.Add([]byte(seed))
	}
	s := compiled(f, rich)
	plain := library(f, rich)
	f.Fuzz(func(t *testing.T, doc []byte) {
		err := s.Validate(doc)
		canonical, notJSON := intent.Canonicalize(doc)
		if notJSON != nil {
			if intent.CodeOf(err) != intent.CodeOf(notJSON) {
				t.Errorf("%v, want %v", err, notJSON)
			}
			return
		}
		if again := s.Validate(doc); (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Errorf("%v, and then %v", err, again)
		}
		if err != nil && strings.Contains(err.Error(), "cannot be checked") {
			return
		}
		value, readable := jsonschema.UnmarshalJSON(bytes.NewReader(canonical))
		if readable != nil {
			t.Fatal(readable)
		}
		if want := plain.Validate(value); (err == nil) != (want == nil) {
			t.Fatalf("judged %v, and by the library alone %v", err, want)
		}
		repeatsNothing(t, s, canonical)
	})
}

// repeatsNothing looks for a document's texts in the message. They are replaced by a canary first, so
// that a word of the schema is not taken for one.
func repeatsNothing(t *testing.T, s *tools.Schema, canonical []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(canonical))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(marshal(t, planted(value, false))); err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
}

// planted returns v with the canary as every text and, below a secret member, as a member's name.
func planted(v any, secret bool) any {
	switch v := v.(type) {
	case string:
		return canary
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = planted(item, secret)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, member := range v {
			below := secret || name == "secret" || name == "vault" || strings.HasPrefix(name, "h")
			if secret {
				name = canary + name
			}
			object[name] = planted(member, below)
		}
		return object
	}
	return v
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// library compiles the schema with the library alone.
func library(f *testing.F, schema string) *jsonschema.Schema {
	f.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		f.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("https://schema.invalid/plain", doc); err != nil {
		f.Fatal(err)
	}
	plain, err := compiler.Compile("https://schema.invalid/plain")
	if err != nil {
		f.Fatal(err)
	}
	return plain
}
