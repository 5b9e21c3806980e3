package intent

// States returns every state, in the order of an intent's life.
func States() []State {
	return []State{AwaitingConfirmation, Recorded, Invoking, InDoubt, Completed, Failed, Refused}
}

// Classes returns every effect class.
func Classes() []Class { return []Class{Read, Keyed, Opaque} }
