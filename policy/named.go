package policy

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/intent"
)

// named is a gate or a policy.
type named interface{ Name() string }

// CheckHost is the error, with code invalid_configuration, of a host's policy or gate that could not
// be asked, or whose name could not stand in a decision. nil ones are left out.
func CheckHost(p Policy, g Gates) error {
	for what, whom := range map[string]named{"Policy": p, "Gates.Risk": g.Risk, "Gates.Consent": g.Consent, "Gates.Egress": g.Egress} {
		if whom == nil {
			continue
		}
		if v := reflect.ValueOf(whom); v.Kind() == reflect.Pointer && v.IsNil() {
			return intent.Errorf(intent.CodeInvalidConfig, "%s is a nil %T; leave it out, or give one that answers", what, whom)
		}
		if name := whom.Name(); name == "" || len(name) > maxID || !prints(name) {
			return intent.Errorf(intent.CodeInvalidConfig, "the name of %s, a %T, is not of 1 to %d bytes that print; it stands in decisions and receipts", what, whom, maxID)
		}
	}
	return nil
}

func prints(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
