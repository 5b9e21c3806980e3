package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"writ/intent"
	"writ/tools"
)

func compiled(t testing.TB, schema string) *tools.Schema {
	t.Helper()
	s, err := tools.CompileSchema(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

func TestASchemaThatCannotBeHeldIsRefusedAtRegistration(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ schema, says string }{
		"no JSON":                             {`{"type":`, "invalid_json"},
		"a member twice":                      {`{"type":"object","type":"string"}`, "duplicate_member"},
		"too deep":                            {strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200), "too_deep"},
		"null":                                {`null`, "must be an object, true or false"},
		"a string":                            {`"object"`, "must be an object, true or false"},
		"an empty text":                       {` `, "invalid_json"},
		"too large":                           {`{"description":"` + strings.Repeat("x", tools.MaxSchema) + `"}`, "262144 are allowed"},
		"too many subschemas":                 {`{"allOf":[` + strings.Repeat(`true,`, 5000) + `true]}`, "5000 are allowed"},
		"an unknown type":                     {`{"properties":{"amount":{"type":"decimal"}}}`, "/properties/amount/type"},
		"a keyword of the wrong type":         {`{"required":"amount"}`, "/required: must be an array"},
		"items as a list":                     {`{"items":[{"type":"string"}]}`, "/items"},
		"another draft":                       {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, "$schema must be"},
		"a dialect of one's own":              {`{"$schema":"https://json-schema.org/draft/2020-12/meta/core","type":"object"}`, "$schema must be"},
		"another draft inside":                {`{"$defs":{"a":{"$id":"urn:a","$schema":"https://json-schema.org/draft/2019-09/schema"}},"$ref":"urn:a"}`, "$schema must be"},
		"a remote reference":                  {`{"$ref":"https://example.com/order.json"}`, "outside of itself"},
		"a relative reference":                {`{"properties":{"a":{"$ref":"order.json#/a"}}}`, "outside of itself"},
		"a file":                              {`{"$ref":"file:///etc/passwd"}`, "outside of itself"},
		"a file under an id":                  {`{"$id":"file:///etc/order","$ref":"passwd"}`, "outside of itself"},
		"the metaschema":                      {`{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, "outside of itself"},
		"a dynamic reference that leaves":     {`{"$dynamicRef":"https://example.com/order.json#node"}`, "outside of itself"},
		"a reference to nothing":              {`{"$ref":"#/$defs/order"}`, "not found"},
		"an anchor that is not there":         {`{"$ref":"#order"}`, "not found"},
		"itself":                              {`{"$ref":"#"}`, "without end"},
		"itself in allOf":                     {`{"allOf":[{"$ref":"#"}]}`, "without end"},
		"itself in not":                       {`{"type":"object","not":{"$ref":"#"}}`, "without end"},
		"itself in then":                      {`{"if":true,"then":{"$ref":"#"}}`, "without end"},
		"itself in dependentSchemas":          {`{"dependentSchemas":{"a":{"anyOf":[{"$ref":"#"}]}}}`, "without end"},
		"a circle":                            {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"oneOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, "without end"},
		"itself by a dynamic anchor":          {`{"$dynamicAnchor":"node","allOf":[{"$dynamicRef":"#node"}]}`, "without end"},
		"a keyword of 2019-09":                {`{"properties":{"a":{"$recursiveRef":"#"}}}`, "$dynamicRef"},
		"a keyword of draft 7":                {`{"dependencies":{"a":["b"]}}`, "dependentRequired"},
		"many expressions":                    {`{"properties":{` + manyPatterns(30) + `}}`, "20000 instructions together"},
		"a count beyond an int":               {`{"maxLength":18446744073709551616}`, "maxLength 18446744073709551616"},
		"a count with a fraction":             {`{"minItems":1.5}`, "minItems 1.5"},
		"a long expression":                   {`{"pattern":"` + strings.Repeat("a", 1001) + `"}`, "1000 are allowed"},
		"a long expression for names":         {`{"patternProperties":{"` + strings.Repeat("a", 1001) + `":true}}`, "1000 are allowed"},
		"a short expression with a long run":  {`{"pattern":"(` + strings.Repeat("[a-z]x", 10) + `){1000}"}`, "instructions"},
		"an expression that is none":          {`{"pattern":"("}`, "pattern"},
		"look-ahead, which RE2 does not have": {`{"pattern":"^(?=.*[0-9]).*$"}`, "pattern"},
		"a back-reference":                    {`{"pattern":"(a)\\1"}`, "pattern"},
	} {
		_, err := tools.CompileSchema(json.RawMessage(tc.schema))
		if intent.CodeOf(err) != intent.CodeInvalidSpec || !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 1200 {
			t.Errorf("%s: %v, want invalid_tool_spec that says %q", name, err, tc.says)
		}
		for field, spec := range map[string]tools.Spec{
			"InputSchema":  {Name: "payments.capture", InputSchema: json.RawMessage(tc.schema)},
			"OutputSchema": {Name: "payments.capture", OutputSchema: json.RawMessage(tc.schema)},
		} {
			_, err := tools.NewRegistry(tools.New(spec, nothing))
			if intent.CodeOf(err) != intent.CodeInvalidSpec || !strings.Contains(err.Error(), `"payments.capture": `+field+" ") {
				t.Errorf("%s as %s: %v", name, field, err)
			}
		}
	}
}

func TestASchemaWithinTheRulesIsTaken(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"anything":                    `true`,
		"nothing":                     `false`,
		"empty":                       `{}`,
		"the draft by name":           `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"recursion through a member":  `{"properties":{"child":{"$ref":"#"}}}`,
		"recursion through an item":   `{"$anchor":"tree","items":{"$ref":"#tree"}}`,
		"dynamic recursion":           `{"$dynamicAnchor":"node","properties":{"child":{"$dynamicRef":"#node"}}}`,
		"an id and a reference to it": `{"$id":"https://example.com/order","properties":{"a":{"$ref":"https://example.com/order#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`,
		"a resource inside":           `{"$defs":{"a":{"$id":"https://example.com/a","type":"string"}},"properties":{"a":{"$ref":"https://example.com/a"}}}`,
		"an expression of full size":  `{"pattern":"` + strings.Repeat("a", 1000) + `"}`,
		"a member called $schema":     `{"properties":{"$schema":{"type":"string"},"dependencies":{"type":"array"}}}`,
	} {
		if _, err := tools.CompileSchema(json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoSchemaTakesEverythingAndWantsNothing(t *testing.T) {
	t.Parallel()
	for _, raw := range []json.RawMessage{nil, {}} {
		s, err := tools.CompileSchema(raw)
		if s != nil || err != nil {
			t.Errorf("%v, %v", s, err)
		}
		if s.Validate([]byte(`no JSON at all`)) != nil || s.WantsObject() {
			t.Error("no schema wants something")
		}
	}
}

func TestNumbersAreComparedExactly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		schema, doc string
		good        bool
	}{
		{`{"maximum":9007199254740992}`, `9007199254740992`, true},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false}, // equal as doubles
		{`{"const":9007199254740993}`, `9007199254740992`, false},
		{`{"const":1}`, `1.0`, true},
		{`{"enum":[1e2]}`, `100`, true},
		{`{"type":"integer"}`, `1e3`, true},
		{`{"type":"integer"}`, `1.0000000000000000000001`, false},
		{`{"multipleOf":0.01}`, `0.29`, true}, // 0.29 / 0.01 is no integer as doubles
		{`{"multipleOf":0.01}`, `0.295`, false},
		{`{"multipleOf":1e-6144}`, `1e6144`, true},
		{`{"multipleOf":7}`, `1e6144`, false},
		{`{"exclusiveMinimum":0}`, `1e-6144`, true},
		{`{"minimum":1e6144}`, `9.99e6143`, false},
		{`{"uniqueItems":true}`, `[1,1.0]`, false},
		{`{"uniqueItems":true}`, `[9007199254740992,9007199254740993]`, true},
	} {
		if err := compiled(t, tc.schema).Validate([]byte(tc.doc)); (err == nil) != tc.good {
			t.Errorf("%s of %s: %v", tc.schema, tc.doc, err)
		}
	}
}

func TestItemsAreEqualByValueAndNamesAreChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		schema, doc string
		good        bool
	}{
		{`{"uniqueItems":true}`, `[{"a":1,"b":[2]},{"b":[2],"a":1}]`, false},
		{`{"uniqueItems":true}`, `[[[],[]],[[[]]],[]]`, true},
		{`{"uniqueItems":true}`, `["1",1,true,null,"true","null"]`, true},
		{`{"uniqueItems":true}`, `["<",">","<"]`, false},
		{`{"uniqueItems":false}`, `[1,1]`, true},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,1],"b":[1,1]}`, false},
		{`{"not":{"uniqueItems":true}}`, `[1,1]`, true},
		{`{"not":{"uniqueItems":true}}`, `[1,2]`, false},
		{`{"propertyNames":{"maxLength":2}}`, `{"ab":1}`, true},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, false},
		{`{"propertyNames":{"$ref":"#/$defs/n"},"$defs":{"n":{"pattern":"^x"}}}`, `{"x":{"y":1}}`, true},
		{`{"not":{"propertyNames":{"pattern":"^x"}}}`, `{"y":1}`, true},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`, `{"a":1}`, true},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`, `{"b":1}`, false},
		{`{"unevaluatedItems":false,"prefixItems":[true],"contains":{"const":2}}`, `[1,2,2]`, true},
		{`{"unevaluatedItems":false,"prefixItems":[true],"contains":{"const":2}}`, `[1,2,3]`, false},
		{`{"$dynamicAnchor":"node","type":"object","properties":{"child":{"$dynamicRef":"#node"}}}`, `{"child":{"child":1}}`, false},
		// Annotations are not checked.
		{`{"format":"email"}`, `"nobody"`, true},
		{`{"contentEncoding":"base64","contentMediaType":"application/json","contentSchema":{"type":"object"}}`, `"%%%"`, true},
	} {
		if err := compiled(t, tc.schema).Validate([]byte(tc.doc)); (err == nil) != tc.good {
			t.Errorf("%s of %s: %v", tc.schema, tc.doc, err)
		}
	}
}

func TestOnlyADocumentThatIsOneValueIsChecked(t *testing.T) {
	t.Parallel()
	for doc, code := range map[string]intent.Code{
		`{"a":1,"a":2}`: intent.CodeDuplicateMember,
		`{}{}`:          intent.CodeTrailingData,
		``:              intent.CodeInvalidJSON,
		`NaN`:           intent.CodeInvalidJSON,
		strings.Repeat("[", 129) + strings.Repeat("]", 129): intent.CodeTooDeep,
	} {
		if err := compiled(t, `true`).Validate([]byte(doc)); intent.CodeOf(err) != code {
			t.Errorf("%.20s: %v, want %s", doc, err, code)
		}
	}
}

func TestASchemaKnowsWhetherItWantsAnObject(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object"}`:                                    true,
		`{"type":["object","null"]}`:                           true,
		`{"type":["object","string"]}`:                         false,
		`{"type":"string"}`:                                    false,
		`{"type":"array"}`:                                     false,
		`{"properties":{"a":true}}`:                            false,
		`{"$ref":"#/$defs/o","$defs":{"o":{"type":"object"}}}`: true,
		`{"allOf":[{"required":["a"]},{"type":"object"}]}`:     true,
		`{"anyOf":[{"type":"object"},{"type":"object"}]}`:      false,
		`{"properties":{"a":{"$ref":"#"}},"type":"object"}`:    true,
		`true`: false,
		`{"type":["object","string"],"allOf":[{"type":"object"}]}`: true,
	} {
		if got := compiled(t, schema).WantsObject(); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

func TestTheSchemaIsAskedBeforeTheTool(t *testing.T) {
	t.Parallel()
	asked := 0
	tool := validating{answer: func() error { asked++; return nil }}
	of := tools.Registered{Tool: tool, Spec: tool.Spec(), Input: compiled(t, `{"required":["amount"]}`)}
	err := tools.Validate(of, []byte(`{}`))
	var e *intent.Error
	if !errors.As(err, &e) || e.Code != intent.CodeInputSchema || e.Effect != intent.NotApplied || e.TryAgain || asked != 0 {
		t.Errorf("%+v, the tool was asked %d times", err, asked)
	}
	if want := `validating does not take this payload: it must have the member "amount"`; e.Message != want {
		t.Errorf("%s", e.Message)
	}
	if err := tools.Validate(of, []byte(`{"amount":"1"}`)); err != nil || asked != 1 {
		t.Errorf("%v, the tool was asked %d times", err, asked)
	}
}

func TestSchemasArePartOfTheBehaviourAndNothingElseOfItChanges(t *testing.T) {
	t.Parallel()
	without := tools.Spec{Name: "echo"}
	// Pinned: a tool that says nothing of its payload is the tool that it was before there
	// were schemas, and intents that were authorized under it go on.
	if got := without.Digest().String(); got != "dca1ed8bc368df47ab251041651334e94977cbfd15e0276171a1df3b58610651" {
		t.Errorf("the digest of a spec without schemas is %s", got)
	}
	input, output := without, without
	input.InputSchema, output.OutputSchema = json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"object"}`)
	if input.Digest() == without.Digest() || output.Digest() == without.Digest() || input.Digest() == output.Digest() {
		t.Error("a schema is not part of the behaviour")
	}
	spelt := without
	spelt.InputSchema = json.RawMessage("{ \"type\" : \"\\u006fbject\" }\n")
	if spelt.Digest() != input.Digest() {
		t.Error("another spelling of a schema is another behaviour")
	}
	shown, err := json.Marshal(spelt.Publish().Behaviour.InputSchema)
	if err != nil || string(shown) != `{"type":"object"}` {
		t.Errorf("published as %s, %v", shown, err)
	}
}

func TestARegisteredSchemaDoesNotChangeWithTheCallersBytes(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"type":"object"}`)
	registry, err := tools.NewRegistry(tools.New(tools.Spec{Name: "echo", InputSchema: raw}, nothing))
	if err != nil {
		t.Fatal(err)
	}
	copy(raw, `{"type":"string"}`)
	tool, _ := registry.Lookup("echo")
	if string(tool.Spec.InputSchema) != `{"type":"object"}` || tool.Digest != tool.Spec.Digest() || !tool.Input.WantsObject() {
		t.Errorf("%s", tool.Spec.InputSchema)
	}
}

