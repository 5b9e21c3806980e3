package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is a JSON Schema of one member of a payload. All members are strings, money
// too: a JSON number would be rounded by somebody on its way.
type schema map[string]any

// members is what a payload may hold, by name.
type members map[string]schema

// payloadOf returns the schema of a payload. A member that is not in it is refused: a
// misspelt one would otherwise be authorized and then ignored.
func payloadOf(m members, required ...string) json.RawMessage {
	raw, err := json.Marshal(schema{"type": "object", "properties": m, "required": required, "additionalProperties": false})
	if err != nil {
		panic("sample: a schema of strings and numbers did not marshal: " + err.Error())
	}
	return raw
}

var (
	identifier = matching(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`,
		"1 to 128 letters, digits or . _ : / @ -, starting with a letter or digit")
	amount = matching(`^([1-9][0-9]{0,11}(\.[0-9]{1,3})?|0\.([1-9][0-9]{0,2}|0[1-9][0-9]?|00[1-9]))$`,
		`a positive decimal in a string, with at most three decimals, such as "129.90"`)
	currency = matching(`^[A-Z]{3}$`, `three capital letters of ISO 4217, such as "EUR"`)
)

func matching(pattern, description string) schema {
	return schema{"type": "string", "pattern": pattern, "description": description}
}

// text is a string of at most that many bytes that is not blank. A schema counts
// characters and knows no alphabet's spaces, so checkTexts looks at the rest.
func text(most int) schema {
	return schema{"type": "string", "minLength": 1, "maxLength": most}
}

// checkTexts refuses what the schema cannot: texts that are blank, or longer in bytes than
// in characters. It names the first in order and never repeats its value.
func (m members) checkTexts(payload []byte) error {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(payload, &sent); err != nil {
		return errors.New("the payload must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		most, limited := m[name]["maxLength"].(int)
		raw, present := sent[name]
		if !limited || !present {
			continue
		}
		var value string
		if err := json.Unmarshal(raw, &value); err != nil || len(value) > most || strings.TrimSpace(value) == "" {
			return fmt.Errorf("%s must have at most %d bytes and not be blank", name, most)
		}
	}
	return nil
}
