package activities

import (
	"context"
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
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

// stillConfirmed is the decision d, which lets the row go on, or the denial of what too few have
// confirmed: as many as were asked for then, or somebody let it go on by hand, and as many as are
// asked for now, of those whom the policy of now lets confirm.
func (a *Activities) stillConfirmed(ctx context.Context, row outbox.Row, spec tools.Spec, f policy.Facts, d decided) (decided, error) {
	people, err := a.confirmations(ctx, row)
	if err != nil {
		return decided{}, err
	}
	before, err := parseDecision(row.Decision)
	if err != nil {
		return decided{}, err
	}
	if len(people) < before.Quorum() {
		return record(policy.IntentAltered())
	}
	asked := d.Decision
	if len(people) > 0 && spec.Duplicates.Action == intent.ConfirmDuplicates {
		// The guard is not asked again; what it asked for had to be confirmed all the same.
		asked = asked.GuardAgainst(policy.Duplicate{Of: row.SuspectedDuplicateOf}, intent.ConfirmDuplicates)
	}
	now, err := a.policy.Suffice(ctx, asked, f, people)
	if err != nil || now.Allow == d.Allow {
		return d, err
	}
	return record(now)
}

// confirmations are those that count for the row, each person's once; none if nobody was waited
// for.
func (a *Activities) confirmations(ctx context.Context, row outbox.Row) ([]policy.Confirmation, error) {
	who := row.Record().Confirmed()
	if len(who) == 0 {
		return nil, nil
	}
	decisions, err := a.store.Decisions(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	list := make([]policy.Confirmation, len(who))
	for i, name := range who {
		for _, d := range decisions {
			if d.Kind == intent.Confirm && d.Principal == name {
				list[i] = policy.Confirmation{By: d.Identity(), At: d.DecidedAt} // the last one is what counts
			}
		}
	}
	return list, nil
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
	return outbox.Refusal{ID: row.ID, Version: row.Version, Decision: d.recorded}
}
