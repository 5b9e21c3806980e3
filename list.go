package writ

import (
	"context"
	"time"

	"writ/intent"
	"writ/outbox"
)

// ListFilter says which intents are listed; its zero value lists all. Enqueued requests are listed
// by their state alone, see [Client.List].
type ListFilter = outbox.Filter

// ListBound is one end of a span of time: a time, or a duration before the database's now.
type ListBound = outbox.Bound

// IntentPage is a part of a list of intents.
type IntentPage struct {
	// Intents are ordered by creation, newest first.
	Intents []IntentSummary `json:"intents"`
	// Next is the After of the next page; empty if this is the last one.
	Next string `json:"next,omitempty"`
}

// IntentSummary is an intent as lists show it: without its payload, its decision and what
// its attempts say. [Client.Get] has those.
type IntentSummary struct {
	ID         intent.ID         `json:"id"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
	Principal  string            `json:"principal"`
	Tool       string            `json:"tool"`
	Class      intent.Class      `json:"class"`
	State      intent.State      `json:"state"`
	// Effect and Contradiction are those of [Intent].
	Effect        intent.Outcome `json:"effect"`
	Contradiction string         `json:"contradiction,omitempty"`
	Generation    int            `json:"generation"`
	// Attempts is how often the intent was granted permission to send.
	Attempts int `json:"attempts"`
	// Next is what happens next, and why.
	Next intent.Step `json:"next"`
	// SuspectedDuplicateOf is the earlier intent that this one seems to repeat.
	SuspectedDuplicateOf intent.ID `json:"suspected_duplicate_of,omitzero"`
	// Approvers and Confirmed are those of [Intent].
	Approvers int `json:"approvers,omitempty"`
	Confirmed int `json:"confirmed,omitempty"`
	// OnBehalfOf is for whom the principal acts. The others are those of [Intent] while the intent
	// waits for people, and absent after it.
	OnBehalfOf  []string  `json:"on_behalf_of,omitempty"`
	ConfirmBy   time.Time `json:"confirm_by,omitzero"`
	RemainingMS int64     `json:"remaining_ms,omitempty"`
	Stake       *Stake    `json:"stake,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

// List returns a page of the intents that the filter lists, newest first. Following pages
// give each intent that existed when the first one was read exactly once, however many are
// added meanwhile, unless its state leaves the filter.
//
// Enqueued requests are no intents yet: only the state intent.Submitted, by itself, lists them,
// without those that were dropped. What their tool and the policy decide is not known, as the class.
//
// A filter that cannot be used is refused before any I/O, with code invalid_filter,
// invalid_cursor, invalid_name or invalid_request_key. List does not need Temporal.
func (c *Client) List(ctx context.Context, f ListFilter) (IntentPage, error) {
	if f.ListsSubmitted() {
		return c.listSubmitted(ctx, f)
	}
	page, err := c.store.List(ctx, f)
	if err != nil {
		return IntentPage{}, err
	}
	list := IntentPage{Intents: make([]IntentSummary, len(page.Rows)), Next: page.Next}
	for i, row := range page.Rows {
		list.Intents[i] = summary(row)
		if row.State == intent.AwaitingConfirmation {
			v := Intent{ID: row.ID}
			// One that was changed by hand is shown without, and hides no other.
			if err := c.showPayload(ctx, row, &v); err != nil && intent.CodeOf(err) != intent.CodeDatabaseRefused {
				return IntentPage{}, err
			}
			list.Intents[i].Stake = v.Stake
		}
	}
	return list, nil
}

func summary(row outbox.Row) IntentSummary {
	record := row.Record()
	v := IntentSummary{
		ID: row.ID, Tenant: row.Tenant, RequestKey: row.RequestKey, Principal: row.Principal, Tool: row.Tool,
		Class: row.Rules.Class, State: row.State, Effect: intent.Happened(record), Contradiction: intent.Contradiction(record),
		Generation: row.Generation, Attempts: len(row.Attempts), Next: row.Next(),
		Approvers: record.Quorum(), Confirmed: len(record.Confirmed()),
		SuspectedDuplicateOf: row.SuspectedDuplicateOf, CreatedAt: row.CreatedAt, EndedAt: row.EndedAt,
		RemainingMS: remaining(row),
	}
	if asked, err := row.Context(); err == nil {
		v.OnBehalfOf = asked.OnBehalfOf
	}
	if v.State == intent.AwaitingConfirmation {
		v.ConfirmBy = row.ConfirmBy
	}
	return v
}
