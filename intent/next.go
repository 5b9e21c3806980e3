package intent

import (
	"cmp"
	"time"
)

// StepKind says what is to be done with an intent.
type StepKind string

const (
	// Invoke: claim attempt Step.Attempt and run the tool.
	Invoke StepKind = "invoke"
	// Wait: nothing may be done before Step.At; then decide again.
	Wait StepKind = "wait"
	// Reconcile: ask the provider what happened, without repeating the effect.
	Reconcile StepKind = "reconcile"
	// Renew: nothing happened under this generation's key, and it cannot be used again.
	// Persist the key of the next generation.
	Renew StepKind = "renew"
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
	ReasonSendAgain          = "send_again_after_absent"
	ReasonBackoff            = "backoff"
	ReasonLeaseRunning       = "attempt_may_still_answer"
	ReasonHeld               = "held"
	ReasonAwaitsBudget       = "awaits_budget"
	ReasonRestored           = "outbox_restored"
	ReasonLookUp             = "look_up"
	ReasonNextLookup         = "next_lookup"
	ReasonSettling           = "effect_may_still_land"
	ReasonKeySpent           = "key_cannot_be_used_again"
	ReasonApplied            = "effect_applied"
	ReasonFound              = "effect_found"
	ReasonAlready            = "effect_was_there_already"
	ReasonResolvedApplied    = "resolved_applied"
	ReasonResolvedNotApplied = "resolved_not_applied"
	ReasonPerformedTwice     = "performed_twice"
	ReasonMaybeTwice         = "perhaps_performed_twice"
	ReasonFinalFailure       = "definite_failure"
	ReasonBudgetSpent        = "attempts_exhausted"
	ReasonLookupsSpent       = "lookups_exhausted"
	ReasonWindowPassed       = "key_window_passed"
	ReasonKeyWindowUnknown   = "key_window_unknown"
	ReasonStoredError        = "provider_stores_errors"
	ReasonNeverSentTwice     = "opaque_is_never_sent_twice"
	ReasonCancelled          = "cancelled"
	ReasonUnconfirmed        = "not_confirmed"
	ReasonRevoked            = "policy_revoked"
	ReasonOldKeyOpen         = "earlier_key_open"
	ReasonRefused            = "refused"
	ReasonEnded              = "ended"
	ReasonAwaitsEvidence     = "awaits_evidence_or_operator"
	ReasonAwaitsConfirmation = "awaits_confirmation"
	ReasonEnqueued           = "enqueued"
	ReasonParked             = "parked"
	ReasonDropped            = "dropped"
)

// The reasons of amendments: what evidence that came after the end says against it. That an
// effect is performed_twice, or perhaps, can be known at the end, too.
const (
	// ReasonWithdrawn: later evidence took back what spoke against the end.
	ReasonWithdrawn          = "alert_withdrawn"
	ReasonAppliedAfterAll    = "applied_after_all"
	ReasonNotAppliedAfterAll = "not_applied_after_all"
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
	step := r.next(now)
	if r.RestoredUntil.After(now) && step.needsWholeRecord() {
		return Step{Kind: Wait, At: r.RestoredUntil, Reason: ReasonRestored}
	}
	return step
}

// needsWholeRecord reports whether the step would be wrong if an attempt was lost from the
// record: it sends, or says that nothing happened.
func (s Step) needsWholeRecord() bool {
	switch s.Kind {
	case Invoke, Renew:
		return true
	case Settle:
		return s.To != Completed
	case Wait, Reconcile, Park, Stop:
	}
	return false
}

func (r Record) next(now time.Time) Step {
	if r.State.Ended() {
		return Step{Kind: Stop, Reason: ReasonEnded}
	}
	if r.State == AwaitingConfirmation {
		return r.nextWhileAwaiting(now)
	}
	s := r.survey()
	switch {
	case s.twice:
		return Step{Kind: Settle, To: Completed, Reason: ReasonPerformedTwice}
	case s.maybeTwice:
		return Step{Kind: Settle, To: Completed, Reason: ReasonMaybeTwice}
	case s.applied:
		return Step{Kind: Settle, To: Completed, Reason: s.why}
	case s.open > 0:
		return r.nextWhileOpen(s, now)
	default:
		return r.nextWhenClear(s, now)
	}
}

