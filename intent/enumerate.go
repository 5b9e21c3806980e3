package intent

// States returns every state of a row among the intents, in the order of an intent's life. Submitted
// is none of them: what is enqueued becomes such a row.
func States() []State {
	return []State{AwaitingConfirmation, Recorded, Invoking, InDoubt, Completed, Failed, Refused, Cancelled}
}

// Classes returns every effect class, from the strongest guarantee to the weakest.
func Classes() []Class { return []Class{Read, Transactional, Keyed, Reconcilable, Opaque} }

// DecisionKinds returns every kind of decision.
func DecisionKinds() []DecisionKind {
	return []DecisionKind{Confirm, Deny, Cancel, ResolveApplied, ResolveNotApplied, Retry, Inquire, Reissue, Acknowledge}
}

// Findings returns every finding of a lookup.
func Findings() []Finding { return []Finding{Found, Absent, Unclear} }
