package intent_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/intent"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

var salt = intent.Salt{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}

// pinned is one digest and the bytes that it must be the SHA-256 of, written out by hand.
type pinned struct {
	name, preimage, got string
}

// guardKey is the key of the pins that are an HMAC (RFC 2104).
var guardKey = intent.GuardKey(bytes.Repeat([]byte{0x2a}, 32))

func (p pinned) sum() []byte {
	h := sha256.New()
	if strings.HasPrefix(p.name, "duplicate-guard") {
		h = hmac.New(sha256.New, guardKey[:])
	}
	h.Write([]byte(p.preimage))
	return h.Sum(nil)
}

// pins returns every form of this version. A form never changes: what is stored in
// somebody's database was made with it. A new form has a new version in its name.
func pins(t *testing.T) []pinned {
	t.Helper()
	action := intent.Action{
		Tenant: "acme", Principal: "user:42", Tool: "payments.capture",
		Payload: canonical(t, `{"order":"<2512&>","amount":{"value":2512292042121000001,"scale":2.0},"note":"\u20ac\u0000"}`),
	}
	payload := `{"amount":{"scale":2,"value":2512292042121000001},"note":"` + "\u20ac" + `\u0000","order":"<2512&>"}`
	fingerprint := intent.Fingerprint(salt, action)
	spec := canonical(t, `{"name":"payments.capture","idempotent":true}`)
	specDigest := intent.SpecDigest(spec)
	context := intent.EffectContext{Principal: "user:42", Tenant: "acme", AuthenticationSource: "direct"}.Canonical()
	key := intent.DeriveKey("acme", "payments.capture", "order-1", 1)
	commitment := intent.Commitment(intent.Authorized{
		Fingerprint: fingerprint, SpecDigest: specDigest, Context: context,
		Decision: canonical(t, `{"allowed":true}`), Key: key, Generation: 1,
	})
	const saltHex = "00112233445566778899aabbccddeeff"
	body := []byte("%PDF-1.7 \xff")
	bodySum := sha256.Sum256(body)
	return []pinned{
		{"intent-id", "writ/intent-id/v1\n" + `{"request_key":"order-1","tenant":"acme"}`,
			intent.IntentID("acme", "order-1").String()},
		{"intent-id of a key with quotes", "writ/intent-id/v1\n" + `{"request_key":"\"a\\b\" <&>","tenant":"default"}`,
			intent.IntentID("default", `"a\b" <&>`).String()},
		{"idempotency-key, generation 1", "writ/idempotency-key/v1\n" +
			`{"generation":1,"request_key":"order-1","tenant":"acme","tool":"payments.capture"}`, string(key)},
		{"idempotency-key, generation 2", "writ/idempotency-key/v1\n" +
			`{"generation":2,"request_key":"order-1","tenant":"acme","tool":"payments.capture"}`,
			string(intent.DeriveKey("acme", "payments.capture", "order-1", 2))},
		{"fingerprint", "writ/fingerprint/v1\n" + `{"payload":` + payload + `,"principal":"user:42","salt":"` + saltHex +
			`","tenant":"acme","tool":"payments.capture"}`, fingerprint.String()},
		{"fingerprint of no arguments", "writ/fingerprint/v1\n" +
			`{"payload":{},"principal":"user:42","salt":"` + saltHex + `","tenant":"acme","tool":"echo"}`,
			intent.Fingerprint(salt, intent.Action{Tenant: "acme", Principal: "user:42", Tool: "echo", Payload: []byte("{}")}).String()},
		{"mark", "writ/mark/v1\n" + `{"context":{"authentication_source":"direct","principal":"user:42","tenant":"acme"},"payload":` + payload +
			`,"salt":"` + saltHex + `","tool":"payments.capture"}`, intent.Mark(salt, action.Tool, action.Payload, context).String()},
		{"tool-spec", "writ/tool-spec/v1\n" + `{"idempotent":true,"name":"payments.capture"}`, specDigest.String()},
		{"commitment", "writ/commitment/v1\n" +
			`{"context":{"authentication_source":"direct","principal":"user:42","tenant":"acme"},"decision":{"allowed":true},` +
			`"fingerprint":"` + fingerprint.String() + `","generation":1,"idempotency_key":"` + string(key) +
			`","spec_digest":"` + specDigest.String() + `"}`, commitment.String()},
		{"commitment without context and decision", "writ/commitment/v1\n" +
			`{"context":null,"decision":null,"fingerprint":"` + strings.Repeat("0", 64) +
			`","generation":0,"idempotency_key":"","spec_digest":"` + strings.Repeat("0", 64) + `"}`,
			intent.Commitment(intent.Authorized{}).String()},
		{"payload", "writ/payload/v1\n" + `{"body_sha256":"` + hex.EncodeToString(bodySum[:]) + `","salt":"` + saltHex + `"}`,
			intent.PayloadDigest(salt, body).String()},
		{"result", "writ/result/v1\n" + `{"body_sha256":"` + hex.EncodeToString(bodySum[:]) +
			`","media_type":"application/pdf","salt":"` + saltHex + `"}`,
			intent.ResultDigest(salt, "application/pdf", body).String()},
		{"result without a body", "writ/result/v1\n" +
			`{"body_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","media_type":"","salt":"` + saltHex + `"}`,
			intent.ResultDigest(salt, "", nil).String()},
		{"key", "writ/key/v1\n" + `{"key":"` + string(key) + `","salt":"` + saltHex + `"}`, intent.KeyDigest(salt, key).String()},
		{"duplicate-guard, an HMAC under 32 bytes 0x2a", "writ/duplicate-guard/v1\n" + `{"payload":` + payload +
			`,"principal":"user:42","tenant":"acme","tool":"payments.capture"}`, intent.GuardDigest(guardKey, action).String()},
		{"policy-set", "writ/policy-set/v1\n" + `[{"id":"a","policy":{"effect":"permit"}},{"id":"b:7","policy":{}}]`,
			intent.PolicyDigest([]intent.PolicyForm{{ID: "a", Policy: []byte(`{"effect":"permit"}`)}, {ID: "b:7", Policy: []byte(`{}`)}}).String()},
	}
}