// nextWhileAwaiting lets only a person's decision lead on, and ends the wait at its time.
func (r Record) nextWhileAwaiting(now time.Time) Step {
	s := r.survey()
	open := s.open > 0 // a confirmation may have been lost with what followed it
	switch {
	case s.applied: // the answer of an attempt that was lost, with its confirmation
		return Step{Kind: Park, To: InDoubt, Reason: ReasonUnconfirmed}
	case s.cancelled && open:
		return r.park(s, now, ReasonCancelled)
	case s.cancelled:
		return Step{Kind: Settle, To: Cancelled, Reason: ReasonCancelled}
	case now.Before(r.ConfirmBy):
		return Step{Kind: Stop, Reason: ReasonAwaitsConfirmation}
	case open:
		return r.park(s, now, ReasonUnconfirmed)
	}
	return Step{Kind: Settle, To: Refused, Reason: string(CodeConfirmationExpired)}
}

// nextWhileOpen decides while the effect of an earlier attempt may have happened.
func (r Record) nextWhileOpen(s survey, now time.Time) Step {
	switch r.Rules.Class {
	case Keyed:
		if why := r.mayNotResend(s, now); why != "" {
			return r.lookUp(s, now, why)
		}
		return r.invokeWhenDue(s, now, ReasonResend)
	case Reconcilable:
		return r.lookUp(s, now, ReasonLookupsSpent)
	case Opaque, Read, Transactional: // the last two leave nothing open
	}
	return r.park(s, now, ReasonNeverSentTwice)
}

// stopped ends what no attempt can have had an effect of and what may not go on.
func (r Record) stopped(s survey) Step {
	switch {
	case s.cancelled || s.unconfirmed:
		return Step{Kind: Settle, To: Cancelled, Reason: ReasonCancelled}
	case s.resolved:
		return Step{Kind: Settle, To: Failed, Reason: ReasonResolvedNotApplied}
	case r.revoked(s):
		return Step{Kind: Settle, To: Failed, Reason: ReasonRevoked}
	case r.exhausted(s):
		return Step{Kind: Settle, To: Failed, Reason: ReasonBudgetSpent}
	}
	return Step{}
}

// revoked reports whether the policy said no and nobody has let the intent go on since.
func (r Record) revoked(s survey) bool {
	return !r.RevokedAt.IsZero() && s.letGoOn <= r.RevokedAfter
}

// maxInProgress bounds, as a multiple of MaxAttempts, the attempts of a life in which the
// provider always answers that it is still at work: those spend no budget of their own.
const maxInProgress = 10

// exhausted reports whether all allowed attempts were made.
func (r Record) exhausted(s survey) bool {
	return s.spent >= r.Rules.MaxAttempts || s.made >= maxInProgress*r.Rules.MaxAttempts
}

// mayNotResend says why an open outcome may not be sent again with the same key; empty if it
// may.
func (r Record) mayNotResend(s survey, now time.Time) string {
	switch {
	case s.unconfirmed:
		return ReasonUnconfirmed
	case s.cancelled:
		return ReasonCancelled
	case r.revoked(s):
		return ReasonRevoked
	case s.openOld > 0:
		return ReasonOldKeyOpen
	case r.Rules.Window == 0:
		return ReasonKeyWindowUnknown
	case !r.windowHolds(latest(now, r.due(s))):
		return ReasonWindowPassed
	case r.Rules.ReplaysErrors && (s.replayed || s.refused && r.Rules.Lookup):
		return ReasonStoredError
	case r.exhausted(s):
		return ReasonBudgetSpent
	}
	return ""
}

// lookUp asks the provider what happened, as often as the rules allow, and parks the intent
// when that does not tell; without a way to ask, it parks for the reason why.
//
// The first lookup is made at once, because what is found ends all doubt. What is absent
// before the settle delay has passed may still land, so the next one comes after it, and so
// does the last in any case: it alone can show that nothing happened.
func (r Record) lookUp(s survey, now time.Time, why string) Step {
	switch {
	case !r.Rules.Lookup:
		return r.park(s, now, why)
	case s.lookups >= r.Rules.MaxLookups:
		return r.park(s, now, ReasonLookupsSpent)
	}
	at, reason, settle := now, ReasonNextLookup, s.lookups+1 == r.Rules.MaxLookups
	if asked := s.asked; asked != nil {
		at = latest(asked.AskedAt, asked.AnsweredAt).Add(max(r.backoff(s.lookups), min(asked.RetryAfter, maxLookupWait)))
		settle = settle || asked.Finding == Absent
	}
	if settle && s.settledAt.After(at) {
		at, reason = s.settledAt, ReasonSettling
	}
	if at.After(now) {
		return Step{Kind: Wait, At: at, Reason: reason}
	}
	return Step{Kind: Reconcile, Reason: ReasonLookUp}
}

