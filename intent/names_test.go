package intent_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"writ/intent"
)

func TestNamesAreASCIIWithPunctuationOnlyInside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a", "0", "Z", "default", "payments.capture", "user:42", "agents/invoice-bot@acme_eu", "a..b//c",
		strings.Repeat("x", 255),
	} {
		if err := intent.CheckName("tool", name); err != nil {
			t.Errorf("CheckName(%q): %v", name, err)
		}
	}
	for _, c := range []struct {
		name   string
		offset int64
		says   string
	}{
		{"", -1, "the tool is empty"},
		{strings.Repeat("x", 256), 255, "the tool has 256 bytes and 255 are allowed"},
		{".a", 0, `the tool has '.' at byte 0`},
		{"a.", 1, `the tool has '.' at byte 1`},
		{"-", 0, `the tool has '-' at byte 0`},
		{"@a", 0, `'@' at byte 0`},
		{"a/", 1, `'/' at byte 1`},
		{"a b", 1, `the tool contains ' ' at byte 1`},
		{" a", 0, `the tool contains ' ' at byte 0`},
		{"a\n", 1, "the tool contains the byte 0x0a at byte 1"},
		{"a\x00b", 1, "the byte 0x00"},
		{"a\x7f", 1, "the byte 0x7f"},
		{"p\u0430yments", 1, "the byte 0xd0 at byte 1"}, // a Cyrillic letter that looks like an a
		{"caf\u00e9", 3, "the byte 0xc3"},
		{"\xff", 0, "the byte 0xff"},
		{"a+b", 1, `'+'`},
		{"a\\b", 1, `'\\'`},
		{"a'b", 1, `'\''`},
	} {
		err := intent.CheckName("tool", c.name)
		wantRefusal(t, err, intent.CodeInvalidName, c.offset)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("CheckName(%q): %q does not say %q", c.name, err, c.says)
		}
	}
}

func TestRequestKeysArePrintableASCIITakenAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"order-2512292042121000001", " ", " leading and trailing ", "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}",
		"writ", "Writ:auto", "auto:writ:", strings.Repeat("k", 255),
	} {
		if err := intent.CheckRequestKey(key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for key, offset := range map[string]int64{
		"":                       -1,
		"a\tb":                   1,
		"a\n":                    1,
		"\x00":                   0,
		"a\x7f":                  1,
		"caf\u00e9":              3,
		"ab\xff":                 2,
		strings.Repeat("k", 256): 255,
	} {
		wantRefusal(t, intent.CheckRequestKey(key), intent.CodeInvalidRequestKey, offset)
	}
}

func TestOnlyWritMintsKeysOfTheReservedNamespace(t *testing.T) {
	t.Parallel()
	u := uuid.MustParse("0194fdc2-fa2f-4cc0-81d3-ff12045b73c8")
	key := string(intent.MintedRequestKey(u))
	if want := "writ:auto:0194fdc2-fa2f-4cc0-81d3-ff12045b73c8"; key != want {
		t.Errorf("minted %q, want %q", key, want)
	}
	if err := intent.CheckRequestKey(key); err != nil {
		t.Errorf("a minted key is refused: %v", err)
	}
	for _, bad := range []string{
		"writ:", "writ:auto:", "writ:auto:1", "writ:other:" + u.String(), key + " ", "writ:auto:" + strings.ToUpper(u.String()),
		"writ:auto:{" + u.String() + "}", "writ:auto:urn:uuid:" + u.String(), "writ:auto:" + strings.ReplaceAll(u.String(), "-", ""),
	} {
		wantRefusal(t, intent.CheckRequestKey(bad), intent.CodeReservedRequestKey, 0)
	}
}

// Most texts that are drawn here are nearly right, which random bytes seldom are.
func TestNamesAndKeysAreExactlyThoseOfTheirGrammar(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9._:@/-]{0,6}`),
		rapid.StringMatching(`[ -~]{0,4}`),
		rapid.StringMatching(`(writ:auto:)?[0-9a-fA-F]{8}(-[0-9a-f]{4}){2,3}-[0-9a-f]{12}`),
		rapid.StringMatching(`[Ww]rit:[a-z:]{0,5}`),
		rapid.StringMatching(`[0-9a-f]{63,65}`),
		rapid.StringOfN(rapid.SampledFrom([]rune("a.")), 254, 257, -1),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return "a" + string(b) + "a" }),
	)
	rapid.Check(t, func(t *rapid.T) {
		checkGrammars(t, text.Draw(t, "text"), func(err error) {
			if e, ok := err.(*intent.Error); !ok || e.Effect != intent.NotApplied || e.TryAgain {
				t.Errorf("%#v", err)
			}
		})
	})
}

// Two keys are two intents, and every part of a derived key tells it from others.
func TestAnIdentityDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-c]([.:/]?[a-c]){0,2}`)
	key := rapid.StringMatching(`[ "\\a-b]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		type identity struct {
			tenant, tool, key string
			generation        int
		}
		draw := func(which string) identity {
			return identity{name.Draw(t, which+" tenant"), name.Draw(t, which+" tool"), key.Draw(t, which+" key"), rapid.IntRange(1, 2).Draw(t, which)}
		}
		a, b := draw("first"), draw("second")
		derive := func(i identity) intent.IdempotencyKey {
			return intent.DeriveKey(i.tenant, i.tool, intent.RequestKey(i.key), i.generation)
		}
		if (a == b) != (derive(a) == derive(b)) {
			t.Errorf("%+v has the key %s and %+v has %s", a, derive(a), b, derive(b))
		}
		first, second := intent.IntentID(a.tenant, intent.RequestKey(a.key)), intent.IntentID(b.tenant, intent.RequestKey(b.key))
		if (a.tenant == b.tenant && a.key == b.key) != (first == second) {
			t.Errorf("%+v is %s and %+v is %s", a, first, b, second)
		}
	})
}
