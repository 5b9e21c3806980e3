package intent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"writ/intent"
)

// FuzzCanonicalPayload holds ReadPayload against Canonicalize and encoding/json: what is
// accepted is the object that was sent, or the one in the string that was sent, and its
// limit holds.
func FuzzCanonicalPayload(f *testing.F) {
	for _, seed := range []string{
		"", `""`, " null\n", "{}", `"{}"`, `"null"`, `"\"{}\""`, "[]", "0", `" {\"b\":1e20,\"a\":\"\\u0000\"} "`,
		`"{\"a\":1,\"\\u0061\":2}"`, `"\u007b\u0022\ud83d\ude00\u0022:\u005b1.0,\u0022\u00e9\u0022\u005d}"`, `"{} {}"`, `"{\"\\ud800\":1}"`,
		`{"a":1e20}`, `"{\"a\":[}"`, "\"{\\\"\u20ac\\\":nul}\"",
	} {
		f.Add([]byte(seed), 0)
		f.Add([]byte(seed), 20)
	}
	f.Fuzz(func(t *testing.T, src []byte, limit int) {
		kept := bytes.Clone(src)
		p, err := intent.ReadPayload(intent.Value{Raw: src}, limit)
		if !bytes.Equal(src, kept) {
			t.Fatalf("%q was changed to %q", kept, src)
		}
		if err != nil {
			wantCode(t, src, err)
			sameErrorInsideAString(t, src, err)
			return
		}
		bound := limit
		if limit <= 0 {
			bound = intent.MaxPayload
		}
		if len(src) > bound || len(p.Canonical) > bound || p.Canonical[0] != '{' {
			t.Fatalf("%q under the limit %d became %q", src, limit, p.Canonical)
		}
		again, err := intent.ReadPayload(intent.Value{Raw: p.Canonical}, limit)
		if err != nil || again.FromText || !bytes.Equal(again.Canonical, p.Canonical) {
			t.Fatalf("%q: canonical %q, again %+v, %v", src, p.Canonical, again, err)
		}
		strict, err := intent.CanonicalPayload(src, limit)
		if p.FromText {
			if intent.CodeOf(err) != intent.CodePayloadNotObject {
				t.Fatalf("%q is a string and became %q, %v", src, strict, err)
			}
		} else if err != nil || !bytes.Equal(strict, p.Canonical) {
			t.Fatalf("%q became %q and %q, %v", src, p.Canonical, strict, err)
		}
		if want := objectOf(t, src); !bytes.Equal(p.Canonical, want) {
			t.Fatalf("%q became %q, want %q", src, p.Canonical, want)
		}
	})
}

// objectOf is what an accepted payload means, by encoding/json.
func objectOf(t *testing.T, src []byte) []byte {
	if len(src) == 0 {
		return []byte("{}")
	}
	var text *string
	if json.Unmarshal(src, &text) == nil {
		if text == nil || *text == "" {
			return []byte("{}")
		}
		src = []byte(*text)
	}
	canonical, err := intent.Canonicalize(src)
	if err != nil {
		t.Fatalf("accepted, and %q is not JSON: %v", src, err)
	}
	return canonical
}

// sameErrorInsideAString checks that the JSON in a string fails like the same JSON by itself,
// and that the byte is the one that spells what is wrong: what stands before it means what
// stands before the error in the text.
func sameErrorInsideAString(t *testing.T, src []byte, err error) {
	var text string
	if _, bad := intent.Canonicalize(src); bad != nil || json.Unmarshal(src, &text) != nil {
		return
	}
	_, inner := intent.Canonicalize([]byte(text))
	var got, want *intent.Error
	if !errors.As(err, &got) || !errors.As(inner, &want) || got.Code == intent.CodePayloadNotObject || got.Code == intent.CodePayloadTooLarge {
		return
	}
	var before string
	opening := bytes.IndexByte(src, '"')
	if bad := json.Unmarshal(append(bytes.Clone(src[opening:got.Offset]), '"'), &before); bad != nil {
		t.Fatalf("%q: byte %d does not begin a character: %v", src, got.Offset, bad)
	}
	if got.Code != want.Code || before != text[:want.Offset] {
		t.Fatalf("%q: %v at %d; the text %q: %v at %d", src, got, got.Offset, text, want, want.Offset)
	}
}

// wantCode checks what every rejection of input promises.
func wantCode(t *testing.T, src []byte, err error) {
	t.Helper()
	var e *intent.Error
	if !errors.As(err, &e) || e.Code == "" || e.Effect != intent.NotApplied || e.TryAgain || e.Offset < -1 || e.Offset > int64(len(src)) {
		t.Fatalf("%q: a rejection without code or offset: %#v", src, err)
	}
	if len(e.Message) > 600 {
		t.Fatalf("a message of %d bytes: %q", len(e.Message), e.Message)
	}
}
