package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shape is what a payload may hold, by member name. A member that is not in it is
// refused: a misspelt one would otherwise be authorized and then ignored.
type shape map[string]field

type field struct {
	required bool
	rule     rule
}

// rule is what a member's value must be. All members are strings, money too: a JSON
// number would be rounded by somebody on its way.
type rule struct {
	says string // for the error; it follows "must be"
	good func(string) bool
}

// check returns an error that names the member and never repeats its value. It reports
// the first in alphabetical order, so that the same payload gets the same error.
func (s shape) check(payload []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil || members == nil {
		return errors.New("the payload must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, known := s[name]; !known {
			return fmt.Errorf("unknown field %s; the fields are %s", quoteName(name), strings.Join(slices.Sorted(maps.Keys(s)), ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		raw, present := members[name]
		if !present {
			if s[name].required {
				return fmt.Errorf("%s is missing; it must be %s", name, s[name].rule.says)
			}
			continue
		}
		var value *string
		if err := json.Unmarshal(raw, &value); err != nil || value == nil || !s[name].rule.good(*value) {
			return fmt.Errorf("%s must be %s", name, s[name].rule.says)
		}
	}
	return nil
}

// maxName is how much of an unknown member's name an error repeats, in bytes.
const maxName = 64

// quoteName bounds a name that the caller chose: a payload may be one name of its whole size.
func quoteName(name string) string {
	if len(name) <= maxName {
		return strconv.Quote(name)
	}
	cut := maxName
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return strconv.Quote(name[:cut]) + "... (cut)"
}

var (
	identifierForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
	amountForm     = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(\.[0-9]{1,3})?$`)
	currencyForm   = regexp.MustCompile(`^[A-Z]{3}$`)
)

var identifier = rule{
	says: "a string of 1 to 128 letters, digits or . _ : / @ -, starting with a letter or digit",
	good: identifierForm.MatchString,
}

var amount = rule{
	says: `a positive decimal in a string, with at most three decimals, such as "129.90"`,
	good: func(s string) bool { return amountForm.MatchString(s) && strings.ContainsAny(s, "123456789") },
}

var currency = rule{
	says: `three capital letters of ISO 4217, such as "EUR"`,
	good: currencyForm.MatchString,
}

func text(most int) rule {
	return rule{
		says: fmt.Sprintf("a string of 1 to %d bytes that is not blank", most),
		good: func(s string) bool { return len(s) <= most && strings.TrimSpace(s) != "" },
	}
}
