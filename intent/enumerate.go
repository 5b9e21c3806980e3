package intent

// States returns every state, in the order of an intent's life.
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
