package intent_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/intent"
)

// open returns the generation's attempts whose own evidence leaves open what they did.
func open(r intent.Record) (list []intent.Attempt) {
	for _, a := range uncertain(r) {
		if a.Generation == r.Generation {
			list = append(list, a)
		}
	}
	return list
}

// uncertain returns the attempts of all generations whose own evidence leaves that open.
func uncertain(r intent.Record) (list []intent.Attempt) {
	for _, a := range r.Attempts {
		if a.Outcome != intent.Applied && a.Outcome != intent.NotApplied {
			list = append(list, a)
		}
	}
	return list
}

// shownHarmless reports whether something beside an attempt's own evidence shows that it had
// no effect: an operator's word on its generation, a lookup after its settle delay, or an
// answer that the provider had stored for its key.
func shownHarmless(r intent.Record, a intent.Attempt) bool {
	said := slices.ContainsFunc(r.Decisions, func(d intent.Decided) bool {
		return d.Kind == intent.ResolveNotApplied && d.Generation >= a.Generation
	})
	absent := slices.ContainsFunc(r.Lookups, func(l intent.Lookup) bool {
		trusted := a.LeaseUntil.Add(r.Rules.SettleDelay)
		atWork := slices.ContainsFunc(r.Attempts, func(b intent.Attempt) bool {
			return b.InProgress && b.Outcome == intent.NotApplied && b.Generation == a.Generation && (b.Number > l.Attempts || b.EvidenceAt.After(l.AskedAt))
		})
		return l.Generation == a.Generation && l.Attempts >= a.Number && l.Finding == intent.Absent && !l.AskedAt.Before(trusted) && !atWork
	})
	stored := r.Rules.ReplaysErrors && slices.ContainsFunc(r.Attempts, func(b intent.Attempt) bool {
		return b.Generation == a.Generation && b.Stored && b.Outcome == intent.NotApplied
	})
	return said || absent || stored
}

// unproven returns the attempts of which nothing shows that they had no effect.
func unproven(r intent.Record) []intent.Attempt {
	return slices.DeleteFunc(uncertain(r), func(a intent.Attempt) bool { return shownHarmless(r, a) })
}

// certain reports whether a class leaves no doubt.
func certain(c intent.Class) bool { return c == intent.Read || c == intent.Transactional }

func TestAnOpaqueToolIsNeverSentWhileAnEarlierAttemptIsOpen(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if l.Rules.Class == intent.Opaque && step.Kind == intent.Invoke && len(unproven(l.Record)) > 0 {
			t.Fatalf("%+v is to be sent again after %+v", step, l.Attempts)
		}
	})
}

func TestAReconcilableToolIsSentAgainOnlyAfterATrustedLookupFoundNothing(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if l.Rules.Class == intent.Reconcilable && step.Kind == intent.Invoke && len(unproven(l.Record)) > 0 {
			t.Fatalf("%+v is to be sent again after %+v and %+v", step, l.Attempts, l.Lookups)
		}
	})
}

func TestAKeyedToolIsSentAgainOnlyWithinTheProvidersMemoryOfTheKey(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		r := l.Record
		if r.Rules.Class != intent.Keyed || step.Kind != intent.Invoke || len(unproven(r)) == 0 || r.Rules.Window == intent.Forever {
			return
		}
		end := r.FirstSentAt.Add(r.Rules.Window)
		if l.now.Add(r.Rules.Timeout).After(end) {
			t.Fatalf("at %s attempt %d may run past the end of the window at %s", moment(l.now), step.Attempt, moment(end))
		}
		if sendBy := intent.SendBy(r, l.now, l.now.Add(r.Rules.Timeout+grace)); sendBy.After(end) {
			t.Fatalf("attempt %d may send until %s, after the window's end at %s", step.Attempt, moment(sendBy), moment(end))
		}
	})
}

func TestANewKeyIsUsedOnlyWhenNothingIsOpenUnderAnEarlierOne(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind == intent.Renew && len(unproven(l.Record)) > 0 {
			t.Fatalf("%s although %+v are open", told(step), unproven(l.Record))
		}
		for _, a := range unproven(l.Record) {
			if step.Kind == intent.Invoke && a.Generation != l.Generation && !certain(l.Rules.Class) {
				t.Fatalf("%s in generation %d although attempt %d of generation %d is open", told(step), l.Generation, a.Number, a.Generation)
			}
		}
	})
}

