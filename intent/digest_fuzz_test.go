package intent_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"writ/intent"
)

// FuzzDigests checks that a fingerprint is the digest of the action's own canonical object,
// as encoding/json writes it, so that two actions have one fingerprint only if they are the
// same; and that nothing, however malformed, is without a digest.
func FuzzDigests(f *testing.F) {
	f.Add("acme", "user:42", "echo", "order-1", []byte(`{"a":1}`), "acm", "euser:42", "echo", []byte(`{"a":1.0}`))
	f.Add(`a","tool":"b`, "", "", `"`, []byte(`{"\u2028":"<>&"}`), "a", "", `b`, []byte(`{}`))
	f.Add("\x00\u2028", "\U0001f600", "\\", "\x7f", []byte(`{"\ud83d\ude00":[]}`), "\xff", "\ufffd", "\x00", []byte{})
	f.Fuzz(func(t *testing.T, tenant, principal, tool, key string, payload []byte, tenant2, principal2, tool2 string, payload2 []byte) {
		a := intent.Action{Tenant: tenant, Principal: principal, Tool: tool, Payload: payloadOf(payload)}
		b := intent.Action{Tenant: tenant2, Principal: principal2, Tool: tool2, Payload: payloadOf(payload2)}
		if len(intent.DeriveKey(tenant, tool, intent.RequestKey(key), 1)) != 36 || intent.IntentID(tenant, intent.RequestKey(key)).IsZero() {
			t.Fatalf("%q, %q: no key or no id", tenant, key)
		}
		one, two := intent.Fingerprint(salt, a), intent.Fingerprint(salt, b)
		if want, ok := fingerprintByEncodingJSON(t, a); ok && one != want {
			t.Fatalf("%+v: %s, want %s", a, one, want)
		}
		if !utf8.ValidString(tenant + "|" + principal + "|" + tool + "|" + tenant2 + "|" + principal2 + "|" + tool2) {
			return // U+FFFD stands for whatever is not UTF-8; no accepted name has any
		}
		same := tenant == tenant2 && principal == principal2 && tool == tool2 && bytes.Equal(a.Payload, b.Payload)
		if same != (one == two) || same != (intent.GuardDigest(guardKey, a) == intent.GuardDigest(guardKey, b)) {
			t.Fatalf("%+v and %+v have the fingerprints %s and %s", a, b, one, two)
		}
		if sameID := intent.IntentID(tenant, intent.RequestKey(tool)) == intent.IntentID(tenant2, intent.RequestKey(tool2)); sameID != (tenant == tenant2 && tool == tool2) {
			t.Fatalf("%q, %q and %q, %q: the same id: %v", tenant, tool, tenant2, tool2, sameID)
		}
		sameKey := intent.DeriveKey(tenant, tool, intent.RequestKey(key), 1) == intent.DeriveKey(tenant2, tool2, intent.RequestKey(key), 1)
		if sameKey != (tenant == tenant2 && tool == tool2) {
			t.Fatalf("%q, %q and %q, %q: the same key: %v", tenant, tool, tenant2, tool2, sameKey)
		}
	})
}

// payloadOf makes an accepted payload of any bytes.
func payloadOf(b []byte) []byte {
	p, err := intent.ReadPayload(intent.Value{Raw: b}, 0)
	if err == nil {
		return p.Canonical
	}
	quoted, _ := json.Marshal(hex.EncodeToString(b))
	return append(append([]byte(`{"bytes":`), quoted...), '}')
}

// fingerprintByEncodingJSON is the fingerprint as somebody else would compute it; of the
// deepest payloads it is not known, since Canonicalize takes none with an object around it.
func fingerprintByEncodingJSON(t *testing.T, a intent.Action) (d intent.Digest, ok bool) {
	object, err := json.Marshal(map[string]any{
		"payload": json.RawMessage(a.Payload), "principal": a.Principal, "salt": hex.EncodeToString(salt[:]), "tenant": a.Tenant, "tool": a.Tool,
	})
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := intent.Canonicalize(object)
	if err != nil && intent.CodeOf(err) != intent.CodeTooDeep {
		t.Fatal(err)
	}
	return sha256.Sum256(append([]byte("writ/fingerprint/v1\n"), canonical...)), err == nil
}
