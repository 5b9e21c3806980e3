package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"writ/intent"
)

// Masked stands in a document for a value that is not shown.
const Masked = "***"

// Mask returns the document as it may be shown, in canonical form: in place of each value that the
// schema marks writeOnly, in any branch, stands [Masked], and in place of an object of which it
// marks the names of the members; rather of a value too many than of one too few. Such a value is
// sent and never shown again (JSON Schema Validation 2020-12, section 9.4). masked holds their
// places as JSON Pointers (RFC 6901), in the order of the document. It takes what [Schema.Validate]
// takes, whether it satisfies the schema or not.
func (s *Schema) Mask(doc []byte) (shown []byte, masked []string, err error) {
	if s == nil {
		return doc, nil, nil
	}
	c := s.checkers.Get().(*checker)
	defer s.checkers.Put(c)
	if !c.secrets {
		return doc, nil, nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, nil, fmt.Errorf("read the document: %w", err)
	}
	m := mask{places: c.newPlaces()}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m.of(value, "", m.known[""])); err != nil {
		return nil, nil, fmt.Errorf("write the document: %w", err)
	}
	shown, err = intent.Canonicalize(text.Bytes())
	return shown, m.masked, err
}

// mask is the masking of one document.
type mask struct {
	places
	masked []string
}

// of returns what may be shown of the value at a place.
func (m *mask) of(value any, pointer string, at place) any {
	object, isObject := value.(map[string]any)
	if at.secret || at.secretNames && isObject {
		m.masked = append(m.masked, pointer)
		return Masked
	}
	array, isArray := value.([]any)
	switch {
	case isObject:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			object[name] = m.of(object[name], pointer+"/"+pointerToken(name), m.below(at, name))
		}
	case isArray:
		for i, item := range array {
			index := strconv.Itoa(i)
			array[i] = m.of(item, pointer+"/"+index, m.below(at, index))
		}
	}
	return value
}
