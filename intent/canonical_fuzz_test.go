package intent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"writ/intent"
)

// FuzzCanonicalize holds Canonicalize against another parser: whatever is accepted is
// the same value to encoding/json, and stays the same under canonicalization.
func FuzzCanonicalize(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,1.0,1e0,-0,0.1],"a":{"x":"<>&\u2028","":null}}`,
		`[9007199254740993,1e400,1.5e-300,123456789012345678901234567890]`,
		"{\"\U0001f600\":1,\"\\ufb33\":2,\"\\r\":3,\"\\ud83d\\ude01\":4}",
		`["\ud800","\udc00\ud800",{"a":1,"\u0061":2}]`,
		`[[[[[[[[{"a":"\u0000\b\f\n\r\t\"\\\/"}]]]]]]]]`,
		"{} {}", "[1,]", "-", "1e", "\"\xff\"", "\ufeffnull", "NaN", "01", "1e6145", "",
		// Found by earlier runs: each took a path that the ones above do not.
		`\uDDDD`, `"\ud8000`, `"\ud800000X00`, "[\"\\ud800\\udC\x1d0\"]", `["\ud800\u0C00"]`, `["\ud800\ud&"]`,
		`{"":[],""`, `[10,1e100,101e-10100000000000000000]`, "1e21A", "0.08A", "\"\\u0000\\b\"0",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		kept := bytes.Clone(src)
		canonical, err := intent.Canonicalize(src)
		if !bytes.Equal(src, kept) {
			t.Fatalf("%q was changed to %q", kept, src)
		}
		if err != nil {
			var e *intent.Error
			if !errors.As(err, &e) || e.Code == "" || e.Offset < 0 || e.Offset > int64(len(src)) {
				t.Fatalf("%q: a rejection without code or offset: %#v", src, err)
			}
			return
		}
		if len(canonical) > 6*len(src) {
			t.Fatalf("%d bytes became %d", len(src), len(canonical))
		}
		again, err := intent.Canonicalize(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%q: canonical %q, again %q, %v", src, canonical, again, err)
		}
		if !sameValue(read(t, src), read(t, canonical)) {
			t.Fatalf("%q became %q, another value", src, canonical)
		}
		escaped, err := json.Marshal(json.RawMessage(canonical))
		if err != nil {
			t.Fatalf("%q: %v", canonical, err)
		}
		again, err = intent.Canonicalize(escaped)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%q: through encoding/json %q, %v", canonical, again, err)
		}
	})
}

// fataler is what *testing.T and *rapid.T have in common here.
type fataler interface{ Fatal(args ...any) }

// read is encoding/json's reading of src, with numbers as they are written.
func read(t fataler, src []byte) any {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(fmt.Sprintf("encoding/json rejects %q: %v", src, err))
	}
	return v
}

// sameValue compares two readings; numbers are compared by their exact value.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && rational(a.String()).Cmp(rational(b.String())) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			other, ok := b[name]
			if !ok || !sameValue(a[name], other) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}

// rational is the exact value of a literal within the limits of Canonicalize.
func rational(literal string) *big.Rat {
	// Zero may have an exponent that math/big would rather not look at.
	significand, _, _ := strings.Cut(strings.ToLower(literal), "e")
	if strings.Trim(significand, "-0.") == "" {
		return new(big.Rat)
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		panic("not a number: " + literal)
	}
	return r
}

// escapeAll writes s as a JSON string of nothing but \u escapes.
func escapeAll(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return `"` + b.String() + `"`
}

func utf16Less(a, b string) bool {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) < 0
}

// memberNames returns the names of an object in the order in which they stand.
func memberNames(t fataler, object []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		name, _ := token.(string)
		names = append(names, name)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}
