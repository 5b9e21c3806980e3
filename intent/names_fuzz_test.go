package intent_test

import (
	"regexp"
	"strings"
	"testing"

	"writ/intent"
)

// The grammars once more, as regular expressions.
var (
	nameGrammar     = regexp.MustCompile(`\A[A-Za-z0-9](?:[A-Za-z0-9._:@/-]{0,253}[A-Za-z0-9])?\z`)
	keyGrammar      = regexp.MustCompile(`\A[ -~]{1,255}\z`)
	mintedGrammar   = regexp.MustCompile(`\Awrit:auto:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\z`)
	intentIDGrammar = regexp.MustCompile(`\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\z`)
	digestGrammar   = regexp.MustCompile(`\A[0-9a-f]{64}\z`)
)

// checkGrammars holds every check of a name against its grammar.
func checkGrammars(t interface{ Errorf(string, ...any) }, s string, reject func(error)) {
	_, badID := intent.ParseID(s)
	var digest intent.Digest
	badDigest := digest.UnmarshalText([]byte(s))
	badName, badKey := intent.CheckName("tool", s), intent.CheckRequestKey(s)
	for what, c := range map[string]struct {
		err  error
		want bool
	}{
		"name":        {badName, nameGrammar.MatchString(s)},
		"request key": {badKey, keyGrammar.MatchString(s) && (!strings.HasPrefix(s, "writ:") || mintedGrammar.MatchString(s))},
		"intent id":   {badID, intentIDGrammar.MatchString(s)},
		"digest":      {badDigest, digestGrammar.MatchString(s)},
	} {
		if (c.err == nil) != c.want {
			t.Errorf("%q as %s: %v, and the grammar says %v", s, what, c.err, c.want)
		}
	}
	for _, err := range []error{badName, badKey, badID} {
		if err != nil {
			reject(err)
		}
	}
}

// FuzzNames holds the names, request keys, intent ids and digests that are accepted against
// their grammars.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"", "a", ".a", "payments.capture", "a b", "p\u0430y", "\xff", "writ:", "writ:auto:9b2f3e5c-8a34-4c1f-a7de-0123456789ab",
		"9b2f3e5c-8a34-4c1f-a7de-0123456789ab", "9B2F3E5C-8A34-4C1F-A7DE-0123456789AB", "{9b2f3e5c-8a34-4c1f-a7de-0123456789ab}",
		"urn:uuid:9b2f3e5c-8a34-4c1f-a7de-0123456789ab", "9b2f3e5c8a344c1fa7de0123456789ab", strings.Repeat("a", 255), strings.Repeat("a", 256),
		strings.Repeat("0f", 32), "writ:auto:9b2f3e5c-8a34-4c1f-a7de-0123456789aB", "a\n", "a/", "~ !",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkGrammars(t, s, func(err error) { wantCode(t, []byte(s), err) })
	})
}
