package intent

import "slices"

// Confirmed returns who has confirmed what waits, or waited, for confirmations: each person
// once, in the order in which they did. A confirmation counts for the commitment that it was
// given for and no other, and only if it was given in time. Of what no longer waits, it is the
// commitment that was confirmed last: a later generation goes on under it.
func (r Record) Confirmed() []string {
	bound := r.Commitment
	if r.State != AwaitingConfirmation {
		bound = r.lastConfirmed()
	}
	var who []string
	for _, d := range r.Decisions {
		counts := d.Kind == Confirm && d.Commitment == bound && d.At.Before(r.ConfirmBy)
		if counts && !slices.Contains(who, d.Principal) {
			who = append(who, d.Principal)
		}
	}
	return who
}

// lastConfirmed is the commitment of the last confirmation; zero if there is none.
func (r Record) lastConfirmed() Digest {
	for _, d := range slices.Backward(r.Decisions) {
		if d.Kind == Confirm {
			return d.Commitment
		}
	}
	return Digest{}
}

// Quorum is how many different people must confirm; 0 if nobody has to.
func (r Record) Quorum() int {
	if r.ConfirmBy.IsZero() {
		return 0
	}
	return max(r.Approvers, 1)
}

// Unconfirmed is how many people still have to confirm; 0 if nobody has to.
func (r Record) Unconfirmed() int { return max(r.Quorum()-len(r.Confirmed()), 0) }