func TestASchemaIsUsedByManyAtOnce(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"type":"object","properties":{"n":{"type":"integer","minimum":5}},"propertyNames":{"maxLength":3}}`)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 50 {
				err := s.Validate(fmt.Appendf(nil, `{"n":%d}`, i))
				if (err == nil) != (i >= 5) {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
}

// A worker refuses a payload by the input schema before anything is written. A server that
// does not have the tool's code does the same with the published spec.
func ExampleCompileSchema() {
	refund := tools.New(tools.Spec{
		Name:          "payments.refund",
		SideEffectful: true,
		Idempotent:    true,
		InputSchema: json.RawMessage(`{
			"type": "object",
			"required": ["payment_id", "amount"],
			"properties": {
				"payment_id": {"type": "string", "pattern": "^pay_[0-9]+$"},
				"amount":     {"type": "string", "pattern": "^[0-9]+[.][0-9]{2}$", "description": "such as 129.90"},
				"card":       {"type": "object", "writeOnly": true, "required": ["number"]}
			},
			"additionalProperties": false
		}`),
		OutputSchema: json.RawMessage(`{"type": "object", "required": ["id"]}`),
	}, func(context.Context, tools.Invocation) (tools.Result, error) {
		return tools.JSON(map[string]string{"id": "re_1"})
	})

	registry, err := tools.NewRegistry(refund)
	if err != nil {
		fmt.Println(err)
		return
	}
	registered, _ := registry.Lookup("payments.refund")
	fmt.Println(tools.Validate(registered, []byte(`{"payment_id":"pay_7","amount":"12,90"}`)))

	schema, err := tools.CompileSchema(registered.Spec.Publish().Behaviour.InputSchema)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Validate([]byte(`{"payment_id":"pay_7","amount":"12.90","card":{"numbre":"4111111111111111"}}`)))
	fmt.Println(schema.Validate([]byte(`{"payment_id":"pay_7","amount":"12.90"}`)))
	// Output:
	// input_schema_violation: payments.refund does not take this payload: /amount: must match ^[0-9]+[.][0-9]{2}$ (such as 129.90)
	// /card: must satisfy its schema
	// <nil>
}

// manyPatterns is the members of an object of that many members with a costly pattern each.
func manyPatterns(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"a%d":{"pattern":"x{1000}"}`, i)
	}
	return strings.Join(members, ",")
}
