package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// graph is a compiled schema as the subschemas that a check can reach, with the edges
// between them: some are of the same value, the others of a value inside it.
type graph struct {
	root *jsonschema.Schema
	// anchored holds the subschemas that a $dynamicRef may lead to, by name.
	anchored map[string][]*jsonschema.Schema
	// all holds every subschema by its location.
	all map[string]*jsonschema.Schema
	// names holds the schemas of propertyNames.
	names map[*jsonschema.Schema]*jsonschema.Schema
	// secrets says that something is marked writeOnly, and unevaluated that something has
	// unevaluatedProperties or unevaluatedItems.
	secrets, unevaluated bool
}

func newGraph(root *jsonschema.Schema) *graph {
	return &graph{
		root: root, anchored: map[string][]*jsonschema.Schema{}, all: map[string]*jsonschema.Schema{},
		names: map[*jsonschema.Schema]*jsonschema.Schema{},
	}
}

// same returns the subschemas that are of the same value as s.
func (g *graph) same(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	list = append(list, s.Ref, s.Not, s.If, s.Then, s.Else)
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	if dynamic := s.DynamicRef; dynamic != nil {
		list = append(list, dynamic.Ref)
		if dynamic.Anchor != "" {
			list = append(list, g.anchored[dynamic.Anchor]...)
		}
	}
	return present(list)
}

// ofItems returns the subschemas of s that are of items of an array, for any index.
func ofItems(s *jsonschema.Schema) []*jsonschema.Schema {
	return present(append(slices.Clone(s.PrefixItems), s.Items2020, s.Contains, s.UnevaluatedItems))
}

// ofMembers returns the subschemas of s that are of members of an object, for any name.
func ofMembers(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Collect(maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	return present(append(list, additional(s), s.UnevaluatedProperties))
}

func additional(s *jsonschema.Schema) *jsonschema.Schema {
	schema, _ := s.AdditionalProperties.(*jsonschema.Schema)
	return schema
}

func present(list []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(list, func(s *jsonschema.Schema) bool { return s == nil })
}

// inside returns the subschemas of s that are of the member or item named by token of the value
// that s is of; which of the two the value has is not known.
func inside(s *jsonschema.Schema, token string) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Properties[token], additional(s), s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems}
	for expression, schema := range s.PatternProperties {
		if expression.MatchString(token) {
			list = append(list, schema)
		}
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(s.PrefixItems) {
		list = append(list, s.PrefixItems[i])
	}
	return present(list)
}

// walk visits everything that can be reached and refuses what has no end or no meaning in
// draft 2020-12.
func (g *graph) walk() error {
	pending := []*jsonschema.Schema{g.root}
	for _, list := range g.anchored {
		pending = append(pending, list...)
	}
	for len(pending) > 0 {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if g.all[s.Location] != nil {
			continue
		}
		g.all[s.Location] = s
		if err := admit(s); err != nil {
			return err
		}
		g.secrets = g.secrets || s.WriteOnly
		g.unevaluated = g.unevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
		pending = slices.Concat(pending, g.same(s), ofItems(s), ofMembers(s))
		if s.PropertyNames != nil {
			g.names[s] = s.PropertyNames
			pending = append(pending, s.PropertyNames)
		}
	}
	return g.refuseLoops()
}

func admit(s *jsonschema.Schema) error {
	_, fragment, _ := strings.Cut(s.Location, "#")
	switch {
	case !strings.HasPrefix(s.Location, home+"#"):
		return fmt.Errorf("refers to %s, outside of itself; put what it refers to under $defs", quoteCut(s.Location))
	case s.RecursiveRef != nil:
		return fmt.Errorf("has $recursiveRef at %s, which draft 2020-12 calls $dynamicRef", quoteCut(fragment))
	case s.Dependencies != nil:
		return fmt.Errorf("has dependencies at %s, which draft 2020-12 calls dependentSchemas and dependentRequired", quoteCut(fragment))
	}
	return nil
}

// refuseLoops refuses references that lead back to where they started without stepping
// into the value: checking them would never end.
func (g *graph) refuseLoops() error {
	done := map[*jsonschema.Schema]bool{} // false while it is being visited
	var visit func(*jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		if finished, seen := done[s]; seen && !finished {
			return errors.New("refers to itself without end; refer to it from a member or an item")
		} else if seen {
			return nil
		}
		done[s] = false
		for _, next := range g.same(s) {
			if err := visit(next); err != nil {
				return err
			}
		}
		done[s] = true
		return nil
	}
	for _, location := range slices.Sorted(maps.Keys(g.all)) {
		if err := visit(g.all[location]); err != nil {
			return err
		}
	}
	return nil
}
