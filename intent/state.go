package intent

import (
	"math"
	"time"
)

// Class is the effect class of a tool: what may be done when an outcome is unknown.
type Class string

const (
	// Read has no effect on the outside world: run it again.
	Read Class = "read"
	// Keyed is performed at most once per idempotency key while the provider remembers
	// the key: send it again with the same key.
	Keyed Class = "keyed"
	// Opaque promises nothing: never send it again.
	Opaque Class = "opaque"
)

// State is where an intent stands in its life.
type State string

const (
	// AwaitingConfirmation: committed, and nothing may be sent before a person has confirmed
	// it.
	AwaitingConfirmation State = "awaiting_confirmation"
	// Recorded: authorized and committed; nothing was sent.
	Recorded State = "recorded"
	// Invoking: at least one attempt was granted permission to send.
	Invoking State = "invoking"
	// InDoubt: the effect may or may not have happened, and nothing more may be sent. It
	// waits for evidence or for a person.
	InDoubt State = "in_doubt"
	// Completed: the effect happened. Final.
	Completed State = "completed"
	// Failed: every attempt was proven to have had no effect. Final.
	Failed State = "failed"
	// Refused: policy or a person said no before anything was sent. Final.
	Refused State = "refused"
)

// Ended reports whether s is final: no step follows.
func (s State) Ended() bool {
	switch s {
	case Completed, Failed, Refused:
		return true
	case AwaitingConfirmation, Recorded, Invoking, InDoubt:
		return false
	}
	return false
}

// CanMove says which transitions exist. The database refuses every other one too.
func CanMove(from, to State) bool {
	switch from {
	case AwaitingConfirmation:
		return to == Recorded || to == Refused
	case Recorded:
		return to == Invoking || to == Refused
	case Invoking:
		return to == Invoking || to == Completed || to == Failed || to == InDoubt
	case InDoubt:
		return to == Invoking || to == Completed || to == Failed
	case Completed, Failed, Refused:
		return false
	}
	return false
}

// Forever is a key window that never ends.
const Forever = time.Duration(math.MaxInt64)

// Rules are the part of a tool's spec that the protocol needs. Their JSON form stands on
// every intent's row, so its names never change.
type Rules struct {
	Class Class `json:"class"`
	// Provider names who performs the effect and keeps the keys.
	Provider string `json:"provider,omitempty"`
	// Retryable says that a definite failure may be tried again.
	Retryable bool `json:"retryable"`
	// Timeout bounds one attempt.
	Timeout time.Duration `json:"timeout_ns"`
	// MaxAttempts bounds the attempts over the intent's whole life.
	MaxAttempts int `json:"max_attempts"`
	// InitialBackoff is the wait after the first failed attempt. It doubles with each
	// further one, up to MaxBackoff.
	InitialBackoff time.Duration `json:"initial_backoff_ns"`
	MaxBackoff     time.Duration `json:"max_backoff_ns"`
	// Window is how long the provider remembers a key, counted from the first request of
	// the generation: 0 if nobody knows, Forever if it never forgets.
	Window time.Duration `json:"window_ns"`
}

// Continues reports whether a tool that behaves as r may go on with an intent whose
// earlier attempts were sent under the rules before: the same provider must know the same
// key for at least as long, or an open outcome would be sent as a new effect.
func (r Rules) Continues(before Rules) bool {
	return r.Class == before.Class && r.Provider == before.Provider && r.Window >= before.Window
}

// Attempt is one claim and what is known of it.
type Attempt struct {
	Number     int
	Generation int
	ClaimedAt  time.Time
	// LeaseUntil is the time by which the attempt's worker has stopped sending.
	LeaseUntil time.Time
	// Outcome is empty while there is no evidence.
	Outcome Outcome
	// EvidenceAt is when the evidence was recorded.
	EvidenceAt time.Time
	// Final, RetryAfter and InProgress are what the evidence says of trying again.
	Final      bool
	RetryAfter time.Duration
	InProgress bool
}

// Record is everything that a step is decided on.
type Record struct {
	State      State
	Version    int64
	Generation int
	// FirstSentAt is the time of the generation's first claim; zero if there is none.
	FirstSentAt time.Time
	// ConfirmBy is until when a person may confirm. Only for AwaitingConfirmation.
	ConfirmBy time.Time
	// Attempts of all generations, ordered by number.
	Attempts []Attempt
	Rules    Rules
}