func TestEveryDigestIsTheSHA256OfItsPublishedForm(t *testing.T) {
	t.Parallel()
	for _, p := range pins(t) {
		sum := p.sum()
		want := hex.EncodeToString(sum)
		if len(p.got) == 36 { // a UUID: the first 128 bits, less version and variant
			sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
			want = fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
		}
		if p.got != want {
			t.Errorf("%s: got %s, want the digest %s of\n%s", p.name, p.got, want, p.preimage)
		}
	}
}

func TestDigestsAreThoseThatEarlierReleasesStored(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# What each form gives. These lines never change: databases hold digests that were made with them.\n")
	for _, p := range pins(t) {
		fmt.Fprintf(&b, "\n%s\n%s\n= %s\n", p.name, p.preimage, p.got)
	}
	golden := filepath.Join("testdata", "digests.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the digests differ from %s; got\n%s", golden, b.String())
	}
}

func TestAFingerprintDependsOnEveryPartAndNothingElse(t *testing.T) {
	t.Parallel()
	base := intent.Action{Tenant: "acme", Principal: "user:42", Tool: "echo", Payload: canonical(t, `{"a":1.0}`)}
	first := intent.Fingerprint(salt, base)
	same := base
	same.Payload = canonical(t, ` { "a" : 10e-1 } `)
	if intent.Fingerprint(salt, same) != first {
		t.Error("another spelling of the payload is another action")
	}
	for name, change := range map[string]func(*intent.Action){
		"tenant":    func(a *intent.Action) { a.Tenant = "acme2" },
		"principal": func(a *intent.Action) { a.Principal = "user:43" },
		"tool":      func(a *intent.Action) { a.Tool = "echo2" },
		"payload":   func(a *intent.Action) { a.Payload = canonical(t, `{"a":"1"}`) },
		"swapped":   func(a *intent.Action) { a.Tenant, a.Principal = a.Principal, a.Tenant },
	} {
		changed := base
		change(&changed)
		if intent.Fingerprint(salt, changed) == first {
			t.Errorf("the fingerprint does not depend on the %s", name)
		}
	}
	if intent.Fingerprint(intent.Salt{}, base) == first {
		t.Error("the fingerprint does not depend on the salt")
	}
}

func TestACommitmentDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	base := intent.Authorized{
		Fingerprint: intent.Digest{1}, SpecDigest: intent.Digest{2}, Context: []byte(`{"a":"1"}`), Decision: []byte(`{"b":"2"}`),
		Key: "k", Generation: 1,
	}
	seen := map[intent.Digest]string{intent.Commitment(base): "nothing"}
	for name, change := range map[string]func(*intent.Authorized){
		"fingerprint": func(a *intent.Authorized) { a.Fingerprint[31] = 1 },
		"spec":        func(a *intent.Authorized) { a.SpecDigest[31] = 1 },
		"context":     func(a *intent.Authorized) { a.Context = []byte("{}") },
		"decision":    func(a *intent.Authorized) { a.Decision = []byte("{}") },
		"key":         func(a *intent.Authorized) { a.Key = "l" },
		"generation":  func(a *intent.Authorized) { a.Generation = 2 },
		"swapped":     func(a *intent.Authorized) { a.Context, a.Decision = a.Decision, a.Context },
		"exchanged":   func(a *intent.Authorized) { a.Fingerprint, a.SpecDigest = a.SpecDigest, a.Fingerprint },
	} {
		changed := base
		change(&changed)
		d := intent.Commitment(changed)
		if other, ok := seen[d]; ok {
			t.Errorf("a change of %s gives the commitment of a change of %s", name, other)
		}
		seen[d] = name
	}
}

func TestOneInputGivesUnrelatedDigestsInEachDomain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		digests := map[intent.Digest]bool{
			intent.SpecDigest(body):                                                      true,
			intent.ResultDigest(salt, "", body):                                          true,
			intent.KeyDigest(salt, intent.IdempotencyKey(body)):                          true,
			intent.Fingerprint(salt, intent.Action{Payload: body}):                       true,
			intent.Commitment(intent.Authorized{Context: body}):                          true,
			intent.Commitment(intent.Authorized{Decision: append([]byte("0"), body...)}): true,
		}
		if len(digests) != 6 {
			t.Errorf("%d digests for 6 forms of %q", len(digests), body)
		}
	})
}

// A tool may report any bytes as its media type after its effect happened.
func TestAResultAlwaysHasADigest(t *testing.T) {
	t.Parallel()
	if intent.ResultDigest(salt, "\xff\x00\"\n", []byte{0xff}).IsZero() {
		t.Error("no digest")
	}
	body := []byte("body")
	if intent.ResultDigest(salt, "text/plain", body) == intent.ResultDigest(salt, "text/html", body) {
		t.Error("the digest does not depend on the media type")
	}
}

func TestADigestHasOneText(t *testing.T) {
	t.Parallel()
	d := intent.SpecDigest([]byte("{}"))
	encoded, err := json.Marshal([]intent.Digest{d})
	if err != nil || string(encoded) != `["`+d.String()+`"]` || len(d.String()) != 64 {
		t.Errorf("encoded as %s, %v", encoded, err)
	}
	var decoded []intent.Digest
	if err := json.Unmarshal(encoded, &decoded); err != nil || len(decoded) != 1 || decoded[0] != d {
		t.Errorf("%s decoded as %v, %v", encoded, decoded, err)
	}
	if !(intent.Digest{}).IsZero() || d.IsZero() {
		t.Error("only the zero digest stands for none")
	}
	for _, bad := range []string{
		"", "00", strings.ToUpper(d.String()), d.String() + "00", d.String()[:63], d.String()[:62] + "zz", "0x" + d.String()[2:],
		d.String() + strings.Repeat("0", 1<<16),
	} {
		kept := d
		if err := kept.UnmarshalText([]byte(bad)); err == nil || kept != d || len(err.Error()) > 200 {
			t.Errorf("UnmarshalText(%.70q) = %v and left %s", bad, err, kept)
		}
	}
}

// canonical is src in canonical form.
func canonical(t *testing.T, src string) []byte {
	t.Helper()
	b, err := intent.Canonicalize([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every form that the source makes a digest of must be pinned: what was stored with it can
// never be found again under another one.
func TestEveryFormInTheSourceIsPinned(t *testing.T) {
	t.Parallel()
	pinned := map[string]bool{}
	for _, p := range pins(t) {
		form, _, _ := strings.Cut(strings.TrimPrefix(p.preimage, "writ/"), "/v1\n")
		pinned[form] = true
	}
	found := map[string]bool{}
	for _, form := range formsInSource(t) {
		found[form] = true
		if !pinned[form] {
			t.Errorf("the form %q has no pin in %s", form, "testdata/digests.golden")
		}
	}
	for form := range pinned {
		if !found[form] {
			t.Errorf("the form %q is pinned, and the source has no such form", form)
		}
	}
}

// formsInSource are the names of all forms in this package: the argument of digestOf, and
// what stands between "writ/" and the version where the line is written out.
func formsInSource(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	form := regexp.MustCompile(`(?:digestOf\("|"writ/)([^"/]+)(?:"|/v\d+\\n")`)
	var forms []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range form.FindAllSubmatch(text, -1) {
			forms = append(forms, string(match[1]))
		}
	}
	return forms
}
