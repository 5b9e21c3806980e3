package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestWhatASchemaMarksWriteOnlyIsMaskedAndItsPlaceIsNamed(t *testing.T) {
	t.Parallel()
	const secret = "CANARY4711"
	for name, c := range map[string]struct{ schema, doc, want, masked string }{
		"nothing is marked":    {`{"properties":{"card":{"type":"string"}}}`, `{"card":"4111"}`, `{"card":"4111"}`, ""},
		"a member":             {`{"properties":{"card":{"writeOnly":true}}}`, `{"amount":1.50,"card":"` + secret + `"}`, `{"amount":1.5,"card":"***"}`, "/card"},
		"an object":            {`{"properties":{"card":{"writeOnly":true}}}`, `{"card":{"pin":["` + secret + `"]}}`, `{"card":"***"}`, "/card"},
		"items":                {`{"properties":{"to":{"items":{"properties":{"iban":{"writeOnly":true}}}}}}`, `{"to":[{"iban":"` + secret + `","n":1},{"n":2}]}`, `{"to":[{"iban":"***","n":1},{"n":2}]}`, "/to/0/iban"},
		"one of two items":     {`{"prefixItems":[true,{"writeOnly":true}]}`, `["a","` + secret + `"]`, `["a","***"]`, "/1"},
		"by reference":         {`{"properties":{"card":{"$ref":"#/$defs/hidden"}},"$defs":{"hidden":{"writeOnly":true}}}`, `{"card":"` + secret + `"}`, `{"card":"***"}`, "/card"},
		"a branch not taken":   {`{"oneOf":[{"properties":{"card":{"writeOnly":true,"type":"integer"}}},{"properties":{"card":{"type":"string"}}}]}`, `{"card":"` + secret + `"}`, `{"card":"***"}`, "/card"},
		"a pattern":            {`{"patternProperties":{"^secret":{"writeOnly":true}}}`, `{"secret/1":"` + secret + `"}`, `{"secret/1":"***"}`, "/secret~11"},
		"whatever is unknown":  {`{"properties":{"a":true},"additionalProperties":{"writeOnly":true}}`, `{"a":1,"b":"` + secret + `"}`, `{"a":"***","b":"***"}`, "/a /b"}, // rather too much
		"the whole":            {`{"writeOnly":true}`, `{"card":"` + secret + `"}`, `"***"`, ""},
		"names":                {`{"properties":{"tokens":{"propertyNames":{"writeOnly":true}}}}`, `{"tokens":{"` + secret + `":1}}`, `{"tokens":"***"}`, "/tokens"},
		"a number of many":     {`{"properties":{"n":true,"card":{"writeOnly":true}}}`, `{"card":1,"n":9007199254740993}`, `{"card":"***","n":9007199254740993}`, "/card"},
		"characters of markup": {`{"properties":{"card":{"writeOnly":true}}}`, `{"card":1,"t":"<b>&\u2028"}`, "{\"card\":\"***\",\"t\":\"<b>&\u2028\"}", "/card"},
	} {
		s, err := CompileSchema(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		shown, masked, err := s.Mask([]byte(c.doc))
		if err != nil || string(shown) != c.want || strings.Join(masked, " ") != c.masked || (len(masked) > 0) != strings.Contains(c.want, Masked) {
			t.Errorf("%s: %s at %v, %v; want %s at %s", name, shown, masked, err, c.want, c.masked)
		}
		if strings.Contains(fmt.Sprint(string(shown), masked), secret) {
			t.Errorf("%s: the secret is shown: %s %v", name, shown, masked)
		}
	}
	var none *Schema
	if shown, masked, err := none.Mask([]byte(`{"card":1}`)); err != nil || string(shown) != `{"card":1}` || masked != nil {
		t.Errorf("%s, %v, %v", shown, masked, err)
	}
}
