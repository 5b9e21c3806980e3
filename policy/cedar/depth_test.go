package cedar_test

import (
	"strings"
	"testing"

	"writ/intent"
	"writ/policy/cedar"
)

// Each is a mebibyte or less: the parser would overflow its stack, or the digest take hours.
func TestWhatNestsTooDeepIsRefusedBeforeItIsWorkedOn(t *testing.T) {
	t.Parallel()
	for name, nested := range map[string]func(levels int) string{
		"parentheses": func(n int) string { return strings.Repeat("(", n) + "true" + strings.Repeat(")", n) },
		"sets":        func(n int) string { return strings.Repeat("[", n-2) + "1" + strings.Repeat("]", n-2) + " == 1" },
		"records":     func(n int) string { return strings.Repeat("{a:", n-2) + "1" + strings.Repeat("}", n-2) + " == 1" },
		"a chain":     func(n int) string { return strings.Repeat("true && ", n-1) + "true" },
		"conditions":  func(n int) string { return strings.Repeat("if true then true else ", n-1) + "true" },
		"negations":   func(n int) string { return strings.Repeat("!", n-1) + "true" },
		"members":     func(n int) string { return "principal" + strings.Repeat(".a", n-1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load := func(n int) error {
				_, err := cedar.FromFiles(map[string]string{"a.cedar": "// (\n@reason(\"\\\"((\")\npermit (principal, action, resource) when { " + nested(n) + " };"})
				return err
			}
			if err := load(cedar.MaxDepth - 1); err != nil { // the braces of when are a level of brackets
				t.Errorf("%d levels: %v", cedar.MaxDepth-1, err)
			}
			for _, n := range []int{cedar.MaxDepth + 3, 40_000} {
				err := load(n)
				if intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), "nested deeper than 60 levels") || !strings.Contains(err.Error(), "a.cedar:") {
					t.Errorf("%d levels: %v", n, err)
				}
			}
		})
	}
}

// What a condition nests has a canonical form, whatever stands at its end.
func TestWhatNestsAsDeepAsAllowedHasADigest(t *testing.T) {
	t.Parallel()
	for _, end := range []string{`Role::"a" == Role::"b"`, `principal is Principal in Role::"a"`, `context.a like "a*b"`, `decimal("1.0").lessThan(decimal("2.0"))`} {
		text := "permit (principal, action, resource) when { " + strings.Repeat("!", cedar.MaxDepth-3) + "(" + end + ") };"
		if _, err := cedar.FromFiles(map[string]string{"a.cedar": text}); err != nil {
			t.Errorf("%s: %v", end, err)
		}
	}
}
