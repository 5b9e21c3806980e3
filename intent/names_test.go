package intent_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

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
