package writ

import (
	"context"

	"writ/intent"
	"writ/outbox"
)

// standing is what a request finds under its key.
type standing struct {
	// queue is the task queue whose workers take the request.
	queue string
	row   outbox.Row
	// found says that there is a row, and again that it was refused and that the request, which is
	// the same one, has it decided on anew.
	found, again bool
}

// find returns what the request finds under its key: the row that has it, after checking that it
// is the same action; and the task queue whose workers drive it. A key that is enqueued has no
// row: the same action then runs now, and what is enqueued finds it running.
func (c *Client) find(ctx context.Context, p prepared) (standing, error) {
	at, err := c.standing(ctx, p)
	if err != nil && !at.found && gaveUp(ctx) {
		err = c.unanswered(ctx, p, err)
	}
	return at, err
}

func (c *Client) standing(ctx context.Context, p prepared) (standing, error) {
	if err := c.takesText(ctx, p); err != nil {
		return standing{}, err
	}
	row, err := c.store.Load(ctx, p.id)
	if intent.CodeOf(err) == intent.CodeIntentNotFound {
		spec, err := c.store.SpecFor(ctx, p.request.RequestKey, p.request.Action(), p.request.Context.Canonical())
		return standing{queue: spec.TaskQueue}, err
	}
	if err != nil {
		return standing{}, err
	}
	return c.foundRow(ctx, p, row)
}

// foundRow is what the request finds in a row. The error is idempotency_conflict for that of
// another action, and outbox_restored for a refusal of which nobody knows whether it is the last word.
// A refusal stands if nobody has published the tool, and could decide anew.
func (c *Client) foundRow(ctx context.Context, p prepared, row outbox.Row) (standing, error) {
	at := standing{queue: row.TaskQueue, row: row, found: true}
	err := p.request.SameAs(row)
	if err == nil {
		at.again, err = row.DecidesAgain()
	}
	if err != nil || !at.again {
		return at, err
	}
	spec, err := c.store.Spec(ctx, row.Tool) // where the tool is hosted now
	if intent.CodeOf(err) == intent.CodeUnknownTool {
		at.again = false // nobody can decide
		return at, nil
	}
	at.queue = spec.TaskQueue
	return at, err
}

// finds notes what the request found when it came: only a refusal that stood then is decided on
// again for it.
func (p *prepared) finds(at standing) {
	if at.again {
		p.refused = at.row.Generation
	}
}

// answeredBy reports whether the row is the request's, and not the refusal that it asks to have
// decided on again.
func (p prepared) answeredBy(at standing) bool { return at.found && !p.asksAgain(at.row) }

// asksAgain reports whether the row is the refusal that the request found, before that was decided
// on again.
func (p prepared) asksAgain(row outbox.Row) bool {
	return row.State == intent.Refused && row.Generation == p.refused
}

// decided notes that a run has decided again on the generation. A run that was joined may not have:
// then the next one does.
func (p *prepared) decided(generation int) {
	if generation == p.refused {
		p.refused = 0
	}
}
