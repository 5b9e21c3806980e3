package effecthttp

import (
	"encoding/json"
	"strconv"
	"strings"
)

// nameIn returns the text or the number at a JSON Pointer (RFC 6901) of an answer; empty if
// there is none, because an answer that does not name its effect is an answer all the same.
func nameIn(body []byte, pointer string) string {
	if !strings.HasPrefix(pointer, "/") {
		return ""
	}
	at := json.RawMessage(body)
	for token := range strings.SplitSeq(pointer[1:], "/") {
		// Section 4: ~1 is decoded before ~0.
		at = member(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	var name string
	if json.Unmarshal(at, &name) == nil {
		return name
	}
	// A number keeps its digits: half of all large ones would be rounded as a float.
	var number json.Number
	if json.Unmarshal(at, &number) == nil {
		return number.String()
	}
	return ""
}

// member returns what an object or an array holds under a token, nil for nothing.
func member(in json.RawMessage, token string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(in, &object) == nil {
		return object[token]
	}
	var array []json.RawMessage
	index, err := strconv.Atoi(token)
	if json.Unmarshal(in, &array) != nil || err != nil || index < 0 || index >= len(array) {
		return nil
	}
	return array[index]
}
