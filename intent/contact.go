package intent

// Contact is what an attempt showed of its provider. It decides nothing about the intent: whoever
// watches whether providers answer goes by it. The zero Contact says that nobody said.
type Contact string

const (
	// NoContact: nothing. The tool was not called, or broke before or beside the provider.
	NoContact Contact = "none"
	// Answered: the provider is there, whatever it said.
	Answered Contact = "answered"
	// Unanswered: there was no connection, no answer, or one that says that nobody knows.
	Unanswered Contact = "unanswered"
)

// Given returns what an attempt of that outcome showed: c, or else what the outcome tells. Who
// knows what became of an effect has been answered.
func (c Contact) Given(o Outcome) Contact {
	switch {
	case c != "":
		return c
	case o == Unknown:
		return Unanswered
	}
	return Answered
}
