package writ

import (
	"context"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// Inquire has the provider asked again what became of an intent in doubt; see [Client.Watch]
// and [Client.Get] for what it says. That decides how the intent goes on: it ends, stays in
// doubt, or is sent again if nothing happened and its budget allows it.
//
// The error has code no_lookup if the tool has no way to ask, and not_in_doubt.
func (c *Client) Inquire(ctx context.Context, id intent.ID, by Decider) (Intent, error) {
	if err := by.check(); err != nil {
		return Intent{}, err
	}
	return c.decide(ctx, id, by, func(decider outbox.Decider, _ outbox.Row) (outbox.Row, error) {
		return c.store.Inquire(ctx, id, decider, activities.Seal)
	})
}

// Inquired is an intent whose provider was asked, and what it said.
type Inquired struct {
	IntentID intent.ID `json:"intent_id"`
	Tool     string    `json:"tool"`
	// Lookup is the answer; nil while there is none.
	Lookup *Lookup `json:"lookup,omitempty"`
	// State and Next are where the intent stands then.
	State intent.State `json:"state"`
	Next  intent.Step  `json:"next"`
	// before is how many lookups there were, and asking says that one since has no answer yet.
	before int
	asking bool
}

// InquireAll has every provider asked, of the intents in doubt that the filter lists, on all
// pages, and that can be looked up; and waits until each has answered or ctx ends. What is
// returned is in the order of [Client.Doubt]; an answer that did not come in time is still
// recorded when it comes. An intent that somebody dealt with meanwhile is left out.
func (c *Client) InquireAll(ctx context.Context, f DoubtFilter, by Decider) ([]Inquired, error) {
	if err := by.check(); err != nil {
		return nil, err
	}
	var asked []Inquired
	for {
		page, err := c.store.Doubt(ctx, f)
		if err != nil {
			return asked, undecided(ctx, outbox.Row{}, err)
		}
		for _, row := range page.Rows {
			if row.State != intent.InDoubt || !row.Rules.Lookup {
				continue
			}
			v, err := c.Inquire(ctx, row.ID, by)
			switch {
			case intent.CodeOf(err) == intent.CodeNotInDoubt:
				continue
			case err != nil:
				return asked, err
			}
			asked = append(asked, Inquired{IntentID: row.ID, Tool: row.Tool, State: v.State, Next: v.Next, before: len(row.Lookups)})
		}
		if page.Next == "" {
			return asked, c.awaitAnswers(ctx, asked)
		}
		f.After = page.Next
	}
}

// awaitAnswers reads the intents until every provider has answered or ctx ends.
func (c *Client) awaitAnswers(ctx context.Context, asked []Inquired) error {
	for pause := firstPause; ; pause = min(pause+pause/2, longestPause) {
		open := false
		for i := range asked {
			if asked[i].over() {
				continue
			}
			row, err := c.store.Load(ctx, asked[i].IntentID)
			if ctx.Err() != nil {
				return nil // what is known by now is returned
			}
			if err != nil {
				return err
			}
			asked[i].read(viewOf(row))
			open = open || !asked[i].over()
		}
		if !open || !rested(ctx, pause) {
			return nil
		}
	}
}

// over reports whether the provider has answered, or need not any more.
func (a *Inquired) over() bool {
	return a.Lookup != nil || a.State != intent.InDoubt || a.Next.Kind == intent.Stop && !a.asking
}

// read takes the last answer to a question that was put since.
func (a *Inquired) read(v Intent) {
	a.State, a.Next, a.asking = v.State, v.Next, false
	for _, l := range v.Lookups[min(a.before, len(v.Lookups)):] {
		if a.asking = l.Finding == ""; !a.asking {
			a.Lookup = &l
		}
	}
}