func TestNothingIsSentAfterAnEffectIsKnown(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		known := slices.ContainsFunc(l.Attempts, func(a intent.Attempt) bool { return a.Outcome == intent.Applied }) ||
			slices.ContainsFunc(l.Lookups, func(asked intent.Lookup) bool { return asked.Finding == intent.Found })
		if known && !l.State.Ended() && (step.Kind != intent.Settle || step.To != intent.Completed) {
			t.Fatalf("an effect is known, and the next step is %s", told(step))
		}
	})
}

func TestNothingIsSentWhileAPersonOrThePolicyForbidsIt(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Invoke {
			return
		}
		cancelled, revoked := false, !l.RevokedAt.IsZero()
		for i, d := range l.Decisions {
			goesOn := d.Kind == intent.Retry || d.Kind == intent.Reissue
			cancelled = d.Kind == intent.Cancel || cancelled && !goesOn
			revoked = revoked && !(goesOn && i >= l.RevokedAfter)
		}
		held := l.HeldUntil.After(l.now) || l.BudgetUntil.After(l.now) || l.restored
		if waits := l.State == intent.AwaitingConfirmation; cancelled || revoked || held || waits || l.State.Ended() {
			t.Fatalf("%s in state %s: cancelled %v, revoked %v, held %v", told(step), l.State, cancelled, revoked, held)
		}
	})
}

func TestAnIntentFailsOnlyWhenEveryAttemptIsProvenNotApplied(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		nothing := step.To == intent.Failed || step.To == intent.Cancelled || step.To == intent.Refused
		if nothing && !certain(l.Rules.Class) && len(unproven(l.Record)) > 0 {
			t.Fatalf("%s while %+v are open", told(step), unproven(l.Record))
		}
	})
}

func TestAReadAndATransactionalToolAreNeverInDoubt(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind == intent.Park && certain(l.Rules.Class) {
			t.Fatalf("%s of class %s", told(step), l.Rules.Class)
		}
		if intent.Happened(l.Record) == intent.Unknown && certain(l.Rules.Class) {
			t.Fatalf("it is unknown whether a tool of class %s had its effect", l.Rules.Class)
		}
	})
}

func TestNoAttemptIsParkedBeforeItsLeaseEnded(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Park {
			return
		}
		for _, a := range unproven(l.Record) {
			if a.Outcome == "" && a.LeaseUntil.After(l.now) {
				t.Fatalf("parked at %s although attempt %d may answer until %s", moment(l.now), a.Number, moment(a.LeaseUntil))
			}
		}
	})
}

func TestNothingIsSentBeforeAPersonHasConfirmedWhatWaitsForOne(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if l.State != intent.AwaitingConfirmation {
			return
		}
		expired := !l.now.Before(l.ConfirmBy)
		if len(l.Attempts) > 0 || l.restored {
			return // its confirmation may be lost
		}
		if l.Cancelled() { // while commits might be lost, which kept it from ending until now
			if step.Kind != intent.Settle || step.To != intent.Cancelled {
				t.Fatalf("cancelled while commits might be lost: %s", told(step))
			}
			return
		}
		if ends := step.Kind == intent.Settle && step.To == intent.Refused; ends != expired || !ends && step.Kind != intent.Stop {
			t.Fatalf("at %s, to be confirmed by %s: %s", moment(l.now), moment(l.ConfirmBy), told(step))
		}
	})
}

func TestTwoRequestsWithASerialKeyAreNeverUnderWayAtOnce(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Invoke || !l.Rules.Serial {
			return
		}
		for _, a := range unproven(l.Record) {
			if a.Outcome == "" && a.LeaseUntil.After(l.now) {
				t.Fatalf("at %s attempt %d follows attempt %d, which may send until %s", moment(l.now), step.Attempt, a.Number, moment(a.LeaseUntil))
			}
		}
	})
}

func TestTheBudgetBoundsTheAttemptsUntilAPersonRenewsIt(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Invoke {
			return
		}
		spent := 0
		since := l.Attempts[l.budgetFrom:]
		for _, a := range since {
			if !a.InProgress && !a.Presumed {
				spent++
			}
		}
		if spent >= l.Rules.MaxAttempts || len(since) >= 10*l.Rules.MaxAttempts {
			t.Fatalf("attempt %d after %d of %d were spent", step.Attempt, spent, l.Rules.MaxAttempts)
		}
	})
}

func TestTheWishOfAProviderForAWaitIsHonoured(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		if step.Kind != intent.Invoke || len(l.Attempts) == l.budgetFrom {
			return
		}
		last := l.Attempts[len(l.Attempts)-1]
		if until := last.EvidenceAt.Add(last.RetryAfter); last.Outcome != "" && l.now.Before(until) {
			t.Fatalf("at %s attempt %d follows one that asked to wait until %s", moment(l.now), step.Attempt, moment(until))
		}
	})
}

