package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/intent"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/policy"
	"writ/telemetry"
	"writ/tools"
)

// Authorize decides whether the request may become an intent, or where the intent that
// has its request key stands. It writes nothing.
func (a *Activities) Authorize(ctx context.Context, in Input) (p Progress, err error) {
	defer beatStep(ctx)()
	ctx, span := telemetry.Start(in.traced(ctx), "writ.authorize", telemetry.IntentID.String(in.IntentID.String()))
	defer func() {
		span.SetAttributes(telemetry.Step.String(string(p.Step.Kind)))
		telemetry.End(span, err)
	}()
	p, err = a.authorize(ctx, in)
	return rejected(p, in, err)
}

func (a *Activities) authorize(ctx context.Context, in Input) (Progress, error) {
	request, err := a.accepted(ctx, in)
	if err != nil {
		return Progress{}, err
	}
	row, err := a.store.Load(ctx, in.IntentID)
	switch {
	case intent.CodeOf(err) == intent.CodeIntentNotFound && request != nil:
		return a.authorizeNew(ctx, *request, in.traceparent())
	case err != nil:
		return Progress{}, err
	}
	if request != nil {
		if err := request.SameAs(row); err != nil {
			return Progress{}, err
		}
		again, err := in.asksAgain(row)
		if err != nil {
			return Progress{}, err
		}
		if again {
			return a.authorizeRefused(ctx, *request, row)
		}
	}
	return a.reauthorize(ctx, row)
}

func (a *Activities) authorizeNew(ctx context.Context, r Request, traceparent string) (Progress, error) {
	tool, decision, err := a.decideRequest(ctx, r)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{
		Step:        intent.Step{Kind: StepPersist, Reason: intent.ReasonFirstAttempt},
		Decision:    decision.recorded,
		DecidedAt:   decision.at,
		Labels:      r.Labels(),
		Traceparent: traceparent,
		TimeoutMS:   (tool.Spec.Rules().Timeout + invokeOverhead).Milliseconds(),
		HeartbeatMS: heartbeatTimeout(tool.Spec.Class()).Milliseconds(),
	}
	if !decision.Allow || decision.Confirm || tool.Spec.Class() != intent.Read || r.Detached {
		return p, nil
	}
	held, _, err := a.store.Held(ctx, r.Context.Tenant, r.Tool, tool.Spec.Provider)
	if err != nil || held {
		return p, err
	}
	counted, err := a.store.Counted(ctx, r.Context.Tenant, r.Context.Principal, r.Tool)
	if err == nil && !counted {
		p.Step.Kind = StepAnswer
	}
	return p, err
}

// reauthorize decides what an intent that exists does next. What is to be invoked needs
// a worker that hosts the tool, and is waited for here, where Temporal retries with a
// backoff. Policy is asked again before every attempt. Before the first one the tool must
// still behave as it did when the intent was authorized; once something was sent, the intent
// goes on under the behaviour that it was sent with.
func (a *Activities) reauthorize(ctx context.Context, row outbox.Row) (Progress, error) {
	p := progressOf(row)
	if p.Step.Kind == intent.Reconcile {
		_, _, err := a.reconciler(row.Tool, &row)
		return p, err
	}
	if p.Step.Kind != intent.Invoke {
		return p, nil
	}
	tool, err := a.hosted(row.Tool)
	if err != nil {
		return Progress{}, err
	}
	decision, err := a.decideExisting(ctx, tool, row)
	killpoint.Reach(killpoint.Reauthorized, row.ID.String())
	if err != nil || decision.Allow {
		p.DecidedAt = row.ReadAt
		return p, err
	}
	p.Step, p.Decision = intent.Step{Kind: StepPersist, Reason: string(decision.Code)}, decision.recorded
	return p, nil
}

// mayNotContinue is nil if the tool may run the row's next attempt, else an error that
// Temporal retries, maybe on a worker with the tool that the attempts were sent by.
func mayNotContinue(tool tools.Registered, row outbox.Row) error {
	if row.Admits(tool.Digest, tool.Spec.Rules()) {
		return nil
	}
	return fmt.Errorf("the tool %s behaves otherwise here than the intent's earlier attempts were sent under (class, provider, key window or lookup); start a worker that has it as it was", row.Tool)
}

// decideExisting decides on an intent that exists. A policy that gives no answer about one of which
// something was sent is waited for: it has not said no, and an outcome may be open.
func (a *Activities) decideExisting(ctx context.Context, tool tools.Registered, row outbox.Row) (decided, error) {
	if row.Sent() {
		if err := mayNotContinue(tool, row); err != nil {
			return decided{}, err
		}
	} else if tool.Digest != row.SpecDigest {
		return record(policy.SpecDiverged())
	}
	r, err := a.requestOf(ctx, row)
	if err != nil {
		return decided{}, err
	}
	f := facts(tool.Spec, r, row.ReadAt) // the database's clock, without asking for it once more
	if a.follow != nil {
		if f, err = a.factsNow(ctx, tool.Spec, r); err != nil {
			return decided{}, err
		}
	}
	d, err := a.decide(ctx, f)
	if err == nil && d.Allow {
		d, err = a.stillConfirmed(ctx, row, tool.Spec, f, d)
	}
	if err == nil && row.Sent() && d.Code == intent.CodeGateError {
		err = errors.New("the policy gives no answer, and nothing is sent without one: " + d.Reason)
	}
	return d, err
}

// hosted returns the tool, or an error that Temporal retries, maybe on another worker.
func (a *Activities) hosted(name string) (tools.Registered, error) {
	tool, ok := a.registry.Lookup(name)
	if !ok {
		return tools.Registered{}, errors.New("this worker does not host the tool " + name + "; start a worker that does on this task queue")
	}
	return tool, nil
}

// decided is a decision with its canonical form.
type decided struct {
	policy.Decision
	recorded []byte
	// at is when the rules were asked, by the database's clock; zero of what no rule said.
	at time.Time
}

func record(d policy.Decision) (decided, error) {
	canonical, err := d.Canonical()
	return decided{Decision: d, recorded: canonical}, err
}

// factsNow are facts by the database's clock and by the policies in force there.
func (a *Activities) factsNow(ctx context.Context, spec tools.Spec, r Request) (policy.Facts, error) {
	now, inForce, err := a.store.NowAndPolicies(ctx)
	if err == nil && a.follow != nil {
		err = a.follow(ctx, inForce) // the engine's time for an answer is too short to read them
	}
	f := facts(spec, r, now)
	f.InForce = inForce
	return f, err
}

// facts are what the request is decided on; now is the database's time.
func facts(spec tools.Spec, r Request, now time.Time) policy.Facts {
	return policy.Facts{Context: r.Context, Tool: ruledTool(spec), Payload: r.Payload, Now: now}
}

// decide asks the engine.
func (a *Activities) decide(ctx context.Context, f policy.Facts) (decided, error) {
	decision, err := a.policy.Decide(ctx, f)
	if err != nil {
		return decided{}, err
	}
	d, err := record(decision)
	d.at = f.Now
	return d, err
}
