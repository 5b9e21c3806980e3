package intent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/intent"
)

func TestCanonicalPayloadIsAnObject(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "{}",
		`""`:                           "{}",
		"null":                         "{}",
		" null\n":                      "{}",
		` "" `:                         "{}",
		"{}":                           "{}",
		` { "b" : 1.0 , "a" : null } `: `{"a":null,"b":1}`,
	} {
		got, err := intent.CanonicalPayload([]byte(in), intent.MaxPayload)
		if err != nil || string(got) != want {
			t.Errorf("CanonicalPayload(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestCanonicalPayloadNamesWhatIsNotAnObject(t *testing.T) {
	t.Parallel()
	for in, kind := range map[string]string{
		`"{}"`:               "a string",
		`"{\"amount\":1}"`:   "a string",
		`" "`:                "a string",
		"[]":                 "an array",
		`[{"a":1}]`:          "an array",
		"true":               "a boolean",
		"false":              "a boolean",
		"0":                  "a number",
		"-1.5":               "a number",
		"1e400":              "a number",
		`"` + "\u00e9" + `"`: "a string",
	} {
		got, err := intent.CanonicalPayload([]byte("  "+in), intent.MaxPayload)
		if got != nil {
			t.Errorf("CanonicalPayload(%q) = %q", in, got)
		}
		wantRefusal(t, err, intent.CodePayloadNotObject, 2)
		if err != nil && !strings.Contains(err.Error(), "the payload is "+kind+";") {
			t.Errorf("CanonicalPayload(%q): %q does not say that it is %s", in, err, kind)
		}
	}
	_, err := intent.CanonicalPayload([]byte(" "), intent.MaxPayload)
	wantError(t, err, intent.CodeInvalidJSON, 1)
	_, err = intent.CanonicalPayload([]byte(`{"a":1,"a":2}`), intent.MaxPayload)
	wantError(t, err, intent.CodeDuplicateMember, 7)
}

func TestCanonicalPayloadLimitsBothTheBytesSentAndTheResult(t *testing.T) {
	t.Parallel()
	full := `{"a":"` + strings.Repeat("x", intent.MaxPayload-len(`{"a":""}`)) + `"}`
	for _, limit := range []int{intent.MaxPayload, 0, -1} {
		got, err := intent.CanonicalPayload([]byte(full), limit)
		if err != nil || string(got) != full {
			t.Errorf("a payload of exactly 1 MiB under the limit %d: %v", limit, err)
		}
		_, err = intent.CanonicalPayload([]byte(full+" "), limit)
		wantRefusal(t, err, intent.CodePayloadTooLarge, intent.MaxPayload)
	}
	small := []byte(`{"a":1e20}`) // 10 bytes, 27 in canonical form
	if got, err := intent.CanonicalPayload(small, 27); err != nil || len(got) != 27 {
		t.Errorf("a result of exactly the limit: %q, %v", got, err)
	}
	_, err := intent.CanonicalPayload(small, 26)
	wantRefusal(t, err, intent.CodePayloadTooLarge, -1)
	_, err = intent.CanonicalPayload(small, 9)
	wantRefusal(t, err, intent.CodePayloadTooLarge, 9)
	_, err = intent.CanonicalPayload(nil, 1)
	wantRefusal(t, err, intent.CodePayloadTooLarge, -1)
}

func TestAnObjectInAStringIsDecodedOnce(t *testing.T) {
	t.Parallel()
	const inner = `{"b":"\u0000\ud83d\ude00<","a":"{\"n\":1}"}`
	want := canonical(t, inner)
	quoted, err := json.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	for _, literal := range []string{string(quoted), escapeAll(inner)} {
		p, err := intent.ReadPayload(intent.Value{Raw: []byte(" " + literal), Offset: 40}, 0)
		if err != nil || !p.FromText || string(p.Canonical) != string(want) {
			t.Errorf("%s: %+v, %v", literal, p, err)
		}
		wantRefusal(t, p.NotObject(), intent.CodePayloadNotObject, 41)
		_, err = intent.CanonicalPayload([]byte(" "+literal), 0)
		wantRefusal(t, err, intent.CodePayloadNotObject, 1)
		twice, _ := json.Marshal(literal)
		_, err = intent.ReadPayload(intent.Value{Raw: twice}, 0)
		wantRefusal(t, err, intent.CodePayloadNotObject, 0)
	}
	if p, err := intent.ReadPayload(intent.Value{Raw: []byte("{}")}, 0); err != nil || p.FromText {
		t.Errorf("an object: %+v, %v", p, err)
	}
}

func TestTheLimitHoldsForAnObjectInAString(t *testing.T) {
	t.Parallel()
	literal := `"{\"a\":1e20}"` // 14 bytes, 27 in canonical form
	for limit, offset := range map[int]int64{13: 13, 14: -1, 26: -1} {
		_, err := intent.ReadPayload(intent.Value{Raw: []byte(literal)}, limit)
		wantRefusal(t, err, intent.CodePayloadTooLarge, offset)
	}
	if p, err := intent.ReadPayload(intent.Value{Raw: []byte(literal)}, 27); err != nil || len(p.Canonical) != 27 {
		t.Errorf("%+v, %v", p, err)
	}
}

// An error in the text names the byte that the caller sent, whatever spells it.
func TestAnErrorInATextNamesTheByteThatSpellsIt(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "a", "\u00e9", "\u20ac", "\U0001f600", "\n", "\\", "\"", "\x00", "</>"} {
		name, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		text := "{" + string(name) + ":nul}"
		for _, spell := range []func(string) string{escapeAll, func(s string) string { b, _ := json.Marshal(s); return string(b) }} {
			literal := spell(text)
			at := int64(len(spell(strings.TrimSuffix(text, "}")))) - 1 // where the closing quote would be
			_, err := intent.ReadPayload(intent.Value{Raw: []byte(literal), Offset: 7}, 0)
			wantError(t, err, intent.CodeInvalidJSON, at+7)
		}
	}
}
