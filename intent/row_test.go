package intent_test

import (
	"slices"
	"time"

	"writ/intent"
)

// row is an intent's row with the moves that the outbox makes on it, each under the row's lock.
type row struct {
	intent.Record
	// tokens are those of the attempts.
	tokens []string
	// alert is what evidence said last against the end.
	alert string
	// moves are the transitions that the row has made.
	moves []transition
	// repeated says that it was decided on again after a refusal.
	repeated bool
}

type transition struct{ from, to intent.State }

// grace is how long after an attempt's timeout its lease ends.
const grace = 5 * time.Second

func newRow(rules intent.Rules) row {
	return row{Record: intent.Record{State: intent.Recorded, Version: 1, Generation: 1, Rules: rules}}
}

func (r *row) move(to intent.State) {
	r.Version++
	r.moves = append(r.moves, transition{r.State, to})
	r.State = to
}

// claim grants the attempt that the rule names, if it does so on the version that the claimant
// knows. It returns the step that the rule names otherwise.
func (r *row) claim(now time.Time, version int64, token string) (a intent.Attempt, granted bool, step intent.Step) {
	for i, mine := range r.tokens {
		if token != "" && token == mine {
			return r.Attempts[i], true, intent.Step{} // only the COMMIT's answer was lost
		}
	}
	step = intent.Next(r.Record, now)
	if step.Kind != intent.Invoke || version != r.Version {
		return a, false, step
	}
	a = intent.Attempt{
		Number: step.Attempt, Generation: r.Generation, ClaimedAt: now, LeaseUntil: now.Add(r.Rules.Timeout + grace),
	}
	if r.FirstSentAt.IsZero() {
		r.FirstSentAt = now
	}
	r.move(intent.Invoking)
	r.Attempts, r.tokens = append(r.Attempts, a), append(r.tokens, token)
	return a, true, step
}

// learn records evidence: a definite outcome is never replaced, an unknown one gives way to a
// definite one. It reports whether anything was learned.
func (r *row) learn(number int, ev intent.Attempt) bool {
	a := &r.Attempts[number-1]
	if a.Outcome != "" && (a.Outcome != intent.Unknown || ev.Outcome == intent.Unknown) {
		return false
	}
	r.learning(func() {
		ev.Number, ev.Generation, ev.ClaimedAt, ev.LeaseUntil, ev.Presumed = a.Number, a.Generation, a.ClaimedAt, a.LeaseUntil, a.Presumed
		*a = ev
	})
	return true
}

// learning notes a fact, and what it says against the end of an intent that ended.
func (r *row) learning(fact func()) {
	before := intent.Contradiction(r.Record)
	fact()
	r.Version++
	against := intent.Contradiction(r.Record)
	if against == before {
		return
	}
	r.Version++
	r.alert = against
}

// ask counts a lookup before its question is asked.
func (r *row) ask(now time.Time) (number int) {
	r.Version++
	r.Lookups = append(r.Lookups, intent.Lookup{Number: len(r.Lookups) + 1, Generation: r.Generation, Attempts: len(r.Attempts), AskedAt: now})
	return len(r.Lookups)
}

// answered records what a lookup showed, once.
func (r *row) answered(number int, answer intent.Lookup) bool {
	l := &r.Lookups[number-1]
	if l.Finding != "" {
		return false
	}
	r.learning(func() {
		answer.Number, answer.Generation, answer.Attempts, answer.AskedAt = l.Number, l.Generation, l.Attempts, l.AskedAt
		*l = answer
	})
	return true
}