// maxLookupWait bounds the wish of a provider for a wait before the next lookup: while an
// outcome is open, a person has to hear of it.
const maxLookupWait = 10 * time.Minute

// nextWhenClear decides when every earlier attempt, if any, provably had no effect that
// nobody knows of.
func (r Record) nextWhenClear(s survey, now time.Time) Step {
	last := s.lastOfKey
	switch {
	case s.cancelled || s.unconfirmed || s.resolved || s.total > 0 && r.revoked(s):
		return r.stopped(s)
	case last != nil && r.givesUp(last):
		return Step{Kind: Settle, To: Failed, Reason: ReasonFinalFailure}
	case r.exhausted(s):
		return r.stopped(s)
	case last == nil:
		return r.invokeWhenDue(s, now, ReasonFirstAttempt)
	case r.needsNewKey(s, now):
		return Step{Kind: Renew, Reason: ReasonKeySpent}
	case last.Outcome == NotApplied:
		return r.invokeWhenDue(s, now, ReasonRetry)
	case r.Rules.Class.LeavesDoubt():
		return r.invokeWhenDue(s, now, ReasonSendAgain)
	}
	return r.invokeWhenDue(s, now, ReasonRunAgain)
}

// givesUp reports whether the answer of an attempt before which nothing happened is one that
// another attempt cannot better. What is the case already will be so then, too.
func (r Record) givesUp(a *Attempt) bool {
	return a.Outcome == NotApplied && (a.Final || a.Already || !r.Rules.Retryable && !a.InProgress)
}

// needsNewKey reports whether the next attempt of a keyed tool, before which nothing
// happened, must go under another key: the provider may have stored an error under this one,
// or may have forgotten it by the time that the attempt is open.
func (r Record) needsNewKey(s survey, now time.Time) bool {
	if r.Rules.Class != Keyed {
		return false
	}
	stored := r.Rules.ReplaysErrors && (s.replayed || s.refused)
	return stored || r.Rules.Window != 0 && !r.windowHolds(latest(now, r.due(s)))
}

func (r Record) invokeWhenDue(s survey, now time.Time, reason string) Step {
	switch due := r.due(s); {
	case due.After(now) && r.Rules.Serial && due.Equal(s.openUntil):
		return Step{Kind: Wait, At: due, Reason: ReasonLeaseRunning}
	case due.After(now):
		return Step{Kind: Wait, At: due, Reason: ReasonBackoff}
	case r.HeldUntil.After(now):
		return Step{Kind: Wait, At: r.HeldUntil, Reason: ReasonHeld}
	case r.BudgetUntil.After(now):
		return Step{Kind: Wait, At: r.BudgetUntil, Reason: ReasonAwaitsBudget}
	}
	return Step{Kind: Invoke, Attempt: s.total + 1, Reason: reason}
}

// park waits for the leases of unanswered attempts before it gives up on them.
func (r Record) park(s survey, now time.Time, reason string) Step {
	switch {
	case s.unanswered && s.leaseEnd.After(now):
		return Step{Kind: Wait, At: s.leaseEnd, Reason: ReasonLeaseRunning}
	case r.State == InDoubt:
		return Step{Kind: Stop, Reason: ReasonAwaitsEvidence}
	}
	return Step{Kind: Park, To: InDoubt, Reason: reason}
}

// due is the earliest time of the attempt after s.last. After an attempt without an answer it
// is at once, because its worker is gone and the key makes a second send harmless; unless the
// contract says that two sends at once are not. It is at once, too, when a person let the
// intent go on after the answer. The provider's wish outlives the key that it was told under.
func (r Record) due(s survey) time.Time {
	var due time.Time
	if s.last != nil && s.last.Outcome != "" && s.total > s.budgetFrom {
		due = s.last.EvidenceAt.Add(cmp.Or(s.last.RetryAfter, r.backoff(s.spent)))
	}
	if r.Rules.Serial && s.open > 0 {
		due = latest(due, s.openUntil) // a lost connection says nothing of the provider's work
	}
	return due
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
// remembers the key, since another attempt may be sent within it.
func SendBy(r Record, claimedAt, leaseUntil time.Time) time.Time {
	if r.Rules.Class != Keyed || r.Rules.Window == Forever || r.Rules.Window == 0 {
		return leaseUntil
	}
	first := r.FirstSentAt
	if first.IsZero() {
		first = claimedAt
	}
	if end := first.Add(r.Rules.Window); end.Before(leaseUntil) {
		return end
	}
	return leaseUntil
}
