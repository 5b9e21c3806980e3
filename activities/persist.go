package activities

import (
	"context"

	"writ/intent"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/telemetry"
)

// Persist commits the intent's row with its idempotency key before any effect, or the
// refusal of the request.
func (a *Activities) Persist(ctx context.Context, in PersistInput) (p Progress, err error) {
	defer beatStep(ctx)()
	ctx, span := telemetry.Start(in.Input.traced(ctx), "writ.persist", telemetry.IntentID.String(in.Input.IntentID.String()))
	defer func() { telemetry.End(span, err) }()
	killpoint.Reach(killpoint.BeforePersist, in.Input.IntentID.String())
	p, err = a.persist(ctx, in)
	killpoint.Reach(killpoint.AfterPersist, in.Input.IntentID.String())
	return rejected(p, in.Input, err)
}

func (a *Activities) persist(ctx context.Context, in PersistInput) (Progress, error) {
	decision, err := parseDecision(in.Decision)
	if err != nil {
		return Progress{}, err
	}
	request, err := a.accepted(ctx, in.Input)
	if err != nil {
		return Progress{}, err
	}
	row, err := a.store.Load(ctx, in.Input.IntentID)
	switch {
	case err == nil:
	case intent.CodeOf(err) == intent.CodeIntentNotFound && request != nil:
		if row, err = a.insert(ctx, *request, in.Input.traceparent(), decision, nil); err != nil {
			return Progress{}, err
		}
	default:
		return Progress{}, err
	}
	if request != nil {
		if err := request.SameAs(row); err != nil {
			return Progress{}, err
		}
	}
	switch {
	case in.DecidedAgain > 0 && in.Version == 0 && request != nil: // else the decision is on what followed
		return a.persistAgain(ctx, in, *request, row, decision)
	case decision.revokes(row, in.Version):
		row, err = a.store.Revoke(ctx, row.ID, in.Version, decision.recorded)
	case decision.refuses(row):
		row, err = a.store.Refuse(ctx, refusal(row, decision), Seal)
	}
	if err != nil {
		return Progress{}, err
	}
	a.notice(row)
	return in.progressOf(row, decision), nil
}

// progressOf is where the row stands after the decision was persisted, or found that the row had
// gone on. Only one that asks for nothing more lets an attempt follow at once.
func (in PersistInput) progressOf(row outbox.Row, d decided) Progress {
	p := progressOf(row)
	if d.Allow && !d.Confirm {
		p.DecidedAt = in.DecidedAt
	}
	return p
}
