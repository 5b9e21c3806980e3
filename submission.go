package writ

import (
	"bytes"
	"context"
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// Submission is how an enqueued request stands that is no intent yet.
type Submission struct {
	// NotBefore is the host's; zero: it gave none.
	NotBefore time.Time `json:"not_before,omitzero"`
	// DueAt is when it is tried next; zero: it is parked, or dropped.
	DueAt time.Time `json:"due_at,omitzero"`
	// Tries is how often it was tried since it was enqueued, or since a person had it tried again.
	Tries int `json:"tries"`
	// ErrorCode and Error are what the last try said; empty if nothing went wrong.
	ErrorCode intent.Code `json:"error_code,omitempty"`
	Error     string      `json:"error,omitempty"`
	// ParkedAt is since when it waits for a person, and DroppedAt when one took it back.
	ParkedAt  time.Time `json:"parked_at,omitzero"`
	DroppedAt time.Time `json:"dropped_at,omitzero"`
	// DecidedBy is who last had it tried again or dropped it; empty: nobody.
	DecidedBy string    `json:"decided_by,omitempty"`
	DecidedAs Standing  `json:"decided_as,omitzero"`
	Note      string    `json:"note,omitempty"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// EnqueuedRequest is a request that a host enqueued and that is no intent yet. [Client.Get] has
// its payload.
type EnqueuedRequest struct {
	ID         intent.ID         `json:"id"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
	Principal  string            `json:"principal"`
	Tool       string            `json:"tool"`
	CreatedAt  time.Time         `json:"created_at"`
	Submission
}

// EnqueuedPage is a part of a list of enqueued requests.
type EnqueuedPage struct {
	// Requests are ordered by creation, newest first.
	Requests []EnqueuedRequest `json:"requests"`
	// Next is the After of the next page; empty if this is the last one.
	Next string `json:"next,omitempty"`
}

// Enqueued returns a page of the enqueued requests that are no intents yet, newest first, without
// those that were dropped; with the filter's Parked only those that wait for a person. The
// filter's States are not looked at, and class and repeats of such a request are not known. The
// errors are those of [Client.List]. Enqueued does not need Temporal.
func (c *Client) Enqueued(ctx context.Context, f ListFilter) (EnqueuedPage, error) {
	f.States = []intent.State{intent.Submitted}
	page, err := c.store.ListSubmitted(ctx, f)
	if err != nil {
		return EnqueuedPage{}, err
	}
	list := EnqueuedPage{Requests: make([]EnqueuedRequest, len(page.Rows)), Next: page.Next}
	for i, s := range page.Rows {
		list.Requests[i] = enqueuedOf(s)
	}
	return list, nil
}

func enqueuedOf(s outbox.Submitted) EnqueuedRequest {
	return EnqueuedRequest{
		ID: s.ID, Tenant: s.Tenant, RequestKey: s.RequestKey, Principal: s.Principal, Tool: s.Tool, CreatedAt: s.CreatedAt,
		Submission: submissionOf(s),
	}
}

func submissionOf(s outbox.Submitted) Submission {
	return Submission{
		NotBefore: s.NotBefore, DueAt: s.DueAt, Tries: s.Tries, ErrorCode: s.ErrorCode, Error: s.Error,
		ParkedAt: s.ParkedAt, DroppedAt: s.DroppedAt, DecidedBy: s.Decider.Principal, DecidedAs: standingOf(s.Decider),
		Note: s.Decider.Note, DecidedAt: s.DecidedAt,
	}
}

// RetryEnqueued has an enqueued request tried again, at once or at its host's time, whether it is
// parked or waits for its next try, and returns it as it stands then. The error has code
// already_dispatched if it is an intent, dropped, or intent_not_found.
func (c *Client) RetryEnqueued(ctx context.Context, id intent.ID, by Decider) (EnqueuedRequest, error) {
	return decidedOn(ctx, by, func() (outbox.Submitted, error) { return c.store.Retry(ctx, id, by.recorded()) })
}

// DropEnqueued takes an enqueued request back: it never becomes an intent, not even if it is on
// its way at this moment, and its request key answers dropped from then on. Dropping again changes
// nothing. The error has code already_dispatched if it is an intent, or intent_not_found.
func (c *Client) DropEnqueued(ctx context.Context, id intent.ID, by Decider) (EnqueuedRequest, error) {
	return decidedOn(ctx, by, func() (outbox.Submitted, error) { return c.store.Drop(ctx, id, by.recorded()) })
}

func decidedOn(ctx context.Context, by Decider, decide func() (outbox.Submitted, error)) (EnqueuedRequest, error) {
	if err := by.check(); err != nil {
		return EnqueuedRequest{}, err
	}
	s, err := decide()
	if err != nil {
		return EnqueuedRequest{}, undecided(ctx, outbox.Row{}, err)
	}
	return enqueuedOf(s), nil
}

// effectOf says whether the request may have been run before, in what PostgreSQL lost.
func effectOf(s outbox.Submitted) intent.Outcome {
	if s.MayHaveRun() {
		return intent.Unknown
	}
	return intent.NotApplied
}

// submittedView is the intent that an enqueued request will become. What its tool and the policy
// decide is not known yet.
func submittedView(s outbox.Submitted, payload []byte) Intent {
	submission := submissionOf(s)
	return Intent{
		ID: s.ID, Tenant: s.Tenant, RequestKey: s.RequestKey, Principal: s.Principal, Tool: s.Tool, State: intent.Submitted,
		Effect: effectOf(s), WorkflowID: workflows.ID(s.ID), Payload: payload, Attempts: []Attempt{},
		Next: s.Step(), Traceparent: s.Traceparent, CreatedAt: s.CreatedAt, Submission: &submission,
	}
}

func (c *Client) listSubmitted(ctx context.Context, f ListFilter) (IntentPage, error) {
	page, err := c.store.ListSubmitted(ctx, f)
	if err != nil {
		return IntentPage{}, err
	}
	list := IntentPage{Intents: make([]IntentSummary, len(page.Rows)), Next: page.Next}
	for i, s := range page.Rows {
		list.Intents[i] = IntentSummary{
			ID: s.ID, Tenant: s.Tenant, RequestKey: s.RequestKey, Principal: s.Principal, Tool: s.Tool, State: intent.Submitted,
			Effect: effectOf(s), Next: s.Step(), CreatedAt: s.CreatedAt,
		}
	}
	return list, nil
}

// look returns the row of an intent, or the view of an enqueued request with its whole payload; the
// error of an id that neither has is intent_not_found. A request is an intent before it is no longer enqueued, so the
// last look finds what became one between the first two.
func (c *Client) look(ctx context.Context, id intent.ID) (row outbox.Row, submitted *Intent, err error) {
	row, err = c.store.Load(ctx, id)
	if intent.CodeOf(err) != intent.CodeIntentNotFound {
		return row, nil, err
	}
	s, payload, err := c.store.Submitted(ctx, id)
	if err == nil {
		v := submittedView(s, payload)
		return row, &v, nil
	}
	if intent.CodeOf(err) == intent.CodeIntentNotFound {
		row, err = c.store.Load(ctx, id)
	}
	return row, nil, err
}

// isOf reports whether the enqueued request is for the same action.
func (p prepared) isOf(submitted Intent) bool {
	r := p.request
	return r.Tool == submitted.Tool && r.Context.Principal == submitted.Principal && bytes.Equal(p.payload.Canonical, submitted.Payload)
}

// decidable returns the row of an intent that somebody decides about; a request that is none yet
// is an error with code not_dispatched or dropped.
func (c *Client) decidable(ctx context.Context, id intent.ID) (outbox.Row, error) {
	row, err := c.store.Load(ctx, id)
	if intent.CodeOf(err) != intent.CodeIntentNotFound {
		return row, err
	}
	if s, _, found := c.store.Submitted(ctx, id); found == nil {
		return row, s.Undecidable()
	}
	return row, err
}

// notDispatched says why an enqueued request is no intent. What it was rejected with is the code,
// as it would be for who asks directly.
func notDispatched(v Intent) error {
	s := v.Submission
	switch {
	case !s.DroppedAt.IsZero():
		sent := "nothing was sent; use a new request key if it is wanted after all"
		if v.Effect != intent.NotApplied {
			sent = "it may have been run in what PostgreSQL lost; look in the provider's books before it is asked for under a new request key"
		}
		return intent.Errorf(intent.CodeDropped, "%s dropped the request of intent %s at %s, and %s", s.DecidedBy, v.ID, s.DroppedAt.Format(time.RFC3339), sent).Proven(v.Effect)
	case !s.ParkedAt.IsZero() && v.Effect != intent.NotApplied:
		return intent.Errorf(intent.CodeOutboxRestored, "the enqueued request of intent %s is parked: PostgreSQL was restored or failed over, and it may have been run in what was lost; look in the provider's books, then `writ enqueued retry %s` runs it and `writ enqueued drop %s` takes it back",
			v.ID, v.ID, v.ID)
	case !s.ParkedAt.IsZero():
		return intent.Errorf(s.ErrorCode, "the enqueued request of intent %s is parked and nothing was sent: %s; `writ enqueued retry %s` has it tried again",
			v.ID, s.Error, v.ID).Proven(intent.NotApplied)
	}
	return intent.Errorf(intent.CodeNotYetKnown, "the request of intent %s is enqueued and due at %s; request key %q runs it now and waits for its end",
		v.ID, s.DueAt.Format(time.RFC3339), v.RequestKey)
}
