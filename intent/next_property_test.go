package intent_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/intent"
)

// life is an intent that is driven through a random history by the same moves that the
// outbox makes, with the rule asked before each of them.
type life struct {
	record intent.Record
	now    time.Time
	// reissues counts the generations that an operator began.
	reissues int
}

func drawRules(t *rapid.T) intent.Rules {
	seconds := func(name string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
	}
	r := intent.Rules{
		Class:          rapid.SampledFrom([]intent.Class{intent.Read, intent.Keyed, intent.Opaque}).Draw(t, "class"),
		Retryable:      rapid.Bool().Draw(t, "retryable"),
		Timeout:        seconds("timeout", 1, 40),
		MaxAttempts:    rapid.IntRange(1, 6).Draw(t, "max attempts"),
		InitialBackoff: seconds("initial backoff", 1, 20),
	}
	r.MaxBackoff = r.InitialBackoff * time.Duration(rapid.IntRange(1, 5).Draw(t, "backoff growth"))
	if r.Class == intent.Keyed {
		r.Window = rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Just(intent.Forever),
			rapid.Map(rapid.IntRange(1, 300), func(n int) time.Duration { return time.Duration(n) * time.Second })).Draw(t, "window")
	}
	return r
}

func newLife(t *rapid.T) *life {
	l := &life{record: intent.Record{State: intent.Recorded, Version: 1, Generation: 1, Rules: drawRules(t)}, now: epoch}
	if rapid.IntRange(0, 3).Draw(t, "waits for a person") == 0 {
		l.record.State = intent.AwaitingConfirmation
		l.record.ConfirmBy = epoch.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "confirm by")) * time.Second)
	}
	return l
}

// confirm lets a person confirm in time.
func (l *life) confirm() {
	if l.record.State == intent.AwaitingConfirmation && l.now.Before(l.record.ConfirmBy) {
		l.record.State = intent.Recorded
	}
}

// advance lets a random time pass, often exactly none.
func (l *life) advance(t *rapid.T) {
	l.now = l.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 5, 15, 60, 400}).Draw(t, "seconds")) * time.Second)
}

// obey takes the step that the rule names.
func (l *life) obey(step intent.Step) {
	switch step.Kind {
	case intent.Invoke:
		if l.record.FirstSentAt.IsZero() {
			l.record.FirstSentAt = l.now
		}
		l.record.State = intent.Invoking
		l.record.Attempts = append(l.record.Attempts, intent.Attempt{
			Number: step.Attempt, Generation: l.record.Generation,
			ClaimedAt: l.now, LeaseUntil: l.now.Add(l.record.Rules.Timeout + grace),
		})
	case intent.Settle, intent.Park:
		l.record.State = step.To
	case intent.Wait:
		l.now = step.At
	case intent.Stop:
	}
}

// learn records evidence about a random attempt of whatever age, in whatever state.
func (l *life) learn(t *rapid.T) {
	if len(l.record.Attempts) == 0 {
		return
	}
	a := &l.record.Attempts[rapid.IntRange(0, len(l.record.Attempts)-1).Draw(t, "attempt")]
	outcome := rapid.SampledFrom([]intent.Outcome{intent.Applied, intent.NotApplied, intent.NotApplied, intent.Unknown, intent.Unknown}).Draw(t, "outcome")
	if a.Outcome == intent.Applied || a.Outcome == intent.NotApplied || a.Outcome == outcome {
		return
	}
	a.Outcome, a.EvidenceAt = outcome, l.now
	a.Final = outcome != intent.Applied && rapid.Bool().Draw(t, "final")
	a.InProgress = outcome == intent.NotApplied && rapid.IntRange(0, 3).Draw(t, "in progress") == 0
	a.RetryAfter = 0
	if outcome != intent.Applied && rapid.Bool().Draw(t, "says retry after") {
		a.RetryAfter = time.Duration(rapid.IntRange(1, 300).Draw(t, "retry after")) * time.Second
	}
}

// reissue begins a new generation where an operator could: the outcome was open.
func (l *life) reissue() {
	if l.record.State == intent.InDoubt && l.reissues < 2 {
		l.reissues++
		l.record.Generation++
		l.record.FirstSentAt = time.Time{}
	}
}

// histories runs check on every step that the rule names in random histories.
func histories(t *testing.T, check func(t *rapid.T, l *life, step intent.Step)) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		for range rapid.IntRange(1, 30).Draw(t, "length") {
			step := intent.Next(l.record, l.now)
			check(t, l, step)
			switch rapid.IntRange(0, 10).Draw(t, "what happens") {
			case 0, 1, 2, 3, 4:
				l.obey(step)
			case 5, 6, 7:
				l.learn(t)
			case 8:
				l.advance(t)
			case 9:
				l.reissue()
			case 10:
				l.confirm()
			}
		}
	})
}

// open returns the generation's attempts whose effect may have happened.
func open(r intent.Record) (list []intent.Attempt) {
	for _, a := range r.Attempts {
		if a.Generation == r.Generation && a.Outcome != intent.Applied && a.Outcome != intent.NotApplied {
			list = append(list, a)
		}
	}
	return list
}

func applied(r intent.Record) bool {
	for _, a := range r.Attempts {
		if a.Outcome == intent.Applied {
			return true
		}
	}
	return false
}

