package activities

import (
	"context"

	"writ/intent"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/telemetry"
)

// Journal ends the intent with a receipt, or parks it, as the rule says.
func (a *Activities) Journal(ctx context.Context, in JournalInput) (p Progress, err error) {
	defer beatStep(ctx)()
	ctx, span := telemetry.Start(in.Input.traced(ctx), "writ.journal", telemetry.IntentID.String(in.Input.IntentID.String()))
	defer func() {
		span.SetAttributes(telemetry.State.String(string(p.State)))
		telemetry.End(span, err)
	}()
	killpoint.Reach(killpoint.BeforeJournal, in.Input.IntentID.String())
	if in.Decision != nil {
		p, err = a.journalAnswer(ctx, in)
	} else {
		p, err = a.journal(ctx, in)
	}
	killpoint.Reach(killpoint.AfterJournal, in.Input.IntentID.String())
	return rejected(p, in.Input, err)
}

// journal takes the steps that only write: it ends the intent, parks it, or persists the key of
// its next generation.
func (a *Activities) journal(ctx context.Context, in JournalInput) (Progress, error) {
	row, err := a.store.Journal(ctx, in.Input.IntentID, in.Evidence, Seal)
	if err != nil {
		return Progress{}, err
	}
	a.notice(row)
	if row.Next().Kind == intent.Renew {
		if row, err = a.store.Renew(ctx, Renewal(row)); err != nil {
			return Progress{}, err
		}
	}
	return progressOf(row), nil
}

// Renewal is the next generation of the row: the key that its tenant, tool, request key and
// number derive, and the commitment over it.
func Renewal(row outbox.Row) outbox.Renewal {
	generation := row.Generation + 1
	authorized := row.Authorized()
	authorized.Key, authorized.Generation = intent.DeriveKey(row.Tenant, row.Tool, row.RequestKey, generation), generation
	return outbox.Renewal{ID: row.ID, Version: row.Version, Key: authorized.Key, Commitment: intent.Commitment(authorized)}
}

// journalAnswer commits a read that was answered before it had a row. An answer that does
// not end the intent is dropped, and the intent is persisted and claimed like any other.
func (a *Activities) journalAnswer(ctx context.Context, in JournalInput) (Progress, error) {
	request, err := a.accepted(ctx, in.Input)
	if err != nil {
		return Progress{}, err
	}
	decision, err := parseDecision(in.Decision)
	if err != nil {
		return Progress{}, err
	}
	end, ends := a.endOfAnswer(in.Evidence, request.Tool)
	if !ends {
		return Progress{Step: intent.Step{Kind: StepPersist, Reason: intent.ReasonRetry}, Decision: in.Decision, Labels: request.Labels()}, nil
	}
	proposal, err := a.propose(*request, in.Input.traceparent(), decision)
	if err != nil {
		return Progress{}, err
	}
	row, err := a.store.InsertEnded(ctx, proposal, end, Seal)
	if err != nil {
		return Progress{}, err
	}
	if err := request.SameAs(row); err != nil {
		return Progress{}, err
	}
	return progressOf(row), nil
}

// endOfAnswer asks the rule whether a single attempt with this evidence ends the intent.
func (a *Activities) endOfAnswer(ev *outbox.Evidence, name string) (outbox.End, bool) {
	tool, ok := a.registry.Lookup(name)
	if ev == nil || !ok {
		return outbox.End{}, false
	}
	row := outbox.Row{State: intent.Invoking, Generation: 1, Rules: tool.Spec.Rules(), Attempts: []outbox.Attempt{{
		Attempt: intent.Attempt{Number: 1, Generation: 1, Outcome: ev.Outcome, Final: ev.Final},
	}}}
	step := row.Next()
	return outbox.End{To: step.To, Reason: step.Reason, Worker: a.worker, Evidence: ev}, step.Kind == intent.Settle
}
