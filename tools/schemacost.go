package tools

import (
	"encoding/json"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// These are rough, and err upwards: they only have to keep a check's time in proportion.
const (
	// instructionsPerStep is how many instructions of a regular expression are run on one byte
	// in the time of a step.
	instructionsPerStep = 32
	// bytesPerStep is how much of a text is counted or copied in the time of a step.
	bytesPerStep = 256
	// namesPerStep is how many names of required are looked up in the time of a step.
	namesPerStep = 8
	// digitsPerStep is how many digits of a number are read in the time of a step.
	digitsPerStep = 64
)

// ownCost is the steps that it takes to compare a value with s itself.
func ownCost(s *jsonschema.Schema) int {
	required := len(s.Required)
	for _, names := range s.DependentRequired {
		required += len(names)
	}
	cost := 1 + required/namesPerStep
	if s.Enum != nil {
		cost += sizeOf(s.Enum.Values)
	}
	if s.Const != nil {
		cost += sizeOf(*s.Const)
	}
	return cost
}

// sizeOf counts the values in v.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case json.Number:
		n += writtenOut(v.String()) / digitsPerStep
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case map[string]any:
		for _, member := range v {
			n += sizeOf(member)
		}
	}
	return n
}

// numbersOf returns the numbers that values are compared with; some are nil.
func numbersOf(s *jsonschema.Schema) []*big.Rat {
	return []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf}
}

// costs is what the subschemas inside one subschema cost.
type costs struct {
	// same is of those that are of the same value, items of those of each item, member
	// of those of each member, besides the one that properties names for it.
	same, items, member int
	// names is of the schema of names, and program the instructions that each name is run through.
	names, program int
	// text is the instructions that a text is run through.
	text int
}

func (c *checker) costsOf(s *jsonschema.Schema) costs {
	var sum costs
	for _, part := range c.same(s) {
		sum.same += c.cost[part]
	}
	for _, part := range present([]*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems}) {
		sum.items += c.cost[part]
	}
	for _, part := range present([]*jsonschema.Schema{additional(s), s.UnevaluatedProperties}) {
		sum.member += c.cost[part]
	}
	for expression, part := range s.PatternProperties {
		sum.member += c.cost[part]
		sum.program += instructions(expression)
	}
	sum.text = instructions(s.Pattern)
	return sum
}

// costOfPrefix is what comparing the first n items with their own subschemas costs.
func (c *checker) costOfPrefix(s *jsonschema.Schema, n int) (sum int) {
	for _, part := range s.PrefixItems[:min(n, len(s.PrefixItems))] {
		sum += c.cost[part]
	}
	return sum
}

func (c costs) of(text string) int {
	return c.same + len(text)/bytesPerStep + len(text)*c.text/instructionsPerStep
}

func (c costs) ofMember(name string) int {
	return c.member + c.names + len(name)*c.program/instructionsPerStep
}

func instructions(expression jsonschema.Regexp) int {
	if p, ok := expression.(*pattern); ok {
		return p.instructions
	}
	return 0
}
