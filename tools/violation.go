package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxViolation is the size in bytes of a violation's text.
const maxViolation = 1000

// violation says where a document does not satisfy a schema, and what is wanted there.
type violation struct {
	// location is the path to the value; empty for the whole document.
	location []string
	wants    string
	// more is how many other failures there are.
	more int
}

func (v *violation) Error() string {
	text := "it " + v.wants
	if len(v.location) > 0 {
		text = pointerText(v.location) + ": " + v.wants
	}
	rest := ""
	if v.more > 0 {
		rest = fmt.Sprintf(" (and %d more)", v.more)
	}
	return cut(text, maxViolation-len(rest)) + rest
}

// uncheckable is a document that was not compared with its schema.
func uncheckable(why string) error {
	return &violation{wants: "cannot be checked against its schema: " + why}
}

// render makes one violation of all failures. The library's own texts are not used: they
// repeat values.
func render(failure *jsonschema.ValidationError, g *graph) *violation {
	r := renderer{graph: g}
	if g != nil {
		r.places = g.newPlaces()
	}
	list := r.list(failure)
	first := slices.MinFunc(list, compareFailures)
	// Failures at or below one secret place are one: how many there are would tell of it.
	seen := map[string]bool{}
	more := -1
	for _, f := range list {
		if f.secret {
			key := pointerOf(f.location)
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		more++
	}
	return &violation{location: first.location, wants: r.wanted(first), more: more}
}

// failed is one failure of one keyword, with as much of its location as may be shown.
type failed struct {
	*jsonschema.ValidationError
	location []string
	// secret says that nothing may be said of the value; secretNames, of its members' names.
	secret, secretNames bool
}

// renderer turns the failures of one document into text.
type renderer struct {
	graph  *graph
	places places
}

// list returns the failures that have no others underneath, in no order.
func (r renderer) list(failure *jsonschema.ValidationError) []failed {
	switch failure.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var all []failed
		for _, cause := range failure.Causes {
			all = append(all, r.list(cause)...)
		}
		return all
	default:
		location, at := r.places.shown(failure.InstanceLocation)
		return []failed{{failure, location, at.secret, at.secretNames}}
	}
}

// compareFailures orders failures by where they are, and at one place by keyword and by
// where the keyword stands in the schema. The library finds them in no order.
func compareFailures(a, b failed) int {
	if c := slices.CompareFunc(a.location, b.location, compareTokens); c != 0 {
		return c
	}
	// What is said of a secret place is one sentence, whatever is wrong with it.
	if a.secret || b.secret {
		return 0
	}
	return cmp.Or(slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()), cmp.Compare(a.SchemaURL, b.SchemaURL))
}

// compareTokens orders the indexes of an array by number.
func compareTokens(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil && i != j {
		return cmp.Compare(i, j)
	}
	return cmp.Compare(a, b)
}
