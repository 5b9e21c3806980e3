package intent

import "time"

// StepKind says what is to be done with an intent.
type StepKind string

const (
	// Invoke: claim attempt Step.Attempt and run the tool.
	Invoke StepKind = "invoke"
	// Wait: nothing may be done before Step.At; then decide again.
	Wait StepKind = "wait"
	// Settle: end the intent in state Step.To with a receipt.
	Settle StepKind = "settle"
	// Park: the outcome is open and nothing more may be sent. Move to InDoubt.
	Park StepKind = "park"
	// Stop: there is nothing to do, because the intent ended, is parked already, or waits for
	// a person to confirm it.
	Stop StepKind = "stop"
)

// The reasons that a step gives. They stand in histories and receipts.
const (
	ReasonFirstAttempt       = "first_attempt"
	ReasonResend             = "resend_same_key"
	ReasonRunAgain           = "run_again"
	ReasonRetry              = "retry_after_definite_failure"
	ReasonBackoff            = "backoff"
	ReasonLeaseRunning       = "attempt_may_still_answer"
	ReasonApplied            = "effect_applied"
	ReasonFinalFailure       = "definite_failure"
	ReasonBudgetSpent        = "attempts_exhausted"
	ReasonWindowPassed       = "key_window_passed"
	ReasonNeverSentTwice     = "opaque_is_never_sent_twice"
	ReasonRefused            = "refused"
	ReasonEnded              = "ended"
	ReasonAwaitsEvidence     = "awaits_evidence_or_operator"
	ReasonAwaitsConfirmation = "awaits_confirmation"
	ReasonKeyWindowUnknown   = "key_window_unknown"
)

// Step is what is to be done next.
type Step struct {
	Kind StepKind `json:"kind"`
	// Attempt is the number to claim. Only for Invoke.
	Attempt int `json:"attempt,omitempty"`
	// At is the time to wait for, by the database's clock. Only for Wait.
	At time.Time `json:"at,omitzero"`
	// To is the state to move to. Only for Settle and Park.
	To State `json:"to,omitempty"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason"`
}

// Next decides the next step of an intent from its whole record, at the time now of the
// database's clock. It is the only place where this is decided: the claim asks it again
// under the row's lock, and so does the journal.
func Next(r Record, now time.Time) Step {
	if r.State.Ended() {
		return Step{Kind: Stop, Reason: ReasonEnded}
	}
	if r.State == AwaitingConfirmation {
		return r.nextWhileAwaiting(now)
	}
	s := survey(r)
	switch {
	case s.applied:
		return Step{Kind: Settle, To: Completed, Reason: ReasonApplied}
	case s.open > 0:
		return r.nextWhileOpen(s, now)
	default:
		return r.nextWhenClear(s, now)
	}
}

// nextWhileAwaiting lets only a person's decision lead on, and ends the wait at its time.
func (r Record) nextWhileAwaiting(now time.Time) Step {
	if now.Before(r.ConfirmBy) {
		return Step{Kind: Stop, Reason: ReasonAwaitsConfirmation}
	}
	return Step{Kind: Settle, To: Refused, Reason: string(CodeConfirmationExpired)}
}

// summary is what matters of the attempts.
type summary struct {
	applied bool // in any generation: late success of an old one blocks every later one
	total   int  // attempts of all generations
	spent   int  // attempts that count against the budget
	// open counts the generation's attempts without a definite outcome.
	open int
	// unanswered says that an open attempt has no evidence at all, and leaseEnd is when
	// the last of those must have stopped.
	unanswered bool
	leaseEnd   time.Time
	// last is the attempt of the generation with the highest number.
	last *Attempt
}

func survey(r Record) summary {
	var s summary
	for i := range r.Attempts {
		a := &r.Attempts[i]
		s.total++
		if !a.InProgress {
			s.spent++
		}
		if a.Outcome == Applied {
			s.applied = true
		}
		if a.Generation != r.Generation {
			continue
		}
		s.last = a
		switch a.Outcome {
		case Applied, NotApplied:
		case Unknown:
			s.open++
		default:
			s.open++
			s.unanswered = true
			if a.LeaseUntil.After(s.leaseEnd) {
				s.leaseEnd = a.LeaseUntil
			}
		}
	}
	return s
}

