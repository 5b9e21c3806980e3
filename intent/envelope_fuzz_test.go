package intent_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"writ/intent"
)

var envelopeMembers = []string{"tool", "payload", "request_key"}

// FuzzEnvelope holds ReadEnvelope against Canonicalize and encoding/json: an envelope is
// exactly an object without an unknown name and with each name at most once, and its values
// are bytes of what was sent.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "null", `{"tool":"echo","payload":{"a":[1,{}]},"request_key":"k"}`, `{"Tool":"echo"}`, `{"tool":1,"tool":2}`,
		`{"t\u006fol":"e\u0063ho"}`, `{"to\u017fl":1}`, "{\"re\u212aue\u017ft_key\":\"\"}", `{"payload":{"a":1,"a":2}}`, `{"payload":[[[[}`, `{"tool":null} x`,
		`{"\ud800":1}`, "{\"\xff\":1}", "{\xff}", "{\"payload\":\"\xff\"}", `{"tool" "x"}`, `{"tool":}`, `{"tool":"a",}`, `{"payload":01}`,
		`{"payload":"\ud800"}`, "{", `{"tool"`, `{"tool":"a"`, `{1:2}`, ` { "payload" : 1e400 , "tool" : "." } `, "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		kept := bytes.Clone(src)
		e, err := intent.ReadEnvelope(intent.Value{Raw: src}, "request", envelopeMembers)
		if !bytes.Equal(src, kept) {
			t.Fatalf("%q was changed to %q", kept, src)
		}
		canonical, bad := intent.Canonicalize(src)
		if err != nil {
			wantCode(t, src, err)
			if bad == nil && canonical[0] == '{' && len(unknownNames(t, canonical)) == 0 {
				t.Fatalf("%q is an envelope, and was refused: %v", src, err)
			}
			return
		}
		if bad == nil {
			if unknown := unknownNames(t, canonical); len(unknown) > 0 || len(memberNames(t, canonical)) != len(e) {
				t.Fatalf("%q was accepted with %q", src, unknown)
			}
		}
		badValue := false
		for name, v := range e {
			if !bytes.Equal(v.Raw, src[v.Offset:v.Offset+int64(len(v.Raw))]) || len(v.Raw) == 0 {
				t.Fatalf("%q: %s is not %q at %d", src, name, v.Raw, v.Offset)
			}
			value, err := intent.Canonicalize(v.Raw)
			badValue = badValue || err != nil
			readMember(t, src, e, name, value, err)
		}
		if (bad != nil) != badValue && intent.CodeOf(bad) != intent.CodeTooDeep {
			t.Fatalf("%q: %v, and its members are well: %v", src, bad, !badValue)
		}
	})
}

// readMember reads one member by every rule.
func readMember(t *testing.T, src []byte, e intent.Envelope, name string, canonical []byte, bad error) {
	text, err := e.Text(name)
	if err != nil {
		wantCode(t, src, err)
	}
	var meant any
	if bad == nil {
		meant = read(t, canonical)
	}
	if s, ok := meant.(string); (err == nil) != (bad == nil && (ok || meant == nil)) || err == nil && text != s {
		t.Fatalf("%q: %s is %q, %v; encoding/json says %v", src, name, text, err, meant)
	}
	for what, read := range map[string]func(string) (string, error){"name": e.Name, "key": e.RequestKey} {
		s, err := read(name)
		if err != nil {
			wantCode(t, src, err)
		} else if s != text {
			t.Fatalf("%q: the %s %s is %q and the text %q", src, what, name, s, text)
		}
	}
	if _, err := intent.ReadPayload(e[name], 0); err != nil {
		wantCode(t, src, err)
	}
}

// unknownNames are the names of an object that envelopeMembers does not have.
func unknownNames(t *testing.T, object []byte) []string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for name := range members {
		if !slices.Contains(envelopeMembers, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}
