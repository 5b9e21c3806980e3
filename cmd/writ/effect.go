package main

import (
	"fmt"
	"slices"

	"writ"
	"writ/intent"
)

// effectIn says what is known of the effect, which is what the whole record shows: of an intent
// that ended, evidence may speak against the end.
func effectIn(v writ.Intent) string {
	switch v.State {
	case intent.Completed:
		return completedEffect(v)
	case intent.Failed, intent.Refused, intent.Cancelled:
		return failedEffect(v)
	case intent.Submitted, intent.AwaitingConfirmation, intent.Recorded, intent.Invoking, intent.InDoubt:
		return openEffect(v)
	}
	return string(v.Effect)
}

func completedEffect(v writ.Intent) string {
	switch {
	case v.Class == intent.Read:
		return "read; the outside world was not changed"
	case v.Effect == intent.NotApplied:
		return "did not happen after all, although the intent is completed"
	case v.Effect == intent.Unknown:
		return "may not have happened after all, although the intent is completed"
	case v.Contradiction == intent.ReasonPerformedTwice:
		return "happened more than once" + effectsShown(v)
	case v.Contradiction != "":
		return "happened, and may have happened more than once"
	}
	if v.WasThereAlready() {
		return "was there already when it was sent again; whether this intent had it, or another, is not known"
	}
	if d, ok := v.SaidApplied(); ok {
		return "happened, as said " + decidedText(d)
	}
	return "happened"
}

// effectsShown says how many effects a lookup counted.
func effectsShown(v writ.Intent) string {
	most := 0
	for _, l := range v.Lookups {
		most = max(most, l.Effects)
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf(": the provider shows %d", most)
}

func failedEffect(v writ.Intent) string {
	again := ", although the intent is " + string(v.State) + "; do not ask for it again"
	switch {
	case v.Effect == intent.Applied && v.Contradiction == intent.ReasonPerformedTwice:
		return "happened more than once" + effectsShown(v) + again
	case v.Effect == intent.Applied:
		return "happened after all" + again
	case v.Effect != intent.NotApplied:
		return "may have happened after all" + again
	case v.State == intent.Refused && len(v.Attempts) == 0:
		return "did not happen: it was refused and nothing was sent"
	case v.State == intent.Cancelled && len(v.Attempts) == 0:
		return "did not happen: it was cancelled and nothing was sent"
	}
	if d, ok := v.SaidNotApplied(); ok {
		return "did not happen, as said " + decidedText(d)
	}
	if last := len(v.Attempts) - 1; last >= 0 && v.Attempts[last].Already {
		return "did not happen by this intent: it was there already"
	}
	return "did not happen: every attempt provably had no effect"
}

// openEffect says what is known so far, and how it goes on.
func openEffect(v writ.Intent) string {
	goes := onward(v.Next)
	switch {
	case v.Effect == intent.Applied:
		return "happened; the intent is about to end"
	case v.Effect == intent.Unknown && underWay(v):
		return "being sent; not known yet"
	case v.Effect == intent.Unknown:
		return "may or may not have happened; " + goes
	case len(v.Attempts) == 0 && v.Next.Reason == intent.ReasonFirstAttempt:
		return "nothing was sent yet"
	case len(v.Attempts) == 0:
		return "nothing was sent yet; " + goes
	case underWay(v):
		return "being run; not known yet" // of a class that leaves nothing open
	}
	return "did not happen so far; " + goes
}

// underWay reports whether the last attempt may be at work at this moment: nobody has heard of
// it, and it was neither given up nor looked up since.
func underWay(v writ.Intent) bool {
	n := len(v.Attempts)
	if n == 0 || v.Attempts[n-1].Outcome != "" || v.Attempts[n-1].Presumed {
		return false
	}
	lookedUp := slices.ContainsFunc(v.Lookups, func(l writ.Lookup) bool { return l.AskedAt.After(v.Attempts[n-1].ClaimedAt) })
	return v.Next.Reason == intent.ReasonLeaseRunning || v.Next.Kind == intent.Reconcile && !lookedUp
}

// onward says what the next step does about the effect.
func onward(next intent.Step) string {
	switch next.Kind {
	case intent.Invoke, intent.Renew:
		return "it is sent again"
	case intent.Reconcile:
		return "the provider is being asked"
	case intent.Settle:
		return "the intent is about to end"
	case intent.Park:
		return "nothing more is sent"
	case intent.Stop:
		switch next.Reason {
		case intent.ReasonAwaitsConfirmation:
			return "it waits for somebody to confirm it"
		case intent.ReasonParked:
			return "it waits for somebody to have it tried again, or to drop it"
		}
		return "nothing more is sent"
	case intent.Wait:
		return awaited(next.Reason)
	}
	return string(next.Kind)
}

// awaited says what a wait is for.
func awaited(reason string) string {
	switch reason {
	case intent.ReasonEnqueued:
		return "it is started when it is due"
	case intent.ReasonHeld:
		return "it waits for a hold to be lifted"
	case intent.ReasonAwaitsBudget:
		return "it waits for a budget to have room"
	case intent.ReasonRestored:
		return "it waits for writ recover --after-restore"
	case intent.ReasonNextLookup, intent.ReasonSettling:
		return "the provider is being asked"
	case intent.ReasonLeaseRunning:
		return "an attempt may still answer"
	}
	return "it is sent again after a wait"
}
