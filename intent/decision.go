package intent

// DecisionKind is what a person decided about an intent.
type DecisionKind string

const (
	// Confirm: it may be sent.
	Confirm DecisionKind = "confirm"
	// Deny: it is refused.
	Deny DecisionKind = "deny"
	// Cancel: nothing more is sent. What was sent is not taken back.
	Cancel DecisionKind = "cancel"
	// ResolveApplied: the effect happened, whatever the attempts show.
	ResolveApplied DecisionKind = "resolve_applied"
	// ResolveNotApplied: it did not, and the intent fails.
	ResolveNotApplied DecisionKind = "resolve_not_applied"
	// Retry: the budgets of attempts and lookups begin anew; the rule decides on.
	Retry DecisionKind = "retry"
	// Inquire: the provider is asked again.
	Inquire DecisionKind = "inquire"
	// Reissue: an intent that failed begins again under a new key.
	Reissue DecisionKind = "reissue"
	// Acknowledge: somebody has dealt with the intent's alert.
	Acknowledge DecisionKind = "acknowledge"
)
