package tools

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// place is a location in a document, as the subschemas that may be of the value there:
// those of every branch, also of branches that the document does not take.
type place struct {
	schemas []*jsonschema.Schema
	// secret says that one of them is marked writeOnly, and secretNames that the names of
	// the members there are.
	secret, secretNames bool
}

// places finds the places of the failures of one document. It remembers them by their
// pointers.
type places struct {
	*graph
	known map[string]place
}

func (g *graph) newPlaces() places {
	return places{g, map[string]place{"": g.place([]*jsonschema.Schema{g.root})}}
}

// shown returns the part of a location that may be repeated, and the place there. Where
// that place is secret, nothing more may be said of it: not what is below it, and not what
// is wanted.
func (p places) shown(location []string) ([]string, place) {
	if p.graph == nil || !p.secrets {
		return location, place{}
	}
	at, pointer := p.known[""], ""
	for i, token := range location {
		if at.secret || at.secretNames {
			return location[:i], place{secret: true}
		}
		pointer += "/" + pointerToken(token)
		next, known := p.known[pointer]
		if !known {
			next = p.below(at, token)
			p.known[pointer] = next
		}
		at = next
	}
	return location, at
}

func (p places) below(at place, token string) place {
	var list []*jsonschema.Schema
	for _, s := range at.schemas {
		list = append(list, inside(s, token)...)
	}
	return p.place(list)
}

// place closes a list of subschemas over those that are of the same value.
func (g *graph) place(pending []*jsonschema.Schema) place {
	var p place
	seen := map[*jsonschema.Schema]bool{}
	for len(pending) > 0 {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		p.schemas = append(p.schemas, s)
		p.secret = p.secret || s.WriteOnly
		if names := g.names[s]; names != nil {
			p.secretNames = p.secretNames || g.place([]*jsonschema.Schema{names}).secret
		}
		pending = append(pending, g.same(s)...)
	}
	return p
}
