package writ

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/intent"
	"writ/outbox"
)

// endError is nil only for a completed intent whose effect happened.
func endError(v Intent) error {
	if contradicted(v) {
		return contradiction(v)
	}
	switch v.State {
	case intent.Submitted:
		return notDispatched(v)
	case intent.Completed:
		return nil
	case intent.Failed:
		return failure(v)
	case intent.Refused:
		return refusal(v)
	case intent.Cancelled:
		return cancellation(v)
	case intent.AwaitingConfirmation:
		return intent.Errorf(intent.CodeConfirmationRequired,
			"intent %s waits until %s for somebody other than %s to confirm it%s, and %s; `writ confirm %s` lets it go on, `writ deny %s` ends it",
			v.ID, v.ConfirmBy.UTC().Format(time.RFC3339), v.Principal, v.repeats(), v.nothing(), v.ID, v.ID)
	case intent.Recorded, intent.Invoking:
		return intent.Errorf(intent.CodeNotYetKnown, "intent %s has not ended and %s; request key %q again waits for its end", v.ID, v.goesOn(), v.RequestKey)
	case intent.InDoubt:
		return intent.Errorf(intent.CodeInDoubt,
			"the effect of intent %s may or may not have happened%s and it will not be sent again; ask the provider %s, and say what it answers with `writ resolve %s --applied` or `--not-applied` and a `--note`",
			v.ID, v.lastWord(), v.question(), v.ID)
	}
	return fmt.Errorf("intent %s is in the unknown state %q", v.ID, v.State)
}

// contradicted reports whether the evidence shows another effect than the end's name says. An
// effect that happened more than once did happen.
func contradicted(v Intent) bool {
	switch v.State {
	case intent.Completed:
		return v.Effect != intent.Applied
	case intent.Failed, intent.Refused, intent.Cancelled:
		return v.Effect != intent.NotApplied
	case intent.Submitted, intent.AwaitingConfirmation, intent.Recorded, intent.Invoking, intent.InDoubt:
	}
	return false
}

// contradiction says what the evidence shows, and keeps the caller from acting on the end.
func contradiction(v Intent) error {
	shows := "may have happened"
	switch v.Effect {
	case intent.Applied:
		shows = "happened"
	case intent.NotApplied:
		shows = "did not happen"
	case intent.Unknown:
	}
	mend := "do not ask for it again before somebody has looked"
	if v.Effect == intent.NotApplied {
		mend = "whoever acted on the completion has to be told"
	}
	return intent.Errorf(intent.CodeContradicted,
		"intent %s is %s, and evidence that came later says that its effect %s; %s: `writ intent get %s` shows the evidence", v.ID, v.State, shows, mend, v.ID).Proven(v.Effect)
}

// failure says whether the end is proven, or whose word it rests on.
func failure(v Intent) error {
	if d, ok := v.SaidNotApplied(); ok {
		return intent.Errorf(intent.CodeFailed, "the effect of intent %s did not happen, as %s%s; `writ reissue %s` asks for it again", v.ID, d.words(), v.lastWord(), v.ID)
	}
	if last := len(v.Attempts) - 1; last >= 0 && v.Attempts[last].Already {
		return intent.Errorf(intent.CodeFailed,
			"intent %s had no effect, because what it asks for was the case already%s; to ask again can only say the same", v.ID, v.lastWord())
	}
	return intent.Errorf(intent.CodeFailed,
		"every attempt of intent %s provably had no effect%s; `writ reissue %s` or a new request key asks for it again", v.ID, v.lastWord(), v.ID)
}

// cancellation says who stopped the intent, and whether it is proven that nothing happened.
func cancellation(v Intent) error {
	who := ""
	if d, ok := v.last(intent.Cancel); ok {
		who = fmt.Sprintf(" by %s at %s", d.Principal, d.DecidedAt.UTC().Format(time.RFC3339))
	}
	why := ""
	if d, ok := v.SaidNotApplied(); ok {
		why = ", as " + d.words()
	}
	return intent.Errorf(intent.CodeCancelled, "intent %s was cancelled%s, and nothing happened%s; use a new request key if it is wanted after all", v.ID, who, why)
}

func refusal(v Intent) error {
	var decision struct {
		Code   intent.Code `json:"code"`
		Reason string      `json:"reason"`
	}
	err := json.Unmarshal(v.Decision, &decision)
	if err == nil && decision.Code == "" {
		err = errors.New("it refuses nothing")
	}
	if err != nil {
		return provenBy(v, outbox.Unreadable("what is recorded as the decision on intent "+v.ID.String(), err))
	}
	return intent.Errorf(decision.Code, "intent %s was refused and %s: %s", v.ID, v.nothing(), decision.Reason).Proven(v.Effect)
}

// goesOn says how an intent stands that has not ended, and what keeps it waiting.
func (v Intent) goesOn() string {
	if v.Next.Reason == intent.ReasonRestored {
		return fmt.Sprintf("goes on (%s) when somebody has run `writ recover --after-restore`, because PostgreSQL may have lost commits", v.State)
	}
	if v.Next.Reason == intent.ReasonAwaitsBudget && v.BudgetWait != nil {
		return fmt.Sprintf("goes on (%s) when %s; nothing was sent yet", v.State, v.BudgetWait.told())
	}
	if v.Next.Reason != intent.ReasonHeld || len(v.Holds) == 0 {
		return fmt.Sprintf("goes on (%s)", v.State)
	}
	names := make([]string, len(v.Holds))
	for i, h := range v.Holds {
		names[i] = h.told()
	}
	text := fmt.Sprintf("goes on (%s) when it is lifted: %s", v.State, strings.Join(names, "; "))
	if len(v.Attempts) == 0 {
		text += "; nothing was sent yet"
	}
	return text
}

