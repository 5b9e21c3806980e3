package policy

import (
	"fmt"

	"writ/intent"
)

// Approval is the demand of a verdict that allows: people must confirm before anything is sent.
type Approval struct {
	// Approvers is how many different people must confirm; 0 is 1.
	Approvers int
}

// Quorum is how many different people must confirm before anything is sent; 0 if nobody has to.
func (d Decision) Quorum() int {
	if !d.Allow || !d.Confirm {
		return 0
	}
	return max(d.Approvers, 1)
}

// demand adds to a decision that allows that people must confirm. One approver is not written
// down, so that decisions of earlier releases keep their form.
func (d Decision) demand(a *Approval) Decision {
	if a == nil {
		return d
	}
	d.Confirm = true
	if a.Approvers > 1 {
		d.Approvers = a.Approvers
	}
	return d
}

// Suffices turns a decision on what was decided on before into a denial if it asks for more
// people than have confirmed: a demand that came later is not met by what was asked for then.
func (d Decision) Suffices(confirmed int) Decision {
	if d.Quorum() <= confirmed {
		return d
	}
	d.Reason = fmt.Sprintf("the policy asks by now for %d to confirm it, and %d did; ask with a new key if it is still wanted", d.Quorum(), confirmed)
	d.Allow, d.Confirm, d.Approvers, d.Code = false, false, 0, intent.CodeConfirmationInsufficient
	return d
}
