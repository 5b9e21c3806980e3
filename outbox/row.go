package outbox

import (
	"time"

	"github.com/google/uuid"

	"writ/intent"
)

// Row is an intent as it stands in the outbox, without its payload and results.
type Row struct {
	ID             intent.ID
	Tenant         string
	RequestKey     intent.RequestKey
	Principal      string
	Tool           string
	TaskQueue      string
	State          intent.State
	Version        int64
	Generation     int
	IdempotencyKey intent.IdempotencyKey
	EffectContext  []byte // canonical JSON
	Decision       []byte // canonical JSON
	Salt           intent.Salt
	Fingerprint    intent.Digest
	SpecDigest     intent.Digest
	Commitment     intent.Digest
	Rules          intent.Rules
	Traceparent    string
	CreatedAt      time.Time
	FirstSentAt    time.Time // zero: never claimed in this generation
	DueAt          time.Time // zero: ended or parked
	EndedAt        time.Time // zero: not ended
	Attempts       []Attempt // ordered by number
	Lookups        []Lookup  // ordered by number
	// Decided are the decisions of people, oldest first, as far as the rule needs them.
	Decided []intent.Decided
	// RevokedAt and Revocation are the policy's no to an intent of which something was sent
	// already; zero if there is none.
	RevokedAt time.Time
	// RevokedAfter is how many decisions of people there were then.
	RevokedAfter int
	Revocation   []byte // canonical JSON
	// HeldUntil is the time before which no claim may be granted; zero if no hold stands.
	HeldUntil time.Time
	// BudgetUntil is when it is looked again whether the budgets have room for the intent, which
	// none has counted yet; zero: it waits for none.
	BudgetUntil time.Time
	// RestoredUntil is that of intent.Record: when it is looked again whether an operator has run
	// [Store.AfterRestore]; zero if the database is trusted.
	RestoredUntil time.Time
	// Amendment numbers the receipt that a [Seal] is to write: 0 for the end of a generation,
	// else an amendment to it. It is not read with the row.
	Amendment int
	// Alert is what somebody has to look at, one of intent's Reason constants; empty: nothing.
	Alert string
	// Raised says that the call that returned the row has raised the alert. It is not read with
	// the row.
	Raised bool
	// Freed says that the call that returned the row has made room for others that wait for a
	// budget. It is not read with the row.
	Freed bool
	// SuspectedDuplicateOf is zero unless the intent seems to repeat an earlier one.
	SuspectedDuplicateOf intent.ID
	// ConfirmBy is until when people may confirm the intent; zero if nobody has to.
	ConfirmBy time.Time
	// Approvers is how many different people must confirm; 1 also if nobody has to.
	Approvers int
	// ReadAt is the database's time when the row was read.
	ReadAt time.Time
}

// Attempt is one claim with its evidence.
type Attempt struct {
	intent.Attempt
	Token         uuid.UUID
	Worker        string
	SendBy        time.Time
	Code, Message string
	// MediaType is empty unless the attempt has a result.
	MediaType string
	// Transacted says that the effect is in the outbox's own database.
	Transacted bool
}

// Record returns what a step is decided on.
func (r Row) Record() intent.Record {
	rec := intent.Record{
		State: r.State, Version: r.Version, Generation: r.Generation,
		FirstSentAt: r.FirstSentAt, ConfirmBy: r.ConfirmBy, Approvers: r.Approvers, Commitment: r.Commitment, Rules: r.Rules,
		RevokedAt: r.RevokedAt, RevokedAfter: r.RevokedAfter, HeldUntil: r.HeldUntil, BudgetUntil: r.BudgetUntil, RestoredUntil: r.RestoredUntil, Decisions: r.Decided,
		Attempts: make([]intent.Attempt, len(r.Attempts)), Lookups: make([]intent.Lookup, len(r.Lookups)),
	}
	for i, a := range r.Attempts {
		rec.Attempts[i] = a.Attempt
	}
	for i, l := range r.Lookups {
		rec.Lookups[i] = l.Lookup
	}
	return rec
}

// Next returns the step that the row asks for at the time it was read.
func (r Row) Next() intent.Step { return intent.Next(r.Record(), r.ReadAt) }

