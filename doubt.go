package writ

import (
	"cmp"
	"context"
	"slices"
	"time"

	"writ/intent"
	"writ/internal/jsonpointer"
	"writ/outbox"
)

// DoubtFilter says which of the intents that somebody has to look at are listed; its zero value
// lists all.
type DoubtFilter = outbox.DoubtFilter

// DoubtPage is a part of the inbox of what somebody has to look at.
type DoubtPage struct {
	// Doubts are ordered by the creation of the intent, oldest first.
	Doubts []Doubt `json:"doubts"`
	// Next is the After of the next page; empty if this is the last one.
	Next string `json:"next,omitempty"`
}

// Doubt is an intent that is in doubt, or whose end something speaks against, with what a
// person needs to find out what happened.
type Doubt struct {
	// Intent holds the evidence: attempts, lookups and decisions.
	Intent Intent `json:"intent"`
	// Since is when the first request was allowed whose outcome is open, or when the evidence
	// came that raised the alert.
	Since time.Time `json:"since"`
	// AgeMS is how long ago that was by the database's clock, in milliseconds.
	AgeMS int64 `json:"age_ms"`
	// Reason is why the intent is in doubt, one of package intent's Reason constants; empty if
	// it is not, or goes on by itself. An alert is on the intent.
	Reason string `json:"reason,omitempty"`
	// Stake is what the tool's spec says is at stake; nil if it does not, or the payload has
	// no such member.
	Stake *Stake `json:"stake,omitempty"`
	// LastLookup is the last question to the provider and its answer; nil: nobody has asked.
	LastLookup *Lookup `json:"last_lookup,omitempty"`
	// CanInquire says that [Client.Inquire] has the provider asked.
	CanInquire bool `json:"can_inquire"`
	// Ask is what to ask the provider, in words.
	Ask string `json:"ask"`
}

// Stake is what of an action is at stake while its outcome is open.
type Stake struct {
	// Amount is the number or text of the payload, digit for digit.
	Amount   string `json:"amount"`
	Currency string `json:"currency,omitempty"`
}

// Doubt returns a page of the intents that are in doubt or have an alert, oldest first. It does
// not need Temporal. A filter that cannot be used is refused before any I/O, with code
// invalid_filter, invalid_cursor or invalid_name.
func (c *Client) Doubt(ctx context.Context, f DoubtFilter) (DoubtPage, error) {
	page, err := c.store.Doubt(ctx, f)
	if err != nil {
		return DoubtPage{}, err
	}
	list := DoubtPage{Doubts: make([]Doubt, len(page.Rows)), Next: page.Next}
	for i, row := range page.Rows {
		v, err := c.view(ctx, row)
		if err != nil {
			return DoubtPage{}, err
		}
		spec, err := c.specOf(ctx, row)
		if err != nil {
			return DoubtPage{}, err
		}
		list.Doubts[i] = doubtOf(row, v, spec.stake)
	}
	return list, nil
}

func doubtOf(row outbox.Row, v Intent, stake stakeOf) Doubt {
	provider := cmp.Or(row.Rules.Provider, "the provider of "+row.Tool)
	d := Doubt{
		Intent: v, Since: doubtfulSince(v), Reason: row.ParkedFor(), Stake: stake.in(v.Payload),
		CanInquire: row.State == intent.InDoubt && row.Rules.Lookup, Ask: "ask " + provider + " " + v.question(),
	}
	d.AgeMS = row.ReadAt.Sub(d.Since).Milliseconds()
	if last := len(v.Lookups) - 1; last >= 0 {
		d.LastLookup = &v.Lookups[last]
	}
	return d
}

// doubtfulSince is Doubt.Since.
func doubtfulSince(v Intent) time.Time {
	if first := slices.IndexFunc(v.Attempts, func(a Attempt) bool { return a.Open }); first >= 0 && v.State == intent.InDoubt {
		return v.Attempts[first].ClaimedAt
	}
	since := v.EndedAt
	for _, a := range v.Attempts {
		since = later(since, a.EvidenceAt)
	}
	for _, l := range v.Lookups {
		since = later(since, l.AnsweredAt)
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// stakeOf says where a tool's payload names what is at stake.
type stakeOf struct{ amount, currency string }

func (s stakeOf) in(payload []byte) *Stake {
	if s.amount == "" {
		return nil
	}
	stake := Stake{Amount: jsonpointer.Text(payload, s.amount)}
	if stake.Amount == "" {
		return nil
	}
	if s.currency != "" {
		stake.Currency = jsonpointer.Text(payload, s.currency)
	}
	return &stake
}

// Acknowledge takes the alert of an intent away once somebody has dealt with it. Its end, its
// evidence and its receipts stay. The error has code no_alert if there is none.
func (c *Client) Acknowledge(ctx context.Context, id intent.ID, by Decider) (Intent, error) {
	if err := by.check(); err != nil {
		return Intent{}, err
	}
	row, err := c.record(ctx, id, by, func(decider outbox.Decider, _ outbox.Row) (outbox.Row, error) {
		return c.store.Acknowledge(ctx, id, decider)
	})
	if err != nil {
		return Intent{}, undecided(ctx, row, err)
	}
	return c.view(ctx, row)
}
