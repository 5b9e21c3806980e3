package activities

import (
	"context"
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/telemetry"
)

// DefaultBreakerFailures is how many attempts in a row a provider may leave unanswered within a
// minute before everything that would be sent to it is held.
const DefaultBreakerFailures = 10

// heed lets the circuit breaker of the claimed row's provider see what an attempt showed, after
// the evidence is recorded. What fails here is made up for: by the next failure, or the next
// probe.
func (a *Activities) heed(ctx context.Context, claimed outbox.Row, attempt outbox.Attempt, ev outbox.Evidence) {
	provider := claimed.Rules.Provider
	if provider == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), evidenceTimeout)
	defer cancel()
	switch ev.Contact.Given(ev.Outcome) {
	case intent.Unanswered:
		if a.breakerFailures > 0 {
			a.hold(ctx, provider, ev)
		}
	case intent.Answered:
		// A claim that was granted although a hold stood is a probe.
		if !claimed.HeldUntil.IsZero() {
			a.lift(ctx, provider, attempt, ev)
		}
	case intent.NoContact:
	}
}

func (a *Activities) hold(ctx context.Context, provider string, ev outbox.Evidence) {
	tripped, err := a.store.Trip(ctx, provider, a.breakerFailures, lastWord(ev))
	if err != nil {
		a.log.Warn("the circuit breaker could not look at a provider that does not answer", "provider", provider, "error", err)
	}
	if tripped {
		telemetry.CountBreaker(provider, true)
		a.log.Warn("the circuit breaker holds a provider that does not answer; what would be sent to it waits",
			"provider", provider, "failures", a.breakerFailures, "code", ev.Code)
	}
}

// releaseTimeout bounds how long a worker makes due what a hold kept waiting.
const releaseTimeout = time.Minute

func (a *Activities) lift(ctx context.Context, provider string, attempt outbox.Attempt, ev outbox.Evidence) {
	closed, err := a.store.CloseBreaker(ctx, provider, attempt.ClaimedAt)
	if err != nil {
		a.log.Warn("the hold of the circuit breaker was not lifted; the next probe lifts it", "provider", provider, "error", err)
	}
	if !closed {
		return
	}
	telemetry.CountBreaker(provider, false)
	a.log.Info("the circuit breaker lets a provider be used again, because it answered", "provider", provider, "outcome", ev.Outcome)
	// Nobody waits for it: what is not made due goes on when its own wait is over.
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		n, err := a.store.Release(ctx, outbox.Subject{Scope: outbox.HoldProvider, Name: provider})
		if err != nil {
			a.log.Warn("not all that waited for a provider goes on at once; the rest does when its wait is over", "provider", provider, "error", err)
		}
		a.log.Info("what waited for a provider goes on", "provider", provider, "intents", n)
	}()
}

// lastWord names what an attempt said that has no answer.
func lastWord(ev outbox.Evidence) string {
	if ev.Code != "" {
		return ev.Code
	}
	return string(intent.Unknown)
}
