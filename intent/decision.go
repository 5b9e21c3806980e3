package intent

// DecisionKind is what a person decided about an intent.
type DecisionKind string

const (
	// Confirm: it may be sent.
	Confirm DecisionKind = "confirm"
	// Deny: it is refused.
	Deny DecisionKind = "deny"
)
