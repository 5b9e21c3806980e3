package check

// The kinds of violations.
const (
	// Duplicate: an effect that happened more than once, or that nobody asked for.
	Duplicate = "duplicate"
	// Lost: what was accepted and has no row, no end, no receipt, or no effect although it is
	// said to be completed.
	Lost = "lost"
	// Denied: an effect that happened although its intent is said to have had none.
	Denied = "denied"
	// WrongKey: a request under another key than the row's, or a second generation.
	WrongKey = "wrong_key"
	// Unclaimed: a request without a claim that was there before it.
	Unclaimed = "unclaimed"
	// Unconfirmed: a claim before as many people had confirmed exactly that as have to.
	Unconfirmed = "unconfirmed"
	// Doubt: an intent in doubt that its class does not allow to be so.
	Doubt = "doubt"
	// Contradiction: receipts, rows, answers or workflows that do not agree.
	Contradiction = "contradiction"
	// Incomplete: evidence is missing, so that nothing can be concluded from the rest.
	Incomplete = "incomplete"
)

// Violation is one thing that must not be.
type Violation struct {
	Kind       string `json:"kind"`
	RequestKey string `json:"request_key,omitempty"`
	What       string `json:"what"`
}

// Class counts the intents of one effect class.
type Class struct {
	Class      string `json:"class"`
	Intents    int    `json:"intents"`
	Completed  int    `json:"completed"`
	Failed     int    `json:"failed"`
	InDoubt    int    `json:"in_doubt"`
	Effects    int    `json:"effects"`
	Duplicates int    `json:"duplicates"`
	Lost       int    `json:"lost"`
	// Unjustified counts the intents in doubt that may not be.
	Unjustified int `json:"unjustified_doubt"`
	// Late counts the second effects of requests that the provider performed after it had
	// answered, when that could be trusted, that there is none: the documented residue.
	Late int `json:"performed_late"`
}

// Verdict is what the judge found.
type Verdict struct {
	Classes    []Class     `json:"classes"`
	Violations []Violation `json:"violations"`
	Recoveries []Recovery  `json:"recoveries"`
}

// Total sums up the classes.
func (v Verdict) Total() Class {
	total := Class{Class: "all"}
	for _, c := range v.Classes {
		total.Intents += c.Intents
		total.Completed += c.Completed
		total.Failed += c.Failed
		total.InDoubt += c.InDoubt
		total.Effects += c.Effects
		total.Duplicates += c.Duplicates
		total.Lost += c.Lost
		total.Unjustified += c.Unjustified
		total.Late += c.Late
	}
	return total
}
