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
	// Transactional has its effect in the outbox's own database, in the transaction that
	// ends the intent: run it again.
	Transactional Class = "transactional"
	// Keyed is performed at most once per idempotency key while the provider remembers
	// the key: send it again with the same key.
	Keyed Class = "keyed"
	// Reconcilable can be looked up: send it again when a lookup shows that it did not
	// happen.
	Reconcilable Class = "reconcilable"
	// Opaque promises nothing: never send it again.
	Opaque Class = "opaque"
)

// State is where an intent stands in its life.
type State string

const (
	// Submitted: a host enqueued the request in a transaction of its own, and nobody has
	// authorized it yet. It has no row among the intents, and nothing can be sent.
	Submitted State = "submitted"
	// AwaitingConfirmation: committed, and nothing may be sent before a person has confirmed
	// it.
	AwaitingConfirmation State = "awaiting_confirmation"
	// Recorded: authorized and committed; nothing was sent under the generation's key.
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
	// Refused: policy or a person said no before anything was sent. Final, unless the same
	// request comes again; see DecidesAgain.
	Refused State = "refused"
	// Cancelled: a person stopped it, and every attempt, if there was any, was proven to have
	// had no effect. Final.
	Cancelled State = "cancelled"
)

// Ended reports whether s is final: no step follows. A person may still begin a new
// generation of an intent that failed, and a repeated request one of an intent that was refused.
func (s State) Ended() bool {
	switch s {
	case Completed, Failed, Refused, Cancelled:
		return true
	case Submitted, AwaitingConfirmation, Recorded, Invoking, InDoubt:
		return false
	}
	return false
}

// CanMove says which transitions exist. The database refuses every other one too.
//
// A recorded intent ends otherwise than by a refusal or a cancellation only in a generation
// after the first, by what becomes known of an earlier one, or after an attempt that is
// presumed; and nothing but a new generation leads back to Recorded from a state in which
// something was sent. A refusal is left, also for another refusal, only for a new generation that the
// same request asked for. What a person has not confirmed is in doubt only where the database lost
// commits, a confirmation perhaps among them.
func CanMove(from, to State) bool {
	switch from {
	case Submitted: // its first row among the intents, which is inserted
		return to == AwaitingConfirmation || to == Recorded || to == Refused
	case AwaitingConfirmation:
		return to == Recorded || to == Refused || to == Cancelled || to == InDoubt
	case Recorded:
		return to == Invoking || to == Refused || to == Cancelled || to == Completed || to == Failed || to == InDoubt
	case Invoking:
		return to == Invoking || to == Completed || to == Failed || to == Cancelled || to == InDoubt || to == Recorded
	case InDoubt:
		return to == Invoking || to == Completed || to == Failed || to == Cancelled || to == Recorded
	case Failed:
		return to == Recorded
	case Refused:
		return to == AwaitingConfirmation || to == Recorded || to == Refused
	case Completed, Cancelled:
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
	// Serial says that two requests with one key at once are not safe: the next one waits
	// until the lease of the last has ended.
	Serial bool `json:"serial,omitempty"`
	// ReplaysErrors says that the provider stores also errors under a key and answers every
	// later request with them.
	ReplaysErrors bool `json:"replays_errors,omitempty"`
	// Lookup says that the provider can be asked what became of a key.
	Lookup bool `json:"lookup,omitempty"`
	// SettleDelay is how long after the end of the last lease a lookup that finds nothing is
	// trusted. Only with Lookup.
	SettleDelay time.Duration `json:"settle_delay_ns,omitempty"`
	// MaxLookups bounds the lookups after an attempt. Only with Lookup.
	MaxLookups int `json:"max_lookups,omitempty"`
}

// Continues reports whether a tool that behaves as r may go on with an intent whose
// earlier attempts were sent under the rules before: the same provider must know the same
// key for at least as long, or an open outcome would be sent as a new effect.
func (r Rules) Continues(before Rules) bool {
	return r.Class == before.Class && r.Provider == before.Provider && r.Window >= before.Window && (r.Lookup || !before.Lookup)
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
	// Stored says that the answer is one that the provider had stored for the key, and so
	// speaks of the first request with it.
	Stored bool
	// Already says that the provider refused because what was asked for is the case already:
	// captured, deleted, not found.
	Already bool
	// EffectID is the provider's name of the effect; empty if it gave none.
	EffectID string
	// Presumed says that nobody knows of a claim: the attempt stands for those that a database
	// which lost commits may have granted.
	Presumed bool
}

// Finding is what a lookup showed.
type Finding string

const (
	// Found: the effect happened.
	Found Finding = "found"
	// Absent: the provider knows nothing of it. It says that the effect did not happen only
	// once the settle delay has passed.
	Absent Finding = "absent"
	// Unclear: there was no answer, or none that says either.
	Unclear Finding = "unclear"
)

// Lookup is one question to the provider, without an effect, and its answer.
type Lookup struct {
	Number int
	// Generation is the one whose key was asked for.
	Generation int
	// Attempts is how many there were when it was asked: it tells nothing of later ones.
	Attempts int
	AskedAt  time.Time
	// Finding is empty while there is no answer.
	Finding    Finding
	AnsweredAt time.Time
	// RetryAfter is the provider's wish, if it was unclear.
	RetryAfter time.Duration
	// EffectID is the provider's name of the effect that was found.
	EffectID string
	// Effects is how many effects the provider shows under the one key; 0 if it does not say.
	Effects int
}

// Decided is a person's decision as far as the protocol needs it. What came before it is
// counted and not timed, because the database's clock may go back.
type Decided struct {
	Kind DecisionKind
	// Generation is the one that was decided on.
	Generation int
	// Attempts and Lookups are how many there were.
	Attempts, Lookups int
	// Principal is who decided, Commitment what was decided on, and At when.
	Principal  string
	Commitment Digest
	At         time.Time
}

// Decide returns a decision that is made on the record now.
func (r Record) Decide(kind DecisionKind) Decided {
	return Decided{Kind: kind, Generation: r.Generation, Attempts: len(r.Attempts), Lookups: len(r.Lookups)}
}

// Record is everything that a step is decided on.
type Record struct {
	State      State
	Version    int64
	Generation int
	// FirstSentAt is the time of the generation's first claim; zero if there is none.
	FirstSentAt time.Time
	// ConfirmBy is until when people may confirm; zero if nobody has to.
	ConfirmBy time.Time
	// Approvers is how many different people must confirm; 0 is 1. Only with ConfirmBy.
	Approvers int
	// Commitment is that of what would be sent now.
	Commitment Digest
	// RevokedAt is when the policy said no to an intent of which something was sent already;
	// zero if it did not.
	RevokedAt time.Time
	// RevokedAfter is how many decisions there were then.
	RevokedAfter int
	// HeldUntil is the time before which no claim may be granted, because of a hold; zero if
	// there is none. The hold may then still stand.
	HeldUntil time.Time
	// BudgetUntil is the time before which no claim may be granted, because a budget has no room for
	// the intent; zero if all have counted it.
	BudgetUntil time.Time
	// RestoredUntil is the time before which nothing may be sent and nothing be taken for undone,
	// because the database may have lost commits; zero if it has not.
	RestoredUntil time.Time
	// Attempts of all generations, ordered by number.
	Attempts []Attempt
	// Lookups of all generations, ordered by number.
	Lookups []Lookup
	// Decisions of people, oldest first.
	Decisions []Decided
	Rules     Rules
}
