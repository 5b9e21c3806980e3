package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestAViolationSaysWhereAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ schema, doc, want string }{
		{`{"properties":{"amount":{"pattern":"^[0-9]+$"}}}`, `{"amount":"x"}`, `/amount: must match ^[0-9]+$`},
		{`{"properties":{"amount":{"pattern":"^[0-9]+$","description":"digits"}}}`, `{"amount":"x"}`, `/amount: must match ^[0-9]+$ (digits)`},
		{`{"type":"object"}`, `[1]`, `it must be an object`},
		{`{"items":{"type":["null","integer","string"]}}`, `[1,"a",2.5]`, `/2: must be null or an integer or a string`},
		{`{"const":{"a":1}}`, `2`, `it must be {"a":1}`},
		{`{"enum":["EUR",1,null]}`, `"DM"`, `it must be one of "EUR", 1, null`},
		{`{"enum":[1,2,3,4,5,6,7,8,9,10]}`, `0`, `it must be one of 1, 2, 3, 4, 5, 6, 7, 8 and 2 more`},
		{`{"required":["a","b"]}`, `{"b":1}`, `it must have the member "a"`},
		{`{"required":["a","b"]}`, `{}`, `it must have the members "a", "b"`},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"B":1}`, `it must not have the member "B"; it may have "a"`},
		{`{"additionalProperties":false}`, `{"b":1,"a":2}`, `it must not have the members "a", "b"`},
		{`{"properties":{"a":true},"patternProperties":{"^x":true},"additionalProperties":false}`, `{"b":1}`, `it must not have the member "b"`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `/a: must be left out`},
		{`{"unevaluatedProperties":false}`, `{"a":1}`, `/a: must be left out`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `it must have the member "b", because it has "a"`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, `it must have the member "b"`},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `it must not have a member with the name "abc"`},
		{`{"properties":{"o":{"propertyNames":{"maxLength":2}},"p":true}}`, `{"o":{"abc":1},"p":2}`, `/o: must not have a member with the name "abc"`},
		{`{"minProperties":2}`, `{"a":1}`, `it must have at least 2 members`},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, `it must have at most 1 member`},
		{`{"minItems":1}`, `[]`, `it must have at least 1 item`},
		{`{"maxItems":0}`, `[1]`, `it must have at most 0 items`},
		{`{"uniqueItems":true}`, `[3,1,3]`, `it must not have equal items, as 0 and 2 are`},
		{`{"contains":{"const":1}}`, `[2]`, `it must have an item as "contains" says`},
		{`{"contains":{"const":1},"minContains":2}`, `[1]`, `it must have at least 2 items as "contains" says`},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, `it must have at most 1 item as "contains" says`},
		{`{"minLength":1}`, `""`, `it must have at least 1 character`},
		{`{"maxLength":2}`, `"äöü"`, `it must have at most 2 characters`},
		{`{"minimum":0.1}`, `0`, `it must be at least 0.1`},
		{`{"maximum":9007199254740993}`, `9007199254740994`, `it must be at most 9007199254740993`},
		{`{"exclusiveMinimum":0}`, `0`, `it must be more than 0`},
		{`{"exclusiveMaximum":-1.50}`, `0`, `it must be less than -1.5`},
		{`{"multipleOf":0.01}`, `0.001`, `it must be a multiple of 0.01`},
		{`{"not":{"required":["a"]},"description":"no a"}`, `{"a":1}`, `it must not be what its schema excludes (no a)`},
		{`{"anyOf":[{"type":"string"},{"properties":{"b":{"type":"object","required":["c"]}}}]}`, `{"b":{}}`,
			`it must satisfy at least one of 2 alternatives (1: must be a string; 2: /b must have the member "c")`},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `1`, `it must satisfy exactly one of 2 alternatives (1: must be a string; 2: must be null)`},
		{`{"oneOf":[{"type":"null"},{"minimum":1},{"minimum":2}]}`, `3`, `it must satisfy exactly one alternative, and satisfies more`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, `it must have the member "b"`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, `it must have the member "c"`},
		{`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"allOf":[{"type":"string"}]}}}`, `{"a":1}`, `/a: must be a string`},
		// The first in the order of names and indexes, and the number of the others.
		{`{"items":{"type":"string"}}`, `["a","b",1,"d","e","f","g","h","i","j",2]`, `/2: must be a string (and 1 more)`},
		{`{"properties":{"b":{"type":"string"},"a":{"minimum":2,"multipleOf":2}},"required":["z"]}`, `{"b":1,"a":1}`, `it must have the member "z" (and 3 more)`},
		// Names are the caller's own words.
		{`{"additionalProperties":{"type":"string"}}`, `{"a/b~c":1}`, `/a~1b~0c: must be a string`},
		{`{"additionalProperties":{"type":"string"}}`, `{"a b":1}`, `"/a b": must be a string`},
		{`{"additionalProperties":{"type":"string"}}`, `{"\u001b[2J\n":1}`, `"/\x1b[2J\n": must be a string`},
		{`{"additionalProperties":{"type":"string"}}`, `{"` + strings.Repeat("n", 100) + `":1}`, `/` + strings.Repeat("n", 61) + `…: must be a string`},
	} {
		s := compiled(t, tc.schema)
		for range 10 { // the library finds failures in the order of a map
			if err := s.Validate([]byte(tc.doc)); err == nil || err.Error() != tc.want {
				t.Errorf("%s of %s:\n got %v\nwant %s", tc.schema, tc.doc, err, tc.want)
				break
			}
		}
	}
}

func TestAViolationIsShortWhateverFails(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u0001", 100)
	var names, alternatives []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("%d%s", i, long))
		alternatives = append(alternatives, fmt.Sprintf(`{"properties":{"a":{"required":[%q]}}}`, strings.Repeat("x", 500)))
	}
	required, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]int{}
	for _, name := range names {
		members[name] = 1
	}
	unknown, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"`+strings.Repeat("n", 5000)+`":`, 100) + "1" + strings.Repeat("}", 100)
	for _, tc := range []struct{ schema, doc string }{
		{`{"required":` + string(required) + `}`, `{}`},
		{`{"enum":` + string(required) + `}`, `{}`},
		{`{"const":` + string(required) + `}`, `{}`},
		{`{"additionalProperties":false}`, string(unknown)},
		{`{"anyOf":[` + strings.Join(alternatives, ",") + `]}`, `{"a":{}}`},
		{`{"additionalProperties":{"$ref":"#"},"type":"object"}`, deep},
		{`{"pattern":"` + strings.Repeat("a", 1000) + `","description":"` + strings.Repeat("d", 5000) + `"}`, `""`},
		{`{"minimum":1e6144}`, `1`},
	} {
		err := compiled(t, tc.schema).Validate([]byte(tc.doc))
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.60s: %d bytes: %v", tc.schema, len(err.Error()), err)
		}
	}
}

