package writ

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"slices"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"writ/intent"
	"writ/outbox"
	"writ/receipts"
	"writ/telemetry"
	"writ/tools"
	"writ/workflows"
)

// Intent is an intent as it stands in the outbox.
type Intent struct {
	ID         intent.ID         `json:"id"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
	Principal  string            `json:"principal"`
	// AuthenticationSource says who vouches for principal, roles and delegation; see
	// intent.EffectContext. These are not known of an enqueued request that is no intent yet.
	AuthenticationSource string   `json:"authentication_source,omitempty"`
	Roles                []string `json:"roles,omitempty"`
	// OnBehalfOf is for whom the principal acts, the nearest first.
	OnBehalfOf []string     `json:"on_behalf_of,omitempty"`
	Tool       string       `json:"tool"`
	Class      intent.Class `json:"class"`
	State      intent.State `json:"state"`
	// Effect is what the whole record shows of the effect, and not what the state was called by:
	// evidence may speak against an end. It is unknown while a request may be under way or may
	// have had its effect, and not_applied of an intent of which nothing was sent so far.
	Effect         intent.Outcome        `json:"effect"`
	Generation     int                   `json:"generation"`
	IdempotencyKey intent.IdempotencyKey `json:"idempotency_key"`
	WorkflowID     string                `json:"workflow_id"`
	// Payload is canonical JSON. In place of what the tool's input schema marks writeOnly, which
	// only the tool receives, stands tools.Masked, and Masked holds the JSON Pointers of those.
	Payload  json.RawMessage `json:"payload"`
	Masked   []string        `json:"masked,omitempty"`
	Decision json.RawMessage `json:"decision"`
	Attempts []Attempt       `json:"attempts"`
	// Lookups are the questions that the provider was asked.
	Lookups []Lookup `json:"lookups,omitempty"`
	// Contradiction is what the evidence says against the intent's end, one of package intent's
	// Reason constants; empty if nothing speaks against it.
	Contradiction string `json:"contradiction,omitempty"`
	// Alert is what somebody has to look at: the contradiction, until it is acknowledged.
	Alert string `json:"alert,omitempty"`
	// HeldUntil is when it is looked again whether a hold still stands.
	HeldUntil time.Time `json:"held_until,omitzero"`
	// Holds are those that stand and keep it from being sent.
	Holds []Hold `json:"holds,omitempty"`
	// BudgetWait is what it waits for that no budget has counted yet.
	BudgetWait *BudgetWait `json:"budget_wait,omitempty"`
	// RevokedAt is when the policy said no although something was sent already.
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// Submission is how an enqueued request stands that is no intent yet; nil otherwise. Class,
	// decision, generation and idempotency key are not known then.
	Submission *Submission `json:"submission,omitempty"`
	// SuspectedDuplicateOf is the earlier intent that this one seems to repeat.
	SuspectedDuplicateOf intent.ID `json:"suspected_duplicate_of,omitzero"`
	// ConfirmBy is until when people may confirm; only if somebody has to.
	ConfirmBy time.Time `json:"confirm_by,omitzero"`
	// Approvers is how many different people must confirm, and Confirmed how many have; 0 if
	// nobody has to.
	Approvers int `json:"approvers,omitempty"`
	Confirmed int `json:"confirmed,omitempty"`
	// RemainingMS is for how long they may by the database's clock, in milliseconds, and Stake
	// what the tool's spec says is at stake. Only while it waits for them.
	RemainingMS int64  `json:"remaining_ms,omitempty"`
	Stake       *Stake `json:"stake,omitempty"`
	// Commitment is the digest of everything that was authorized: what a confirmation is bound to.
	Commitment intent.Digest `json:"commitment,omitzero"`
	// Decisions are those of people, oldest first.
	Decisions []Decision `json:"decisions,omitempty"`
	// Next is what happens next, and why.
	Next        intent.Step `json:"next"`
	Traceparent string      `json:"traceparent,omitempty"`
	CreatedAt   time.Time   `json:"created_at"`
	// FirstSentAt is when the first attempt of the generation was granted.
	FirstSentAt time.Time `json:"first_sent_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

// Attempt is one permission to send and what is known of it.
type Attempt struct {
	Number     int `json:"number"`
	Generation int `json:"generation"`
	// IdempotencyKey is the key of that generation.
	IdempotencyKey intent.IdempotencyKey `json:"idempotency_key"`
	Worker         string                `json:"worker"`
	ClaimedAt      time.Time             `json:"claimed_at"`
	LeaseUntil     time.Time             `json:"lease_until"`
	// Outcome is empty while there is no evidence.
	Outcome    intent.Outcome `json:"outcome,omitempty"`
	EvidenceAt time.Time      `json:"evidence_at,omitzero"`
	Code       string         `json:"code,omitempty"`
	Message    string         `json:"message,omitempty"`
	// Already says that the provider refused because what was asked for is the case already.
	Already bool `json:"already,omitempty"`
	// EffectID is the provider's name of the effect.
	EffectID string `json:"effect_id,omitempty"`
	// Presumed says that nobody knows of a claim: the attempt stands for those that PostgreSQL may
	// have lost, and Worker says who presumed it.
	Presumed bool `json:"presumed,omitempty"`
	// Open says that the attempt may have had an effect that nobody knows of: its outcome is not
	// certain, and neither a lookup nor a later answer nor a person says that it had none.
	Open bool `json:"open,omitempty"`
}

// Lookup is one question to the provider, without an effect, and its answer.
type Lookup struct {
	Number     int       `json:"number"`
	Generation int       `json:"generation"`
	Worker     string    `json:"worker"`
	AskedAt    time.Time `json:"asked_at"`
	// Finding is empty while there is no answer.
	Finding    intent.Finding `json:"finding,omitempty"`
	AnsweredAt time.Time      `json:"answered_at,omitzero"`
	Code       string         `json:"code,omitempty"`
	Message    string         `json:"message,omitempty"`
	EffectID   string         `json:"effect_id,omitempty"`
	// Effects is how many effects the provider showed under the key, if it counts them.
	Effects int `json:"effects,omitempty"`
}

// Answer is what a tool returned.
type Answer struct {
	MediaType string `json:"media_type"`
	// Size is the size in bytes of all that the tool returned.
	Size int64 `json:"size"`
	// JSON is the body if it is JSON.
	JSON json.RawMessage `json:"json,omitempty"`
	// Body is every other body, base64 in JSON. It has fewer bytes than Size if it was too
	// large to be kept whole.
	Body []byte `json:"body,omitempty"`
	// Problem says why the answer is not all that the tool's spec promises: it does not
	// satisfy the output schema, or was too large to be kept whole. The effect happened all
	// the same.
	Problem string `json:"problem,omitempty"`
}

// Execution is an intent that ended or is parked.
type Execution struct {
	Intent Intent `json:"intent"`
	// Receipt is the stored canonical JSON of a receipts.Receipt; absent while the intent
	// is in doubt.
	Receipt json.RawMessage `json:"receipt,omitempty"`
	// Answer is what the tool returned; absent if it returned nothing.
	Answer *Answer `json:"answer,omitempty"`
}

// Tool is a tool that a worker has published.
type Tool struct {
	tools.Published
	SpecDigest  intent.Digest `json:"spec_digest"`
	TaskQueue   string        `json:"task_queue"`
	PublishedAt time.Time     `json:"published_at"`
}

// view reads what of an intent is not on its row. If that fails, what the row says is
// returned with the error: a caller that was accepted must not lose the name of its intent.
func (c *Client) view(ctx context.Context, row outbox.Row) (Intent, error) {
	v := viewOf(row)
	var err error
	if err = c.showPayload(ctx, row, &v); err != nil {
		return v, unread(ctx, v, err)
	}
	if v.Decisions, err = c.decisions(ctx, row); err != nil {
		return v, unread(ctx, v, err)
	}
	if v.Holds, err = c.holdsOn(ctx, row); err != nil {
		return v, unread(ctx, v, err)
	}
	if v.BudgetWait, err = c.budgetWait(ctx, row); err != nil {
		return v, unread(ctx, v, err)
	}
	return v, nil
}

// shownDecision is the decision of a row on one line, as a string if somebody changed it by hand to
// what is no JSON.
func shownDecision(recorded []byte) json.RawMessage {
	var line bytes.Buffer
	if len(recorded) == 0 || json.Compact(&line, recorded) == nil {
		return line.Bytes()
	}
	text, _ := json.Marshal(string(recorded)) // a string always encodes
	return text
}

// viewOf is what the row alone says.
func viewOf(row outbox.Row) Intent {
	record := row.Record()
	open := intent.OpenAttempts(record)
	v := Intent{
		ID: row.ID, Tenant: row.Tenant, RequestKey: row.RequestKey, Principal: row.Principal, Tool: row.Tool,
		Class: row.Rules.Class, State: row.State, Effect: intent.Happened(record), Contradiction: intent.Contradiction(record), Generation: row.Generation, IdempotencyKey: row.IdempotencyKey,
		WorkflowID: workflows.ID(row.ID), Decision: shownDecision(row.Decision), Attempts: []Attempt{},
		Next: row.Next(), Traceparent: row.Traceparent,
		CreatedAt: row.CreatedAt, FirstSentAt: row.FirstSentAt, EndedAt: row.EndedAt,
		SuspectedDuplicateOf: row.SuspectedDuplicateOf, ConfirmBy: row.ConfirmBy,
		Approvers: record.Quorum(), Confirmed: len(record.Confirmed()), Commitment: row.Commitment,
		Alert: row.Alert, HeldUntil: row.HeldUntil, RevokedAt: row.RevokedAt,
	}
	if asked, err := row.Context(); err == nil { // a row that was changed by hand is shown without
		v.AuthenticationSource, v.Roles, v.OnBehalfOf = asked.AuthenticationSource, asked.Roles, asked.OnBehalfOf
	}
	v.RemainingMS = remaining(row)
	if v.State.Ended() {
		v.HeldUntil = time.Time{} // it waits for nothing
	}
	for _, a := range row.Attempts {
		v.Attempts = append(v.Attempts, Attempt{
			Number: a.Number, Generation: a.Generation, IdempotencyKey: v.keyOf(a.Generation), Worker: a.Worker, ClaimedAt: a.ClaimedAt, LeaseUntil: a.LeaseUntil,
			Outcome: a.Outcome, EvidenceAt: a.EvidenceAt, Code: a.Code, Message: a.Message,
			Already: a.Already, EffectID: a.EffectID, Presumed: a.Presumed, Open: slices.Contains(open, a.Number),
		})
	}
	for _, l := range row.Lookups {
		v.Lookups = append(v.Lookups, Lookup{
			Number: l.Number, Generation: l.Generation, Worker: l.Worker, AskedAt: l.AskedAt, Finding: l.Finding,
			AnsweredAt: l.AnsweredAt, Code: l.Code, Message: l.Message, EffectID: l.EffectID, Effects: l.Effects,
		})
	}
	return v
}

// remaining is for how many milliseconds people may still confirm the intent; 0 unless it waits for
// them.
func remaining(row outbox.Row) int64 {
	if row.State != intent.AwaitingConfirmation {
		return 0
	}
	return max(row.ConfirmBy.Sub(row.ReadAt).Milliseconds(), 0)
}

// ended reads everything about an intent that ended or is parked, and says with an error
// if it did not complete.
func (c *Client) ended(ctx context.Context, row outbox.Row) (Execution, error) {
	v, err := c.view(ctx, row)
	if err != nil {
		return Execution{Intent: v}, err
	}
	return c.endOf(ctx, row, v)
}

// endOf is ended for an intent whose view was read at the row's version.
func (c *Client) endOf(ctx context.Context, row outbox.Row, v Intent) (Execution, error) {
	e := Execution{Intent: v}
	var err error
	if row.State.Ended() {
		if e.Receipt, err = c.Receipt(ctx, row.ID); err != nil {
			return e, unread(ctx, e.Intent, err)
		}
	}
	answer, body, err := c.store.Result(ctx, row.ID)
	if err != nil {
		return e, unread(ctx, e.Intent, err)
	}
	if answer != nil {
		e.Answer = answerOf(*answer, body)
	}
	// Only the engine gives an applied attempt a code.
	if applied, ok := row.Applied(); ok && applied.Code != "" && row.State == intent.Completed {
		if e.Answer == nil {
			e.Answer = new(Answer)
		}
		e.Answer.Problem = applied.Message
	}
	return e, endError(e.Intent)
}

func answerOf(kept outbox.Answer, body []byte) *Answer {
	a := &Answer{MediaType: kept.MediaType, Size: kept.Size}
	plain, _, err := mime.ParseMediaType(kept.MediaType)
	if err == nil && plain == tools.MediaTypeJSON && kept.Kept == kept.Size && embeddable(body) {
		a.JSON = body
	} else {
		a.Body = body
	}
	return a
}

// embeddable reports whether body can stand inside a JSON document that encoding/json
// writes and reads: it gives up at 10,000 nested arrays and objects.
func embeddable(body []byte) bool {
	const room = 16 // levels of the document around it
	return utf8.Valid(body) && json.Valid(slices.Concat(bytes.Repeat([]byte("["), room), body, bytes.Repeat([]byte("]"), room)))
}

// Receipt returns the stored bytes of the intent's receipt, canonical JSON of a
// receipts.Receipt, or an error with code receipt_not_found.
func (c *Client) Receipt(ctx context.Context, id intent.ID) (json.RawMessage, error) {
	body, err := receipts.Get(ctx, c.pool, id)
	return body, outbox.DatabaseError(err)
}

// Amendments returns what was added to the intent's receipts after its ends, oldest first: the
// stored bytes, canonical JSON of receipts.Receipt with a number from 1.
func (c *Client) Amendments(ctx context.Context, id intent.ID) ([]json.RawMessage, error) {
	bodies, err := receipts.Amendments(ctx, c.pool, id)
	list := make([]json.RawMessage, len(bodies))
	for i, body := range bodies {
		list[i] = body
	}
	return list, outbox.DatabaseError(err)
}

// Tools lists the tools in force, ordered by name.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	specs, err := c.store.Specs(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Tool, len(specs))
	for i, s := range specs {
		if list[i], err = toolOf(s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Tool returns the tool in force of exactly that name, or an error with code
// unknown_tool.
func (c *Client) Tool(ctx context.Context, name string) (Tool, error) {
	if err := intent.CheckName("tool", name); err != nil {
		return Tool{}, err
	}
	spec, err := c.store.Spec(ctx, name)
	if err != nil {
		return Tool{}, err
	}
	return toolOf(spec)
}

func toolOf(s outbox.Spec) (Tool, error) {
	t := Tool{SpecDigest: s.Digest, TaskQueue: s.TaskQueue, PublishedAt: s.PublishedAt.UTC()}
	if err := json.Unmarshal(s.JSON, &t.Published); err != nil {
		return Tool{}, outbox.Unreadable("what is published as the spec of "+s.Name, err)
	}
	return t, nil
}

func spanAttributes(p prepared) []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.IntentID.String(p.id.String()),
		telemetry.Tool.String(p.request.Tool),
		telemetry.Tenant.String(p.request.Context.Tenant),
	}
}
