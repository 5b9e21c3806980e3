package tools_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/tools"
)

// patience is far more than a check takes on a busy machine under the race detector, and
// far less than it would take without its budget.
const patience = 5 * time.Minute

func nested(open, middle, shut string, depth int) string {
	return strings.Repeat(open, depth) + middle + strings.Repeat(shut, depth)
}

func list(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }

func TestACheckOfAHostileDocumentIsGivenUp(t *testing.T) {
	t.Parallel()
	const twice = `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["x"]},{"properties":{"a":{"$ref":"#"}},"required":["y"]}]}`
	doubling := `{"$defs":{"d0":{"type":"string"}`
	for i := range 40 {
		doubling += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	doubling += `},`
	for name, tc := range map[string]struct{ schema, doc string }{
		"every level in two ways":                {twice, nested(`{"a":`, `1`, `}`, 120)},
		"every level in two ways, and negated":   {`{"not":{"$ref":"#/$defs/n"},"$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"}},"patternProperties":{"a":{"$ref":"#/$defs/n"}},"type":"object"}}}`, nested(`{"a":`, `1`, `}`, 120)},
		"a schema that doubles":                  {doubling + `"$ref":"#/$defs/d40"}`, `"a"`},
		"names in two ways":                      {doubling + `"propertyNames":{"$ref":"#/$defs/d40"}}`, `{"a":1}`},
		"many values that fail far down":         {`{"items":{"$ref":"#"},"minItems":5,"type":"array"}`, nested(`[`, list(`[]`, 340_000), `]`, 120)},
		"many numbers written out":               {`{"items":{"multipleOf":7}}`, list(`1e6144`, 140_000)},
		"many numbers near nothing":              {`{"items":{"type":"integer"}}`, list(`1e-6144`, 120_000)},
		"a long list of values for each item":    {`{"items":{"enum":` + list(`1e6144`, 30_000) + `}}`, list(`1`, 500_000)},
		"a long text through a large expression": {`{"pattern":"(?:.{1,50}x){1,19}$"}`, `"` + strings.Repeat("a", 1_000_000) + `"`},
		"long names through a large expression":  {`{"patternProperties":{"(?:.{1,50}x){1,19}$":true}}`, `{"` + strings.Repeat("a", 1_000_000) + `":1}`},
		"names that many requirements miss":      {`{"items":{"required":` + list(`"a"`, 1)[:1] + numbered(20_000) + `]}}`, list(`{}`, 300_000)},
		"unique at every level, in two ways":     {`{"uniqueItems":true,"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, nested(`[`, list(`"aaaaaaaaaaaaaaaaaaaaaaaa"`, 30_000), `]`, 100)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, doc := compiled(t, tc.schema), []byte(tc.doc)
			if len(doc) > intent.MaxPayload {
				t.Fatalf("the document has %d bytes", len(doc))
			}
			started := time.Now()
			err := s.Validate(doc)
			if took := time.Since(started); took > patience {
				t.Errorf("it took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "cannot be checked against its schema") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestASchemaIsWholeAfterACheckThatWasGivenUp(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["x"]},{"properties":{"a":{"$ref":"#"}}}]}`)
	for range 2 {
		if err := s.Validate([]byte(nested(`{"a":`, `1`, `}`, 100))); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("%v", err)
		}
		if err := s.Validate([]byte(`{"a":{}}`)); err != nil {
			t.Errorf("%v", err)
		}
	}
}

func numbered(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"n%d"`, i)
	}
	return strings.Join(names, ",")
}

// trees returns arrays of empty arrays with n brackets, all different, at most limit of them.
func trees(n, limit int) []string {
	if n == 0 {
		return []string{""}
	}
	var all []string
	for inside := range n {
		for _, first := range trees(inside, limit) {
			for _, rest := range trees(n-1-inside, limit) {
				if all = append(all, "["+strings.TrimSuffix(first, ",")+"],"+rest); len(all) == limit {
					return all
				}
			}
		}
	}
	return all
}

func TestALargeDocumentThatIsGoodIsTaken(t *testing.T) {
	t.Parallel()
	var alike []string
	for _, tree := range trees(11, 20_000) {
		alike = append(alike, "["+strings.TrimSuffix(tree, ",")+"]")
	}
	for name, tc := range map[string]struct{ schema, doc string }{
		"many items":        {`{"items":{"type":"integer"}}`, list(`1`, 200_000)},
		"many records":      {`{"items":{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[a-z]+$"},"b":{"minimum":1}},"additionalProperties":false}}`, list(`{"a":"abc","b":12}`, 20_000)},
		"a long text":       {`{"pattern":"^[A-Za-z0-9+/]*=?=?$","maxLength":2000000}`, `"` + strings.Repeat("QUJD", 60_000) + `"`},
		"a deep tree":       {`{"type":"object","properties":{"a":{"$ref":"#"}}}`, nested(`{"a":`, `{}`, `}`, 120)},
		"many unique items": {`{"uniqueItems":true}`, "[" + numbered(30_000) + "]"},
		// The library's own hash takes all of these for one.
		"many unique items that look alike": {`{"uniqueItems":true}`, "[" + strings.Join(alike, ",") + "]"},
		"a union that recurs, a few levels": {`{"anyOf":[{"properties":{"and":{"items":{"$ref":"#"}}},"required":["and"]},{"properties":{"and":{"items":{"$ref":"#"}},"or":{"items":{"$ref":"#"}}}},{"type":"boolean"}]}`, nested(`{"and":[`, `true`, `]}`, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compiled(t, tc.schema)
			started := time.Now()
			if err := s.Validate([]byte(tc.doc)); err != nil {
				t.Errorf("%v", err)
			}
			if took := time.Since(started); took > patience {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func BenchmarkACaptureIsChecked(b *testing.B) {
	s, err := tools.CompileSchema([]byte(`{"type":"object","required":["payment_id","amount","currency"],"additionalProperties":false,
		"properties":{"payment_id":{"type":"string","pattern":"^[a-z0-9_]+$"},"amount":{"type":"string","pattern":"^[0-9.]+$"},"currency":{"enum":["EUR","USD"]}}}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Validate([]byte(`{"amount":"12.90","currency":"EUR","payment_id":"pay_1"}`)); err != nil {
			b.Fatal(err)
		}
	}
}