// Admits reports whether a tool of that behaviour may run the intent's next attempt: the
// behaviour that was authorized, or one that goes on with what was sent under the
// generation's key.
func (r Row) Admits(spec intent.Digest, rules intent.Rules) bool {
	return spec == r.SpecDigest || r.Sent() && rules.Continues(r.Rules)
}

// Sent reports whether something may have been sent under the generation's key.
func (r Row) Sent() bool {
	n := len(r.Attempts)
	return n > 0 && r.Attempts[n-1].Generation == r.Generation
}

// Applied returns the first attempt that is known to have had its effect.
func (r Row) Applied() (Attempt, bool) {
	for _, a := range r.Attempts {
		if a.Outcome == intent.Applied {
			return a, true
		}
	}
	return Attempt{}, false
}

// Proposal is an intent that was authorized and is not yet in the outbox.
type Proposal struct {
	Tenant     string
	RequestKey intent.RequestKey
	Principal  string
	Tool       string
	TaskQueue  string
	Payload    []byte // canonical JSON
	// Staged says that StagePayload stored the payload, under Salt.
	Staged         bool
	EffectContext  []byte // canonical JSON
	Decision       []byte // canonical JSON
	IdempotencyKey intent.IdempotencyKey
	Salt           intent.Salt
	Fingerprint    intent.Digest
	SpecDigest     intent.Digest
	Commitment     intent.Digest
	Rules          intent.Rules
	Traceparent    string
	// SuspectedDuplicateOf is the earlier intent that the decision was made on; zero: none.
	SuspectedDuplicateOf intent.ID
	// ConfirmWithin is how long the intent waits for people before it may be sent; 0: it
	// does not wait.
	ConfirmWithin time.Duration
	// Approvers is how many different people must confirm; 0 is 1.
	Approvers int
	// Money is what budgets of money count; nil if the tool's spec names no amount.
	Money *Money
	// Guard lets later submissions find this one; nil if the tool has no duplicate guard.
	Guard *Guard
	// Refused is the refused generation of the intent's row that is decided on again; 0: the
	// request has no row yet. See Over.
	Refused int
}

// ID returns the id that the proposal's row has.
func (p Proposal) ID() intent.ID { return intent.IntentID(p.Tenant, p.RequestKey) }

// Bound returns the proposal with its fingerprint, and with its commitment: the digest of all that
// it says in the generation that it begins.
func (p Proposal) Bound() Proposal {
	p.Fingerprint = intent.Fingerprint(p.Salt, intent.Action{Tenant: p.Tenant, Principal: p.Principal, Tool: p.Tool, Payload: p.Payload})
	p.Commitment = intent.Commitment(intent.Authorized{
		Fingerprint: p.Fingerprint, SpecDigest: p.SpecDigest, Context: p.EffectContext,
		Decision: p.Decision, Key: p.IdempotencyKey, Generation: p.Generation(),
	})
	return p
}

// Evidence is what one attempt is known to have done.
type Evidence struct {
	Attempt int            `json:"attempt"`
	Token   uuid.UUID      `json:"token"`
	Outcome intent.Outcome `json:"outcome"`
	// Code and Message say what went wrong; empty on success.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Final, InProgress and RetryAfterMS are the tool's word on trying again.
	Final        bool  `json:"final,omitempty"`
	InProgress   bool  `json:"in_progress,omitempty"`
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	// Contact is what the attempt showed of its provider, if the tool said so.
	Contact intent.Contact `json:"contact,omitempty"`
	// Stored, Already and EffectID are those of intent.Attempt.
	Stored   bool   `json:"stored,omitempty"`
	Already  bool   `json:"already,omitempty"`
	EffectID string `json:"effect_id,omitempty"`
	// MediaType and Result are the answer of an applied attempt.
	MediaType string `json:"media_type,omitempty"`
	Result    []byte `json:"result,omitempty"`
	// ResultRef stands for an answer of over intent.MaxInline bytes. Result is then what is
	// kept of it, and is absent in histories.
	ResultRef *ResultRef `json:"result_ref,omitempty"`
}

// ResultRef names an answer that is stored apart from its attempt.
type ResultRef struct {
	// Digest is the intent.ResultDigest of the whole answer, whatever is kept of it.
	Digest intent.Digest `json:"digest"`
	// Size is the size of the whole answer in bytes.
	Size int64 `json:"size"`
}