// nothing says of an intent without an effect why it has none.
func (v Intent) nothing() string {
	if len(v.Attempts) == 0 {
		return "nothing was sent"
	}
	return "nothing happened"
}

// unread is the error for an intent that is known and could not be read whole. An end that
// its row shows is proven.
func unread(ctx context.Context, v Intent, cause error) error {
	code := cmp.Or(intent.CodeOf(cause), intent.CodeUnexpected)
	if gaveUp(ctx) {
		code = intent.CodeNotYetKnown
	}
	e := intent.Errorf(code, "intent %s is %s, and the rest of it could not be read; request key %q again returns it: %w", v.ID, v.State, v.RequestKey, cause)
	return provenBy(v, e)
}

// provenBy adds to an error what the intent shows of the effect. What did not happen so far may
// still do so before the end.
func provenBy(v Intent, e *Error) *Error {
	if v.State.Ended() || v.Effect == intent.Applied {
		return e.Proven(v.Effect)
	}
	return e
}

// SaidNotApplied returns the decision of the person on whose word it rests that the effect did
// not happen. ok is false if nobody had to say so: then it is proven.
func (v Intent) SaidNotApplied() (d Decision, ok bool) {
	d, ok = v.last(intent.ResolveNotApplied)
	return d, ok && v.Effect == intent.NotApplied
}

// SaidApplied returns the decision of the person on whose word it rests that the effect
// happened. ok is false if nobody had to say so, or if evidence shows the effect.
func (v Intent) SaidApplied() (d Decision, ok bool) {
	d, ok = v.last(intent.ResolveApplied)
	return d, ok && !v.shown() && v.Effect == intent.Applied
}

// WasThereAlready reports whether the only sign of the effect is that the provider refused a
// later attempt with it. Another intent, or somebody else, may have had it.
func (v Intent) WasThereAlready() bool {
	_, said := v.SaidApplied()
	refused := slices.ContainsFunc(v.Attempts, func(a Attempt) bool { return a.Already })
	return refused && !said && !v.shown() && v.Effect == intent.Applied
}

// shown reports whether evidence shows the effect.
func (v Intent) shown() bool {
	return slices.ContainsFunc(v.Attempts, func(a Attempt) bool { return a.Outcome == intent.Applied }) ||
		slices.ContainsFunc(v.Lookups, func(l Lookup) bool { return l.Finding == intent.Found })
}

// last returns the last decision of the kind.
func (v Intent) last(kind intent.DecisionKind) (Decision, bool) {
	for _, d := range slices.Backward(v.Decisions) {
		if d.Kind == kind {
			return d, true
		}
	}
	return Decision{}, false
}

// words says who said something, when, and how they know.
func (d Decision) words() string {
	text := fmt.Sprintf("%s said at %s", d.Principal, d.DecidedAt.UTC().Format(time.RFC3339))
	if d.Note != "" {
		text += ": " + d.Note
	}
	return text
}

// repeats says what the intent seems to repeat.
func (v Intent) repeats() string {
	if v.SuspectedDuplicateOf.IsZero() {
		return ""
	}
	return fmt.Sprintf(", because it seems to repeat intent %s", v.SuspectedDuplicateOf)
}

// question is what the provider can be asked about an intent: for each key under which
// something happened or may have, or what it did at the time, because one of an opaque tool
// knows no keys.
func (v Intent) question() string {
	switch v.Class {
	case intent.Keyed, intent.Reconcilable:
		return "for idempotency key " + strings.Join(v.keysInQuestion(), " and ")
	case intent.Opaque, intent.Read, intent.Transactional:
	}
	var times []string
	for _, a := range v.Attempts {
		if a.inQuestion() {
			times = append(times, a.ClaimedAt.UTC().Format(time.RFC3339))
		}
	}
	if len(times) == 0 {
		times = append(times, v.FirstSentAt.UTC().Format(time.RFC3339))
	}
	return "what it did at " + strings.Join(times, " and at ")
}

// keysInQuestion are the keys under which something happened or may have.
func (v Intent) keysInQuestion() []string {
	var keys []string
	for generation := 1; generation <= v.Generation; generation++ {
		found := slices.ContainsFunc(v.Lookups, func(l Lookup) bool { return l.Generation == generation && l.Finding == intent.Found })
		if found || slices.ContainsFunc(v.Attempts, func(a Attempt) bool { return a.Generation == generation && a.inQuestion() }) {
			keys = append(keys, string(v.keyOf(generation)))
		}
	}
	if len(keys) == 0 {
		keys = append(keys, string(v.IdempotencyKey))
	}
	return keys
}

// inQuestion reports whether the attempt had its effect or may have had it.
func (a Attempt) inQuestion() bool { return a.Open || a.Outcome == intent.Applied }

// keyOf returns the key of a generation. That of an earlier one is derived as it was then.
func (v Intent) keyOf(generation int) intent.IdempotencyKey {
	if generation == v.Generation {
		return v.IdempotencyKey
	}
	firstSent := 0
	if len(v.Attempts) > 0 {
		firstSent = v.Attempts[0].Generation
	}
	return intent.DeriveKey(v.Tenant, v.Tool, v.RequestKey, intent.KeyGeneration(firstSent, generation))
}

// lastWord is what the last attempt said, for the error of a failed or doubtful intent.
func (v Intent) lastWord() string {
	if len(v.Attempts) == 0 || v.Attempts[len(v.Attempts)-1].Code == "" {
		return ""
	}
	return " (" + v.Attempts[len(v.Attempts)-1].Code + ")"
}
