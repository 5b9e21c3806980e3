package activities

import (
	"encoding/json"
	"time"

	"writ/intent"
	"writ/outbox"
)

// The registered names of the activities.
const (
	NameAuthorize = "authorize"
	NamePersist   = "persist"
	NameInvoke    = "invoke"
	NameJournal   = "journal"
	NameReconcile = "reconcile"
	NameCancel    = "cancel"
)

// Input starts a tool.execute workflow.
type Input struct {
	IntentID intent.ID `json:"intent_id"`
	// Request is what the caller asked for; absent when recovery starts the workflow from
	// the intent's row alone.
	Request *Request `json:"request,omitempty"`
	// Refused is the generation that whoever asks saw refused: if another one stands by now, that
	// is the answer. 0: whichever is refused is decided on again. Only with Request.
	Refused int `json:"refused,omitempty"`
	// Traceparent is the W3C header of the span that asked; it is kept on the row.
	Traceparent string `json:"traceparent,omitempty"`
	// Defect is why the input that was sent is none: it has no request then, and authorize
	// rejects it. It is set by ReadInput.
	Defect *Rejection `json:"-"`
}

// Request asks for one run of a tool.
type Request struct {
	Tool       string            `json:"tool"`
	RequestKey intent.RequestKey `json:"request_key"`
	// Payload is a JSON object. Whatever encoder it passed through, it is brought into
	// canonical form again on arrival.
	Payload json.RawMessage `json:"payload,omitempty"`
	// PayloadRef stands in its place for a payload that outbox.Store.StagePayload stored.
	PayloadRef *outbox.PayloadRef   `json:"payload_ref,omitempty"`
	Context    intent.EffectContext `json:"context"`
	// Detached says that the caller waits for acceptance only.
	Detached bool `json:"detached,omitempty"`
	// salt is the one of the staged payload, once that was read.
	salt intent.Salt
	// read is the payload as Canonical read it.
	read intent.Payload
}

// The steps that are not the rule's (intent.StepKind) but the workflow's own: what comes
// before there is a row.
const (
	// StepPersist: commit the row under Progress.Decision.
	StepPersist intent.StepKind = "persist"
	// StepAnswer: run the read without a claim and commit the answered row at once.
	StepAnswer intent.StepKind = "answer"
	// StepReject: the request is not acceptable; nothing was written.
	StepReject intent.StepKind = "reject"
)

// Progress is where an intent stands and what is to be done next.
type Progress struct {
	Step intent.Step `json:"step"`
	// State and Version are the row's; empty while there is none.
	State   intent.State `json:"state,omitempty"`
	Version int64        `json:"version,omitempty"`
	// Attempts is the number of claims so far.
	Attempts int `json:"attempts,omitempty"`
	// WaitMS is how long to wait, by the database's clock. Only for intent.Wait.
	WaitMS int64 `json:"wait_ms,omitempty"`
	// Decision is the authorization that persist records. Only for StepPersist and
	// StepAnswer.
	Decision json.RawMessage `json:"decision,omitempty"`
	// DecidedAt is when, by the database's clock, the decision was made that lets the next attempt be
	// made; zero: none was, and it is asked for before that.
	DecidedAt time.Time `json:"decided_at,omitzero"`
	// DecidedAgain is the generation whose refusal was, or with StepPersist is to be, decided on
	// again for the request; 0: none. State and Version are empty until then.
	DecidedAgain int `json:"decided_again,omitempty"`
	// Rejection says why. Only for StepReject.
	Rejection *Rejection `json:"rejection,omitempty"`
	// Labels describe the intent in the Temporal UI.
	Labels Labels `json:"labels"`
	// Traceparent is the row's, or the one that it will have.
	Traceparent string `json:"traceparent,omitempty"`
	// TimeoutMS and HeartbeatMS bound the activity that runs the tool.
	TimeoutMS   int64 `json:"timeout_ms,omitempty"`
	HeartbeatMS int64 `json:"heartbeat_ms,omitempty"`
}