func TestAnOpaqueToolIsNeverSentWhileAnEarlierAttemptIsOpen(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if l.record.Rules.Class == intent.Opaque && step.Kind == intent.Invoke && len(open(l.record)) > 0 {
			t.Fatalf("%+v is to be sent again after %+v", step, l.record.Attempts)
		}
	})
}

func TestAKeyedToolIsSentAgainOnlyWithinTheProvidersMemoryOfTheKey(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		r := l.record
		if r.Rules.Class != intent.Keyed || step.Kind != intent.Invoke || len(open(r)) == 0 || r.Rules.Window == intent.Forever {
			return
		}
		end := r.FirstSentAt.Add(r.Rules.Window)
		if l.now.Add(r.Rules.Timeout).After(end) {
			t.Fatalf("at %s attempt %d may run past the end of the window at %s", told(l.now), step.Attempt, told(end))
		}
		if sendBy := intent.SendBy(r, l.now, l.now.Add(r.Rules.Timeout+grace)); sendBy.After(end) {
			t.Fatalf("attempt %d may send until %s, after the window's end at %s", step.Attempt, told(sendBy), told(end))
		}
	})
}

func TestNothingIsSentAfterAnEffectIsKnown(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		known := applied(l.record) && !l.record.State.Ended()
		if settles := step.Kind == intent.Settle && step.To == intent.Completed; settles != known {
			t.Fatalf("an effect is known: %v; step %+v", known, step)
		}
	})
}

func TestAnIntentFailsOnlyWhenEveryAttemptIsProvenNotApplied(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.To == intent.Failed && l.record.Rules.Class != intent.Read && len(open(l.record)) > 0 {
			t.Fatalf("it fails while %+v are open", open(l.record))
		}
		if step.Kind == intent.Park && l.record.Rules.Class == intent.Read {
			t.Fatal("a read is in doubt")
		}
	})
}

func TestNoAttemptIsParkedBeforeItsLeaseEnded(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Park {
			return
		}
		for _, a := range open(l.record) {
			if a.Outcome == "" && a.LeaseUntil.After(l.now) {
				t.Fatalf("parked at %s although attempt %d may answer until %s", told(l.now), a.Number, told(a.LeaseUntil))
			}
		}
	})
}

func TestNothingIsSentBeforeAPersonHasConfirmedWhatWaitsForOne(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if l.record.State != intent.AwaitingConfirmation {
			return
		}
		expired := !l.now.Before(l.record.ConfirmBy)
		if ends := step.Kind == intent.Settle && step.To == intent.Refused; ends != expired || !ends && step.Kind != intent.Stop {
			t.Fatalf("at %s, to be confirmed by %s: %s", told(l.now), told(l.record.ConfirmBy), told(step))
		}
	})
}

func TestTheBudgetBoundsTheAttemptsOfAWholeLife(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Invoke {
			return
		}
		spent := 0
		for _, a := range l.record.Attempts {
			if !a.InProgress {
				spent++
			}
		}
		if spent >= l.record.Rules.MaxAttempts {
			t.Fatalf("attempt %d after %d of %d were spent", step.Attempt, spent, l.record.Rules.MaxAttempts)
		}
	})
}

func TestEveryStepCanBeTaken(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		switch step.Kind {
		case intent.Invoke:
			if step.Attempt != len(l.record.Attempts)+1 {
				t.Fatalf("attempt %d follows %d attempts", step.Attempt, len(l.record.Attempts))
			}
			if !intent.CanMove(l.record.State, intent.Invoking) {
				t.Fatalf("an attempt is granted in state %s", l.record.State)
			}
		case intent.Wait:
			if !step.At.After(l.now) {
				t.Fatalf("at %s it waits for %s", told(l.now), told(step.At))
			}
			if then := intent.Next(l.record, step.At); then.Kind == intent.Wait && !then.At.After(step.At) {
				t.Fatalf("after the wait it waits again: %+v", then)
			}
		case intent.Settle, intent.Park:
			if !intent.CanMove(l.record.State, step.To) {
				t.Fatalf("%s cannot become %s", l.record.State, step.To)
			}
		case intent.Stop:
			waits := l.record.State == intent.AwaitingConfirmation && l.now.Before(l.record.ConfirmBy)
			if !l.record.State.Ended() && l.record.State != intent.InDoubt && !waits {
				t.Fatalf("nothing is left to do in state %s", l.record.State)
			}
		default:
			t.Fatalf("unknown step %+v", step)
		}
		if step.Reason == "" {
			t.Fatalf("step %+v has no reason", step)
		}
	})
}

// Whatever came before: if every further answer is lost or unknown and the rule is obeyed,
// the intent ends or is parked after a bounded number of steps.
func TestAnIntentThatOnlyMeetsTroubleComesToRest(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, _ intent.Step) {
		future := life{record: l.record, now: l.now}
		future.record.Attempts = append([]intent.Attempt(nil), l.record.Attempts...)
		answers := rapid.SampledFrom([]string{"lost", "unknown", "not_applied"}).Draw(t, "every answer")
		// At most three steps for each attempt: wait, invoke, wait for the lease.
		for range 3*future.record.Rules.MaxAttempts + 3 {
			step := intent.Next(future.record, future.now)
			if step.Kind == intent.Stop {
				return
			}
			future.obey(step)
			if step.Kind == intent.Invoke && answers != "lost" {
				last := &future.record.Attempts[len(future.record.Attempts)-1]
				last.Outcome, last.EvidenceAt = intent.Outcome(answers), future.now
			}
		}
		t.Fatalf("it never comes to rest: %+v", future.record)
	})
}