// decide records a person's decision, if it may be made, and takes the end that follows from
// it. It returns that step, and whether the decision was made.
func (r *row) decide(now time.Time, kind intent.DecisionKind, by string) (end intent.Step, made bool) {
	if !r.mayDecide(now, kind) {
		return end, false
	}
	r.learning(func() {
		d := r.Decide(kind)
		d.Principal, d.Commitment, d.At = by, r.Commitment, now
		r.Decisions = append(r.Decisions, d)
	})
	switch kind {
	case intent.Confirm:
		if r.Unconfirmed() == 0 {
			r.move(intent.Recorded)
		}
	case intent.Deny:
		if intent.Happened(r.Record) != intent.NotApplied {
			end = intent.Step{Kind: intent.Park, To: intent.InDoubt, Reason: intent.ReasonUnconfirmed}
			break
		}
		end = intent.Step{Kind: intent.Settle, To: intent.Refused, Reason: intent.ReasonRefused}
	case intent.Reissue:
		r.renew()
	case intent.Acknowledge:
		r.alert = ""
	case intent.Cancel, intent.ResolveApplied, intent.ResolveNotApplied, intent.Retry, intent.Inquire:
		if step := intent.Next(r.Record, now); step.Kind == intent.Settle {
			end = step
		}
	}
	r.take(end)
	return end, true
}

func (r *row) mayDecide(now time.Time, kind intent.DecisionKind) bool {
	switch kind {
	case intent.Deny:
		if r.RestoredUntil.After(now) {
			return false // its receipt would say that nothing was sent
		}
		fallthrough
	case intent.Confirm:
		return r.State == intent.AwaitingConfirmation && intent.Next(r.Record, now).Kind == intent.Stop
	case intent.Cancel:
		return !r.State.Ended()
	case intent.ResolveApplied, intent.ResolveNotApplied:
		return r.State == intent.InDoubt
	case intent.Retry:
		return r.State == intent.InDoubt && r.Rules.Class != intent.Opaque
	case intent.Inquire:
		return r.State == intent.InDoubt && r.Rules.Lookup
	case intent.Reissue:
		return r.State == intent.Failed && intent.Happened(r.Record) == intent.NotApplied
	case intent.Acknowledge:
		return r.alert != ""
	}
	return false
}

// copied returns a copy that shares nothing with r.
func (r *row) copied() *row {
	c := *r
	c.Attempts, c.Lookups, c.Decisions = slices.Clone(r.Attempts), slices.Clone(r.Lookups), slices.Clone(r.Decisions)
	c.tokens, c.moves = slices.Clone(r.tokens), slices.Clone(r.moves)
	return &c
}

// presume writes the attempt that stands for those that a database which lost commits may have
// granted, to an intent that was created at the given time.
func (r *row) presume(now, created time.Time) {
	if r.State == intent.Recorded {
		r.move(intent.Invoking)
	} else {
		r.Version++
	}
	if r.FirstSentAt.IsZero() {
		r.FirstSentAt = created
	}
	r.Attempts = append(r.Attempts, intent.Attempt{
		Number: len(r.Attempts) + 1, Generation: r.Generation, ClaimedAt: now, LeaseUntil: now.Add(r.Rules.Timeout + grace), Presumed: true,
	})
	r.tokens = append(r.tokens, "")
}

// repeat is the same request that comes again to what was refused, and is decided on anew: it is
// allowed, has to be confirmed, or is refused again.
func (r *row) repeat(now time.Time, to intent.State) bool {
	if !intent.DecidesAgain(r.Record) || r.RestoredUntil.After(now) {
		return false
	}
	r.move(to)
	r.Generation++
	r.repeated = true
	r.Commitment = intent.Digest{byte(r.Generation)}
	r.ConfirmBy, r.Approvers = time.Time{}, 0
	if to == intent.AwaitingConfirmation {
		r.ConfirmBy = now.Add(24 * time.Hour)
	}
	return true
}

// renew begins the next generation.
func (r *row) renew() {
	r.move(intent.Recorded)
	r.Generation++
	r.FirstSentAt = time.Time{}
}

// revoke records that the policy says no: before anything was sent that is a refusal.
func (r *row) revoke(now time.Time) {
	switch {
	case r.State.Ended(), r.RestoredUntil.After(now):
	case len(r.Attempts) == 0:
		r.move(intent.Refused)
	default:
		r.Version++
		r.RevokedAt, r.RevokedAfter = now, len(r.Decisions)
	}
}

// take takes a step that needs neither a tool nor a person.
func (r *row) take(step intent.Step) {
	switch step.Kind {
	case intent.Settle, intent.Park:
		r.move(step.To)
	case intent.Renew:
		r.renew()
	case intent.Invoke, intent.Wait, intent.Reconcile, intent.Stop:
	}
}
