package intake

import "testing"

func TestTheCorpusHasCasesOfEveryKind(t *testing.T) {
	t.Parallel()
	cases := Cases(t)
	kinds := map[string]int{}
	for _, c := range cases {
		kinds[string(c.Door)]++
		kinds["code "+c.Code]++
		if c.Schema {
			kinds["schema"]++
		}
		if c.Canonical != nil {
			kinds["accepted"]++
		}
	}
	if len(cases) < 150 || kinds["accepted"] < 50 || kinds["schema"] < 10 || kinds["request"] < 20 {
		t.Errorf("%d cases: %v", len(cases), kinds)
	}
	for _, code := range []string{
		"invalid_json", "invalid_utf8", "lone_surrogate", "duplicate_member", "trailing_data", "too_deep", "number_too_long",
		"number_out_of_range", "payload_too_large", "payload_not_object", "unknown_member", "invalid_request", "invalid_name",
		"invalid_request_key", "reserved_request_key",
	} {
		if kinds["code "+code] == 0 {
			t.Errorf("there is no case of %s", code)
		}
	}
}

func TestALineThatIsNotACaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`{"name":"a","input":"{}"}`,
		`{"name":"a","canonical":"{}"}`,
		`{"input":"{}","canonical":"{}"}`,
		`{"name":"a","input":"{}","input_base64":"e30=","canonical":"{}"}`,
		`{"name":"a","input":"{}","canonical":"{}","code":"invalid_json","offset":0}`,
		`{"name":"a","input":"{}","code":"invalid_json"}`,
		`{"name":"a","input":"{}","canonical":"{}","canonical_parts":[]}`,
		`{"name":"a","door":"window","input":"{}","canonical":"{}"}`,
		`{"name":"a","inputs":"{}","canonical":"{}"}`,
	} {
		if c, err := parse([]byte(bad)); err == nil {
			t.Errorf("%s became %+v", bad, c)
		}
	}
}

func TestPartsAreRepeated(t *testing.T) {
	t.Parallel()
	c, err := parse([]byte(`{"name":"a","input_parts":[{"text":"[","times":3},{"text":"x"},{"text":"y","times":0}],"code":"too_deep","offset":-1}`))
	if err != nil || string(c.Input) != "[[[x" || c.Door != DoorPayload || c.Tool() != ToolAny || c.Offset != -1 {
		t.Errorf("%+v, %v", c, err)
	}
}