// canary stands in every place of a document that a message must not repeat.
const canary = "CANARY4711"

func TestNoValueIsRepeatedByAnyKeyword(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ schema, doc string }{
		{`{"type":"object"}`, `"CANARY4711"`},
		{`{"const":1}`, `"CANARY4711"`},
		{`{"const":{"a":1}}`, `{"a":"CANARY4711"}`},
		{`{"enum":[1,"a"]}`, `"CANARY4711"`},
		{`{"enum":[["a"]]}`, `["CANARY4711"]`},
		{`{"pattern":"^[a-z]+$"}`, `"CANARY4711"`},
		{`{"minLength":100}`, `"CANARY4711"`},
		{`{"maxLength":1}`, `"CANARY4711"`},
		{`{"minimum":100000}`, `4711`},
		{`{"maximum":1}`, `4711`},
		{`{"exclusiveMinimum":4712}`, `4711`},
		{`{"exclusiveMaximum":1}`, `4711`},
		{`{"multipleOf":2}`, `4711`},
		{`{"not":{"type":"string"}}`, `"CANARY4711"`},
		{`false`, `"CANARY4711"`},
		{`{"anyOf":[{"type":"null"},{"minLength":100}]}`, `"CANARY4711"`},
		{`{"oneOf":[{"type":"null"},{"pattern":"x"}]}`, `"CANARY4711"`},
		{`{"oneOf":[{"type":"string"},{"minLength":1}]}`, `"CANARY4711"`},
		{`{"allOf":[{"type":"null"},{"minLength":100}]}`, `"CANARY4711"`},
		{`{"if":{"type":"string"},"then":{"maxLength":1}}`, `"CANARY4711"`},
		{`{"uniqueItems":true}`, `["CANARY4711","CANARY4711"]`},
		{`{"contains":{"const":"x"}}`, `["CANARY4711"]`},
		{`{"contains":{"type":"string"},"maxContains":0,"minContains":0}`, `["CANARY4711"]`},
		{`{"maxItems":0,"items":{"type":"null"}}`, `["CANARY4711"]`},
		{`{"required":["a"],"maxProperties":0,"additionalProperties":false}`, `{"b":"CANARY4711"}`},
		{`{"propertyNames":{"const":"a"}}`, `{"b":"CANARY4711"}`},
		{`{"dependentRequired":{"b":["a"]}}`, `{"b":"CANARY4711"}`},
		{`{"unevaluatedProperties":{"type":"null"}}`, `{"b":"CANARY4711"}`},
		{`{"unevaluatedItems":{"type":"null"}}`, `["CANARY4711"]`},
		{`{"prefixItems":[{"type":"null"}]}`, `["CANARY4711"]`},
		{`{"patternProperties":{"b":{"format":"email","type":"null"}}}`, `{"b":"CANARY4711"}`},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"type":"null"}}}`, `"CANARY4711"`},
	} {
		err := compiled(t, tc.schema).Validate([]byte(tc.doc))
		if err == nil || strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", tc.schema, err)
		}
	}
}
