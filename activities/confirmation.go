package activities

import (
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
)

// DefaultConfirmWithin is how long an intent waits for a person.
const DefaultConfirmWithin = 24 * time.Hour

// expiry is the recorded decision that ends an intent which nobody confirmed in time.
var expiry = func() []byte {
	d, err := record(policy.ConfirmationExpired())
	if err != nil {
		panic("activities: a decision of strings has no canonical form: " + err.Error())
	}
	return d.recorded
}()

// after is the decision that was made again on the row: what people confirmed then must be as
// much as is asked for now.
func (d decided) after(row outbox.Row) (decided, error) {
	now := d.Suffices(len(row.Record().Confirmed()))
	if now.Allow == d.Allow {
		return d, nil
	}
	return record(now)
}

// refuses reports whether the decision, which denies, ends the row as it stands now. The end
// of a wait for a person does not end an intent that was confirmed at the last moment.
func (d decided) refuses(row outbox.Row) bool {
	if d.Code == intent.CodeConfirmationExpired {
		return row.Next().To == intent.Refused
	}
	return !d.Allow && len(row.Attempts) == 0 && !row.State.Ended() && intent.CanMove(row.State, intent.Refused)
}

// revokes reports whether the decision, which denies, stops an intent of which something was
// sent, as it stood at the version that was decided on.
func (d decided) revokes(row outbox.Row, version int64) bool {
	return !d.Allow && len(row.Attempts) > 0 && row.Version == version && !row.State.Ended()
}

// Denial is how a person's no ends an intent that waits for one.
func Denial(row outbox.Row, by outbox.Decider) (outbox.Refusal, error) {
	d, err := record(policy.ConfirmationDenied(by.Principal, by.Note))
	if err != nil {
		return outbox.Refusal{}, err
	}
	return refusal(row, d), nil
}

func refusal(row outbox.Row, d decided) outbox.Refusal {
	return outbox.Refusal{ID: row.ID, Version: row.Version, Decision: d.recorded, Commitment: commitment(row, d)}
}
