package writ

import (
	"context"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// Cancel forbids every further request for the intent and returns it as it stands when that is
// committed. It takes nothing back and interrupts nothing: an intent of which nothing was sent
// ends with it, one whose request is under way ends by what that does, and one whose outcome is
// open is looked up or stays in doubt. Cancelling again changes nothing.
//
// The error has code already_ended if the intent ended otherwise.
func (c *Client) Cancel(ctx context.Context, id intent.ID, by Decider) (Intent, error) {
	if err := by.check(); err != nil {
		return Intent{}, err
	}
	return c.decide(ctx, id, by, func(decider outbox.Decider, _ outbox.Row) (outbox.Row, error) {
		return c.store.Cancel(ctx, id, decider, activities.Seal)
	})
}