// nextWhileOpen decides while the effect of an earlier attempt may have happened.
func (r Record) nextWhileOpen(s summary, now time.Time) Step {
	switch r.Rules.Class {
	case Read:
		// No effect, so no doubt: run it again.
		if s.spent >= r.Rules.MaxAttempts {
			return Step{Kind: Settle, To: Failed, Reason: ReasonBudgetSpent}
		}
		return r.invokeWhenDue(s, now, ReasonRunAgain)
	case Keyed:
		due := r.due(s)
		at := now
		if due.After(at) {
			at = due
		}
		switch {
		case r.Rules.Window == 0:
			return r.park(s, now, ReasonKeyWindowUnknown)
		case !r.windowHolds(at):
			return r.park(s, now, ReasonWindowPassed)
		case s.spent >= r.Rules.MaxAttempts:
			return r.park(s, now, ReasonBudgetSpent)
		}
		return r.invokeWhenDue(s, now, ReasonResend)
	case Opaque:
		return r.park(s, now, ReasonNeverSentTwice)
	}
	return r.park(s, now, ReasonNeverSentTwice)
}

// nextWhenClear decides when every earlier attempt, if any, provably had no effect.
func (r Record) nextWhenClear(s summary, now time.Time) Step {
	switch {
	case s.last == nil && s.spent >= r.Rules.MaxAttempts:
		return Step{Kind: Settle, To: Failed, Reason: ReasonBudgetSpent}
	case s.last == nil:
		return Step{Kind: Invoke, Attempt: s.total + 1, Reason: ReasonFirstAttempt}
	case s.last.Final || (!r.Rules.Retryable && !s.last.InProgress):
		return Step{Kind: Settle, To: Failed, Reason: ReasonFinalFailure}
	case s.spent >= r.Rules.MaxAttempts:
		return Step{Kind: Settle, To: Failed, Reason: ReasonBudgetSpent}
	}
	return r.invokeWhenDue(s, now, ReasonRetry)
}

func (r Record) invokeWhenDue(s summary, now time.Time, reason string) Step {
	if due := r.due(s); due.After(now) {
		return Step{Kind: Wait, At: due, Reason: ReasonBackoff}
	}
	return Step{Kind: Invoke, Attempt: s.total + 1, Reason: reason}
}

// park waits for the leases of unanswered attempts before it gives up on them.
func (r Record) park(s summary, now time.Time, reason string) Step {
	switch {
	case s.unanswered && s.leaseEnd.After(now):
		return Step{Kind: Wait, At: s.leaseEnd, Reason: ReasonLeaseRunning}
	case r.State == InDoubt:
		return Step{Kind: Stop, Reason: ReasonAwaitsEvidence}
	}
	return Step{Kind: Park, To: InDoubt, Reason: reason}
}

// due is the earliest time of the attempt after s.last. After an attempt without an
// answer it is at once: its worker is gone, and the key makes a second send harmless.
func (r Record) due(s summary) time.Time {
	if s.last == nil || s.last.Outcome == "" {
		return time.Time{}
	}
	wait := r.backoff(s.spent)
	if s.last.RetryAfter > 0 {
		wait = s.last.RetryAfter
	}
	return s.last.EvidenceAt.Add(wait)
}

// backoff doubles with each attempt, within the policy's bounds.
func (r Record) backoff(attempts int) time.Duration {
	wait := r.Rules.InitialBackoff
	for range attempts - 1 {
		if wait > r.Rules.MaxBackoff/2 {
			return r.Rules.MaxBackoff // doubling could overflow
		}
		wait *= 2
	}
	return min(wait, r.Rules.MaxBackoff)
}

// windowHolds reports whether an attempt that starts at the given time ends while the
// provider surely remembers the generation's key.
func (r Record) windowHolds(at time.Time) bool {
	if r.Rules.Window == Forever {
		return true
	}
	return !at.Add(r.Rules.Timeout).After(r.FirstSentAt.Add(r.Rules.Window))
}

// SendBy returns the time after which an attempt claimed at the given time must not send:
// the end of its lease and, for a keyed tool, of the window in which the provider surely
// remembers the key, since another attempt may be sent within it. An attempt that is
// claimed after the window, when every earlier one provably had no effect, has its lease.
func SendBy(r Record, claimedAt, leaseUntil time.Time) time.Time {
	if r.Rules.Class != Keyed || r.Rules.Window == Forever || r.Rules.Window == 0 {
		return leaseUntil
	}
	first := r.FirstSentAt
	if first.IsZero() {
		first = claimedAt
	}
	end := first.Add(r.Rules.Window)
	if end.After(leaseUntil) || survey(r).open == 0 && !end.After(claimedAt) {
		return leaseUntil
	}
	return end
}
