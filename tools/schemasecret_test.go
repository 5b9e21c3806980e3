package tools_test

import (
	"strings"
	"testing"
)

func TestNothingAtOrBelowAWriteOnlyPlaceIsRepeated(t *testing.T) {
	t.Parallel()
	const secret = `{"writeOnly":true,"type":"object","required":["pin"],"additionalProperties":{"type":"null"},"propertyNames":{"maxLength":3}}`
	// Each document has the canary as names and values of a secret member or item.
	const held = `{"CANARY4711":"CANARY4711","b":{"CANARY4711":1}}`
	for name, tc := range map[string]struct{ schema, doc, want string }{
		"properties":            {`{"properties":{"card":` + secret + `}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"patternProperties":     {`{"patternProperties":{"^c":` + secret + `}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"additionalProperties":  {`{"additionalProperties":` + secret + `}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"unevaluatedProperties": {`{"unevaluatedProperties":` + secret + `}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"items":                 {`{"items":` + secret + `}`, `[` + held + `]`, "/0: must satisfy its schema"},
		"prefixItems":           {`{"prefixItems":[true,` + secret + `]}`, `[1,` + held + `]`, "/1: must satisfy its schema"},
		"unevaluatedItems":      {`{"unevaluatedItems":` + secret + `}`, `[` + held + `]`, "/0: must satisfy its schema"},
		"a reference":           {`{"properties":{"card":{"$ref":"#/$defs/card"}},"$defs":{"card":` + secret + `}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"beside a reference": {`{"properties":{"card":{"writeOnly":true,"$ref":"#/$defs/card"}},"$defs":{"card":{"required":["pin"]}}}`,
			`{"card":` + held + `}`, "/card: must satisfy its schema"},
		"a dynamic reference": {`{"properties":{"card":{"$dynamicRef":"#card"}},"$defs":{"card":{"$dynamicAnchor":"card","writeOnly":true,"required":["pin"]}}}`,
			`{"card":` + held + `}`, "/card: must satisfy its schema"},
		"allOf":            {`{"allOf":[{"properties":{"card":` + secret + `}}]}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"the whole value":  {secret, held, "it must satisfy its schema"},
		"a list of itself": {`{"properties":{"card":{"items":{"$ref":"#/properties/card"},"anyOf":[` + secret + `]}}}`, `{"card":[[` + held + `]]}`, "/card: must satisfy its schema"},
		// The branch that marks the member need not be the one that fails, nor apply.
		"anyOf, another branch":        {`{"properties":{"card":{"type":"string"}},"anyOf":[{"properties":{"card":` + secret + `}},true]}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"oneOf, another branch":        {`{"properties":{"card":{"type":"string"}},"oneOf":[{"properties":{"card":` + secret + `}},true]}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"not":                          {`{"properties":{"card":{"type":"string"}},"not":{"required":["x"],"properties":{"card":` + secret + `}}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"if":                           {`{"properties":{"card":{"type":"string"}},"if":{"properties":{"card":` + secret + `}}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"then, not taken":              {`{"properties":{"card":{"type":"string"}},"if":{"required":["x"]},"then":{"properties":{"card":` + secret + `}}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"else, not taken":              {`{"properties":{"card":{"type":"string"}},"if":{"required":["card"]},"else":{"properties":{"card":` + secret + `}}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"dependentSchemas":             {`{"properties":{"card":{"type":"string"}},"dependentSchemas":{"x":{"properties":{"card":` + secret + `}}}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"contains":                     {`{"items":{"type":"string"},"contains":` + secret + `,"minContains":0}`, `[` + held + `]`, "/0: must satisfy its schema"},
		"patternProperties beside":     {`{"properties":{"card":{"type":"string"}},"patternProperties":{"^c":{"writeOnly":true}}}`, `{"card":` + held + `}`, "/card: must satisfy its schema"},
		"an object and an index":       {`{"properties":{"0":{"writeOnly":true}},"prefixItems":[{"type":"string"}]}`, `[` + held + `]`, "/0: must satisfy its schema"},
		"names that are secret":        {`{"propertyNames":{"writeOnly":true,"maxLength":3}}`, `{"CANARY4711":1}`, "it has a member whose name is not allowed"},
		"unknown names that are":       {`{"propertyNames":{"writeOnly":true},"additionalProperties":false}`, `{"CANARY4711":1}`, "it has a member that is not allowed"},
		"values under secret names":    {`{"propertyNames":{"writeOnly":true},"additionalProperties":{"type":"null"}}`, `{"CANARY4711":1}`, "it must satisfy its schema"},
		"equal secrets":                {`{"uniqueItems":true,"items":{"writeOnly":true}}`, `["CANARY4711","CANARY4711"]`, "it must not have equal items"},
		"what alternatives say":        {`{"anyOf":[{"type":"null"},{"properties":{"card":` + secret + `}}]}`, `{"card":` + held + `}`, "it must satisfy at least one of 2 alternatives (1: must be null; 2: /card must satisfy its schema)"},
		"what an alternative marks":    {`{"anyOf":[{"type":"null"},` + secret + `]}`, held, "it must satisfy its schema"},
		"the number of failures there": {`{"properties":{"card":{"writeOnly":true,"items":{"type":"null"}}},"required":["x"]}`, `{"card":["CANARY4711",4711,4711]}`, `it must have the member "x" (and 1 more)`},
		"a place beside a secret":      {`{"properties":{"card":` + secret + `,"a":{"type":"null"}}}`, `{"a":1,"card":` + held + `}`, "/a: must be null (and 1 more)"},
	} {
		s := compiled(t, tc.schema)
		for range 5 {
			err := s.Validate([]byte(tc.doc))
			if err == nil || err.Error() != tc.want || strings.Contains(err.Error(), canary) {
				t.Errorf("%s:\n got %v\nwant %s", name, err, tc.want)
				break
			}
		}
	}
}
