package jsonpointer

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Check says what is wrong with a pointer to a member or an element. The empty pointer, which
// names the whole document, is none of those.
func Check(pointer string) error {
	if pointer == "" || !jsontext.Pointer(pointer).IsValid() {
		return errors.New("want a JSON Pointer (RFC 6901) such as /data/0/id, with ~1 for / and ~0 for ~ in names")
	}
	return nil
}

// Text returns the text or the number that a pointer names in a document, a number digit for
// digit; empty if there is none, if the pointer fails [Check], or if the document is no JSON.
func Text(document []byte, pointer string) string {
	if Check(pointer) != nil {
		return ""
	}
	at := json.RawMessage(document)
	for token := range jsontext.Pointer(pointer).Tokens() {
		at = inside(at, token)
	}
	var text string
	if json.Unmarshal(at, &text) == nil {
		return text
	}
	// A number keeps its digits: half of all large ones would be rounded as a float.
	var number json.Number
	if json.Unmarshal(at, &number) == nil {
		return number.String()
	}
	return ""
}

// inside returns what an object or an array holds under a token, nil for nothing.
func inside(value json.RawMessage, token string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil {
		return object[token]
	}
	var array []json.RawMessage
	index, err := strconv.ParseUint(token, 10, 31)
	// Section 4: an index has digits only, and no leading zero.
	plain := err == nil && strconv.FormatUint(index, 10) == token
	if json.Unmarshal(value, &array) != nil || !plain || index >= uint64(len(array)) {
		return nil
	}
	return array[index]
}
