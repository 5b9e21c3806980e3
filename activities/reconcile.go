package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/killpoint"
	"writ/internal/panictext"
	"writ/outbox"
	"writ/telemetry"
	"writ/tools"
)

// Reconcile asks the provider once what became of the effect, without repeating it, and
// records what it said. If the rule no longer wants to know, it asks nothing and says where
// the intent stands.
func (a *Activities) Reconcile(ctx context.Context, in ReconcileInput) (p Progress, err error) {
	ctx, span := telemetry.Start(telemetry.WithTraceparent(ctx, in.Traceparent), "writ.reconcile",
		telemetry.IntentID.String(in.IntentID.String()), telemetry.Tool.String(in.Tool))
	defer func() {
		span.SetAttributes(telemetry.Step.String(string(p.Step.Kind)))
		telemetry.End(span, err)
	}()
	defer beat(ctx, time.Duration(in.HeartbeatMS)*time.Millisecond)()
	tool, reconciler, err := a.reconciler(in.Tool, nil)
	if err != nil {
		return Progress{}, err
	}
	token, err := uuid.NewRandom()
	if err != nil {
		return Progress{}, fmt.Errorf("lookup token: %w", err)
	}
	killpoint.Reach(killpoint.BeforeLookup, in.IntentID.String())
	grant, err := a.store.BeginLookup(ctx, outbox.LookupRequest{
		ID: in.IntentID, Version: in.Version, Token: token, Worker: a.worker, Rules: tool.Spec.Rules(),
	})
	switch {
	case err != nil:
		return Progress{}, err
	case grant.Diverged:
		return Progress{}, mayNotLookUp(grant.Row.Tool)
	case grant.Number == 0:
		return progressOf(grant.Row), nil
	}
	killpoint.Reach(killpoint.DuringLookup, in.IntentID.String())
	found, err := a.ask(ctx, reconciler, grant)
	if err != nil {
		return Progress{}, err
	}
	found.Token = token
	killpoint.Reach(killpoint.AfterLookup, in.IntentID.String())
	return a.recordLookup(ctx, grant.Row, found)
}

// reconciler returns the tool if it can ask for the row's effect, or an error that Temporal
// retries, maybe on another worker. Without a row BeginLookup compares, under the row's lock.
func (a *Activities) reconciler(name string, row *outbox.Row) (tools.Registered, tools.Reconciler, error) {
	tool, err := a.hosted(name)
	if err != nil {
		return tool, nil, err
	}
	reconciler, ok := tool.Tool.(tools.Reconciler)
	if !ok || row != nil && !tool.Spec.Rules().Continues(row.Rules) {
		return tool, nil, mayNotLookUp(name)
	}
	return tool, reconciler, nil
}

// mayNotLookUp is the error of a tool that would ask another provider, or about another kind of
// key, than the effect went to: what it does not find may be there all the same.
func mayNotLookUp(name string) error {
	return fmt.Errorf("the tool %s cannot ask here for what was sent (no lookup, or another class, provider or key window); start a worker that has it as it was", name)
}

// ask calls the tool and says what its finding, its error or its panic shows.
func (a *Activities) ask(ctx context.Context, reconciler tools.Reconciler, grant outbox.LookupGrant) (outbox.Found, error) {
	row := grant.Row
	effectContext, err := row.Context()
	if err != nil {
		return outbox.Found{}, err
	}
	// A lookup has no effect, so it may be interrupted with its activity.
	ctx, cancel := context.WithTimeout(ctx, row.Rules.Timeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	inquiry := invocation.NewInquiry(invocation.Question{
		Tool: row.Tool, Payload: grant.Payload, Context: effectContext, IdempotencyKey: row.IdempotencyKey,
		FirstSentAt: row.FirstSentAt, Deadline: deadline,
	})
	answers := make(chan outbox.Found, 1)
	go func() {
		found := outbox.Found{Finding: intent.Unclear, Code: CodeGoexit}
		defer func() { answers <- found }()
		found = a.findingOf(grant, func() (tools.Finding, error) { return reconciler.Reconcile(ctx, inquiry) })
	}()
	select {
	case found := <-answers:
		return found, nil
	case <-ctx.Done():
		return outbox.Found{Finding: intent.Unclear, Code: CodeDeadlineExceeded,
			Message: "the lookup did not answer in time"}, nil
	}
}

func (a *Activities) findingOf(grant outbox.LookupGrant, ask func() (tools.Finding, error)) (found outbox.Found) {
	found = outbox.Found{Finding: intent.Unclear}
	defer func() {
		if p := recover(); p != nil {
			found.Code, found.Message = CodePanic, storable(panictext.Of(p), maxMessage)
		}
	}()
	finding, err := ask()
	var f *tools.Failure
	switch {
	case errors.As(err, &f):
		found.Code, found.Message = storable(cmp.Or(f.Code, CodeToolError), maxCode), storable(f.Error(), maxMessage)
		found.RetryAfterMS = retryAfterMS(f)
		return found
	case err != nil:
		found.Code, found.Message = CodeToolError, storable(err.Error(), maxMessage)
		return found
	case !finding.Found:
		found.Finding = intent.Absent
		return found
	}
	found.Finding, found.Effects = intent.Found, min(max(finding.Effects, 0), math.MaxInt32) // what a column holds
	found.EffectID = storable(finding.Result.EffectID, maxEffectID)
	if len(finding.Result.Body) > 0 {
		ev := outbox.Evidence{}
		run{salt: grant.Row.Salt, maxResult: a.maxResult}.keep(&ev, finding.Result)
		found.MediaType, found.Result, found.ResultRef = ev.MediaType, ev.Result, ev.ResultRef
		found.Code, found.Message = ev.Code, ev.Message
	}
	return found
}

// recordLookup writes what was found. If the database does not answer, the lookup counts as
// one without an answer, and the rule asks again.
func (a *Activities) recordLookup(ctx context.Context, row outbox.Row, found outbox.Found) (Progress, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupRecordTimeout)
	defer cancel()
	row, err := retryDatabase(ctx, func() (outbox.Row, error) { return a.store.RecordLookup(ctx, row.ID, found, Seal) })
	if err != nil {
		return Progress{}, err
	}
	a.notice(row)
	return progressOf(row), nil
}

// lookupRecordTimeout is how long recording a lookup's answer is tried.
const lookupRecordTimeout = 10 * time.Second

// notice has others hear of what a step did to the row beside its own work.
func (a *Activities) notice(row outbox.Row) {
	a.alarm(row)
	if row.Freed && a.freed != nil {
		a.freed()
	}
}

// alarm tells whoever watches the logs and the metrics that the evidence says something about
// an intent that a person has to look at.
func (a *Activities) alarm(row outbox.Row) {
	if !row.Raised {
		return
	}
	telemetry.CountAlert(row.Alert)
	a.log.Error("evidence speaks against the end of an intent; see `writ doubt`", "intent_id", row.ID.String(), "state", row.State, "alert", row.Alert)
}
