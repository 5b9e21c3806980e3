package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checker is a compiled schema that checks one document at a time.
type checker struct {
	*graph
	// cost is how many steps it takes to compare a value with a subschema, besides what
	// grows with the value.
	cost map[*jsonschema.Schema]int
	// digits is the length of the longest number in the schema.
	digits int
	// left is how many steps the running check may still take.
	left int
}

// newChecker compiles the schema and puts a hook at each subschema, which the library calls
// before it goes on to what the subschema holds. The hook counts, and does what the library
// does not do well:
//
//   - uniqueItems: its hash does not tell [[],[]] from [[[]]], so that an array of such items
//     is compared pair by pair; here each item is looked up by its canonical form;
//   - propertyNames: the location that it reports may be a later one's.
//
// The hook stands in the place of "format", which is an annotation in draft 2020-12 (section 7.2.1
// of the validation specification) and is not checked.
func newChecker(canonical []byte) (*checker, error) {
	g, err := compile(canonical)
	if err != nil {
		return nil, err
	}
	c := &checker{graph: g, cost: make(map[*jsonschema.Schema]int, len(g.all))}
	for _, s := range g.all {
		c.cost[s] = ownCost(s)
		for _, number := range numbersOf(s) {
			c.digits = max(c.digits, digitsOf(number))
		}
	}
	for _, s := range g.all {
		s.Format = &jsonschema.Format{Validate: c.hook(s)}
	}
	return c, nil
}

// check returns a *violation, or nil.
func (c *checker) check(value any, of size) (err error) {
	of.digits = max(of.digits, c.digits)
	c.left = of.steps()
	defer func() {
		switch p := recover(); p.(type) {
		case nil:
		case spent:
			err = uncheckable("comparing it with its schema would take too long")
		default:
			// What the panic says may hold a value.
			err = uncheckable("comparing it with its schema panicked")
		}
	}()
	c.spend(c.cost[c.root])
	var failure *jsonschema.ValidationError
	if errors.As(c.root.Validate(value), &failure) {
		return render(failure, c.graph)
	}
	return nil
}

// hook returns what is done before the subschemas of s are compared with a value.
func (c *checker) hook(s *jsonschema.Schema) func(any) error {
	unique, names := s.UniqueItems, s.PropertyNames
	s.UniqueItems, s.PropertyNames = false, nil
	costs := c.costsOf(s)
	costs.names = c.cost[names]
	return func(value any) error {
		switch value := value.(type) {
		case string:
			c.spend(costs.of(value))
		case []any:
			c.spend(costs.same*c.breadth(len(value)) + costs.items*len(value) + c.costOfPrefix(s, len(value)))
			if unique {
				return c.unique(value)
			}
		case map[string]any:
			c.spend(costs.same * c.breadth(len(value)))
			for name := range value {
				c.spend(costs.ofMember(name) + c.cost[s.Properties[name]])
			}
			if names != nil {
				return badName(names, value)
			}
		default:
			c.spend(costs.same)
		}
		return nil
	}
}

// breadth is what a subschema of the same value costs for a value with that many members
// or items: the library notes which of them were evaluated.
func (c *checker) breadth(n int) int {
	if c.unevaluated {
		return 1 + n
	}
	return 1
}

// unique returns duplicateItems if two items are the same value.
func (c *checker) unique(items []any) error {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		// Members come out in order, and the numbers are canonical already.
		text, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		c.spend(1 + len(text)/64)
		if first, found := seen[string(text)]; found {
			return duplicateItems{first, i}
		}
		seen[string(text)] = i
	}
	return nil
}

// duplicateItems are the indexes of two equal items.
type duplicateItems struct{ first, second int }

func (d duplicateItems) Error() string {
	return fmt.Sprintf("items %d and %d are equal", d.first, d.second)
}

// badName returns the first name, in order, that does not satisfy the schema of names.
func badName(names *jsonschema.Schema, object map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if names.Validate(name) != nil {
			return refusedName(name)
		}
	}
	return nil
}

// refusedName is a member's name that propertyNames refuses.
type refusedName string

func (n refusedName) Error() string { return "a name is refused" }
