package cedar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
)

// maxItems bounds an array that policies read: Cedar's sets take time that grows with the square
// of their size if somebody chooses the items to that end.
const maxItems = 10_000

// errUnspeakable says that Cedar has no word for a value.
var errUnspeakable = errors.New("no policy can read this payload")

// recordOf gives policies the members of a payload, canonical JSON, that some policy reads.
func recordOf(payload []byte, f *field, reads func(string) bool) (types.Record, error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber() // a float64 would round
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		return types.Record{}, fmt.Errorf("%w: it is not an object", errUnspeakable)
	}
	for name := range members {
		if !reads(name) {
			delete(members, name)
		}
	}
	return membersOf(members, f, "")
}

// membersOf gives the members of an object; at is where it stands.
func membersOf(members map[string]any, f *field, at string) (types.Record, error) {
	out := make(types.RecordMap, len(members))
	for name, value := range members {
		sub := f.members[name]
		if sub == nil {
			sub = &field{}
		}
		if value == nil && sub.nullable {
			continue // the schema says that null may stand here, and policies must ask with has
		}
		given, err := valueOf(value, sub, at+"/"+name)
		if err != nil {
			return types.Record{}, err
		}
		out[types.String(name)] = given
	}
	return types.NewRecord(out), nil
}

func valueOf(value any, f *field, at string) (types.Value, error) {
	switch v := value.(type) {
	case string:
		if f.kind == decimal {
			if d, ok := exactDecimal(v); ok {
				return d, nil
			}
		}
		return types.String(v), nil
	case bool:
		return types.Boolean(v), nil
	case json.Number:
		return numberOf(v.String(), f.kind), nil
	case []any:
		return setOf(v, f, at)
	case map[string]any:
		return membersOf(v, f, at)
	}
	// Cedar has no null, and leaving it out would hide from a forbid that the member is there.
	return nil, fmt.Errorf("%w: %s is null, and the tool's input schema does not say that it may be", errUnspeakable, at)
}

func setOf(items []any, f *field, at string) (types.Value, error) {
	if len(items) > maxItems {
		return nil, fmt.Errorf("%w: %s has more than %d items", errUnspeakable, at, maxItems)
	}
	of := f.items
	if of == nil {
		of = &field{}
	}
	values := make([]types.Value, len(items))
	for i, item := range items {
		var err error
		if values[i], err = valueOf(item, of, at+"/"+strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	return types.NewSet(values...), nil
}

// numberOf gives a number in canonical form as a long, or as a decimal, if that is exactly it, else
// as its text: equal only to itself, and an order or a sum with it fails.
func numberOf(number string, k kind) types.Value {
	if k != decimal {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			return types.Long(n)
		}
	}
	if k != long {
		if d, ok := exactDecimal(number); ok {
			return d
		}
	}
	return types.String(number)
}

// plainDecimal is what Cedar's decimals hold: at most four digits after the point. Others that
// Go's parser would take, such as "+1", are not amounts.
var plainDecimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]{1,4})?$`)

func exactDecimal(number string) (types.Decimal, bool) {
	if whole, fraction, ok := strings.Cut(number, "."); ok {
		if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
			fraction = "0"
		}
		number = whole + "." + fraction
	} else {
		number += ".0"
	}
	if !plainDecimal.MatchString(number) {
		return types.Decimal{}, false
	}
	d, err := types.ParseDecimal(number)
	return d, err == nil
}
