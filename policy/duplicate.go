package policy

import (
	"fmt"
	"time"

	"writ/intent"
)

// Duplicate is an earlier intent that a request without a key of its own repeats.
type Duplicate struct {
	// Of is the earlier intent; zero if there is none.
	Of intent.ID
	// Ago is how long ago it was committed.
	Ago time.Duration
}

// GuardAgainst applies the tool's duplicate guard to a decision that allows; it comes last,
// before the wait for a person that it may ask for.
func (d Decision) GuardAgainst(dup Duplicate, action intent.DuplicateAction) Decision {
	if !d.Allow || dup.Of.IsZero() {
		return d
	}
	d.SuspectedDuplicateOf = dup.Of
	switch action {
	case intent.FlagDuplicates:
	case intent.RefuseDuplicates:
		d.Allow, d.Policy, d.Code = false, builtIn, intent.CodeDuplicateSuspected
		d.Reason = fmt.Sprintf("the same was asked for %s ago as intent %s; if it is meant twice, give the request a key of its own",
			dup.Ago.Round(time.Second), dup.Of)
	case intent.ConfirmDuplicates:
		d.Confirm = true
	}
	return d
}
