package policy

import (
	"encoding/json"

	"writ/intent"
)

// Hosted is a tool of the worker that a policy is to rule.
type Hosted struct {
	Name, Category, Provider string
	Class                    intent.Class
	SideEffectful            bool
	// InputSchema is what a payload must be, in JSON Schema; empty: any object.
	InputSchema json.RawMessage
	// Amount is a JSON Pointer to the member of the payload that holds an exact amount, as a
	// decimal string or a number; empty: none.
	Amount string
}

// Checked is a [Policy] that is checked against the tools which it is to rule, before it rules
// them. A worker asks for it when it is made.
type Checked interface {
	Policy
	// ForTools returns the policy for these tools. Its error has code invalid_policy and says what
	// no tool has.
	ForTools(hosted []Hosted) (Policy, error)
}

// Written is a [Policy] with a text. A worker keeps the text in PostgreSQL, so that a decision which
// names the digest can be explained later.
type Written interface {
	Policy
	Digest() intent.Digest
	// Files are the texts under the names of their files.
	Files() map[string]string
}
