package sample

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// decode reads a payload strictly: every member is known, and those that must be there
// are. The error names members and never repeats a value.
func decode(payload []byte, into any, required ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return errors.New("it is not a JSON object")
	}
	for _, name := range required {
		if value, ok := members[name]; !ok || string(value) == "null" {
			return fmt.Errorf("member %q is missing", name)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var bad *json.UnmarshalTypeError
	if errors.As(err, &bad) {
		return fmt.Errorf("member %q must be a string", bad.Field)
	}
	return err
}

var (
	identifierForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
	// Money is an exact decimal string with up to three decimals, the most that ISO 4217
	// has in use. A JSON number would be rounded by half of all clients.
	moneyForm    = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(\.[0-9]{1,3})?$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
)

type identifier string

func (identifier) rule() string {
	return "an identifier of 1 to 128 letters, digits or . _ : / @ -"
}

func (i *identifier) UnmarshalText(b []byte) error {
	return accept(i, b, identifierForm.Match(b))
}

type money string

func (money) rule() string { return `a positive decimal string such as "125.00"` }

func (m *money) UnmarshalText(b []byte) error {
	return accept(m, b, moneyForm.Match(b) && bytes.ContainsAny(b, "123456789"))
}

type currency string

func (currency) rule() string { return `three capital letters such as "EUR"` }

func (c *currency) UnmarshalText(b []byte) error { return accept(c, b, currencyForm.Match(b)) }

type required string

func (required) rule() string { return "a text that is not blank" }

func (r *required) UnmarshalText(b []byte) error {
	return accept(r, b, strings.TrimSpace(string(b)) != "")
}

// optional is any text.
type optional string

// accept stores b if it is good and says what is wanted if it is not.
func accept[T interface {
	~string
	rule() string
}](into *T, b []byte, good bool) error {
	if !good {
		return fmt.Errorf("a member must be %s", (*into).rule())
	}
	*into = T(b)
	return nil
}