func TestEveryStepCanBeTaken(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, step intent.Step) {
		switch step.Kind {
		case intent.Invoke:
			if step.Attempt != len(l.Attempts)+1 {
				t.Fatalf("attempt %d follows %d attempts", step.Attempt, len(l.Attempts))
			}
			if !intent.CanMove(l.State, intent.Invoking) {
				t.Fatalf("an attempt is granted in state %s", l.State)
			}
		case intent.Wait:
			if !step.At.After(l.now) {
				t.Fatalf("at %s it waits for %s", moment(l.now), moment(step.At))
			}
			if then := intent.Next(l.Record, step.At); then.Kind == intent.Wait && !then.At.After(step.At) {
				t.Fatalf("after the wait it waits again: %s", told(then))
			}
		case intent.Settle, intent.Park:
			if !intent.CanMove(l.State, step.To) {
				t.Fatalf("%s cannot become %s", l.State, step.To)
			}
		case intent.Renew:
			if !intent.CanMove(l.State, intent.Recorded) {
				t.Fatalf("a new generation begins in state %s", l.State)
			}
		case intent.Reconcile:
			atWork := slices.ContainsFunc(l.Attempts, func(a intent.Attempt) bool { return a.InProgress && a.Generation == l.Generation })
			if !l.Rules.Lookup || len(open(l.Record)) == 0 && !atWork {
				t.Fatalf("there is nothing or no way to look up: %+v", l.Record)
			}
		case intent.Stop:
			waits := l.State == intent.AwaitingConfirmation && l.now.Before(l.ConfirmBy)
			if !l.State.Ended() && l.State != intent.InDoubt && !waits {
				t.Fatalf("nothing is left to do in state %s", l.State)
			}
		default:
			t.Fatalf("unknown step %+v", step)
		}
		if step.Reason == "" {
			t.Fatalf("step %+v has no reason", step)
		}
	})
}

func TestEvidenceAgainstAnEndIsNeverPassedOver(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, _ intent.Step) {
		applied := slices.ContainsFunc(l.Attempts, func(a intent.Attempt) bool { return a.Outcome == intent.Applied })
		acknowledged := slices.ContainsFunc(l.Decisions, func(d intent.Decided) bool { return d.Kind == intent.Acknowledge })
		if applied && l.State.Ended() && l.State != intent.Completed && l.Rules.Class != intent.Read && l.alert == "" && !acknowledged {
			t.Fatalf("it is %s, an attempt was applied, and nobody is told", l.State)
		}
	})
}

// Whatever came before: if every further answer is trouble and the rule is obeyed, the
// intent ends or waits for a person after a bounded number of steps.
func TestAnIntentThatOnlyMeetsTroubleEndsOrWaitsForAPerson(t *testing.T) {
	troubles := []intent.Attempt{
		{}, {Outcome: intent.Unknown}, {Outcome: intent.NotApplied}, {Outcome: intent.NotApplied, InProgress: true},
		{Outcome: intent.NotApplied, Stored: true}, {Outcome: intent.Unknown, Stored: true},
		{Outcome: intent.NotApplied, RetryAfter: time.Hour}, {Outcome: intent.NotApplied, Already: true},
	}
	histories(t, func(t *rapid.T, l *life, _ intent.Step) {
		future := row{Record: l.Record, tokens: slices.Clone(l.tokens), alert: l.alert}
		future.Attempts, future.Lookups = slices.Clone(l.Attempts), slices.Clone(l.Lookups)
		answer := rapid.SampledFrom(troubles).Draw(t, "every answer")
		finding := rapid.SampledFrom([]intent.Finding{"", intent.Absent, intent.Unclear}).Draw(t, "every finding")
		now := l.now
		// Of an attempt: a renewal, three waits, itself, and its lookups with their waits.
		for range (5 + 2*future.Rules.MaxLookups) * (10*future.Rules.MaxAttempts + 2) {
			step := intent.Next(future.Record, now)
			switch step.Kind {
			case intent.Stop:
				return
			case intent.Wait:
				now = step.At
			case intent.Invoke:
				a, _, _ := future.claim(now, future.Version, "")
				if trouble := answer; trouble.Outcome != "" {
					trouble.EvidenceAt = now
					future.learn(a.Number, trouble)
				}
			case intent.Reconcile:
				if n := future.ask(now); finding != "" {
					future.answered(n, intent.Lookup{Finding: finding, AnsweredAt: now})
				}
			case intent.Settle, intent.Park, intent.Renew:
				future.take(step)
			}
		}
		t.Fatalf("it never comes to rest: %+v", future.Record)
	})
}