// Labels are the search attributes of an intent.
type Labels struct {
	Tool       string            `json:"tool"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
}

// Rejection is why a request did not become an intent.
type Rejection struct {
	Code    intent.Code `json:"code"`
	Message string      `json:"message"`
	Offset  int64       `json:"offset"`
	// Of is the Mark of the request that was rejected; zero if there was none. Whoever
	// joined the workflow with another request was not rejected.
	Of intent.Digest `json:"of"`
	// MayHaveRun says that the request may have been run in what PostgreSQL lost.
	MayHaveRun bool `json:"may_have_run,omitempty"`
}

// Error returns the rejection as an error: nothing happened, unless in what was lost, and the same
// request gives the same answer.
func (r *Rejection) Error() *intent.Error {
	e := intent.Errorf(r.Code, "%s", r.Message)
	if !r.MayHaveRun {
		e = e.Proven(intent.NotApplied)
	}
	e.Offset = r.Offset
	return e
}

// InvokeInput is the input of invoke.
type InvokeInput struct {
	IntentID intent.ID `json:"intent_id"`
	Tool     string    `json:"tool"`
	// Version is the version of the row that the step was decided on.
	Version int64 `json:"version,omitempty"`
	// DecidedAt is that of Progress.
	DecidedAt   time.Time `json:"decided_at,omitzero"`
	HeartbeatMS int64     `json:"heartbeat_ms"`
	Traceparent string    `json:"traceparent,omitempty"`
	// Answer is the request of a read that is run without a row and a claim.
	Answer *Request `json:"answer,omitempty"`
}

// InvokeOutput is what invoke learnt.
type InvokeOutput struct {
	Progress Progress `json:"progress"`
	// Evidence is what the attempt did; absent if no attempt was granted.
	// The history carries it too, so that an answer survives the loss of the database's
	// copy; of a result over intent.MaxInline it carries only the reference.
	Evidence *outbox.Evidence `json:"evidence,omitempty"`
}

// PersistInput is the input of persist.
type PersistInput struct {
	Input    Input           `json:"input"`
	Decision json.RawMessage `json:"decision"`
	// Version is the version of the row that was decided on; 0 if there was none.
	Version int64 `json:"version,omitempty"`
	// DecidedAt and DecidedAgain are those of Progress.
	DecidedAt    time.Time `json:"decided_at,omitzero"`
	DecidedAgain int       `json:"decided_again,omitempty"`
}

// ReconcileInput is the input of reconcile.
type ReconcileInput struct {
	IntentID intent.ID `json:"intent_id"`
	Tool     string    `json:"tool"`
	// Version is the version of the row that the step was decided on.
	Version     int64  `json:"version"`
	HeartbeatMS int64  `json:"heartbeat_ms"`
	Traceparent string `json:"traceparent,omitempty"`
}

// JournalInput is the input of journal.
type JournalInput struct {
	Input    Input            `json:"input"`
	Evidence *outbox.Evidence `json:"evidence,omitempty"`
	// Decision is the authorization of a read that has no row yet.
	Decision json.RawMessage `json:"decision,omitempty"`
}

// Heartbeat timeouts: how soon a lost worker is noticed. A false alarm is harmless for every
// class but one: for an opaque tool it manufactures doubt.
const (
	heartbeatKeyed  = 2 * time.Second
	heartbeatOpaque = 30 * time.Second
)

func heartbeatTimeout(c intent.Class) time.Duration {
	switch c {
	case intent.Read, intent.Transactional, intent.Keyed, intent.Reconcilable:
		return heartbeatKeyed
	case intent.Opaque:
		return heartbeatOpaque
	}
	return heartbeatOpaque
}

// invokeOverhead is what the invoke activity may take beside the tool: the claim, the
// evidence, and the time that a late tool is waited for.
const invokeOverhead = 30 * time.Second

// progressOf reads where the row stands.
func progressOf(row outbox.Row) Progress {
	p := Progress{
		Step: row.Next(), State: row.State, Version: row.Version, Attempts: len(row.Attempts),
		Labels:      Labels{Tool: row.Tool, Tenant: row.Tenant, RequestKey: row.RequestKey},
		TimeoutMS:   (row.Rules.Timeout + invokeOverhead).Milliseconds(),
		HeartbeatMS: heartbeatTimeout(row.Rules.Class).Milliseconds(),
		Traceparent: row.Traceparent,
	}
	if p.Step.Kind == intent.Wait {
		p.WaitMS = max(p.Step.At.Sub(row.ReadAt).Milliseconds(), 0) + 1
	}
	if p.Step.To == intent.Refused {
		// A wait for a person ends as a refusal, which has a decision and is persist's to write.
		p.Step, p.Decision = intent.Step{Kind: StepPersist, Reason: p.Step.Reason}, expiry
	}
	return p
}
