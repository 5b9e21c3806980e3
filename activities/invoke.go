package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/policy"
	"writ/telemetry"
	"writ/tools"
)

// evidenceTimeout is how long recording evidence is tried before the journal is left to
// do it.
const evidenceTimeout = 2 * time.Second

// Invoke claims one attempt, runs the tool with the persisted key and records what it is
// known to have done. If no attempt is granted it sends nothing and says where the intent
// stands.
func (a *Activities) Invoke(ctx context.Context, in InvokeInput) (out InvokeOutput, err error) {
	ctx, span := telemetry.Start(telemetry.WithTraceparent(ctx, in.Traceparent), "writ.invoke",
		telemetry.IntentID.String(in.IntentID.String()), telemetry.Tool.String(in.Tool))
	defer func() { telemetry.End(span, err) }()
	defer beat(ctx, time.Duration(in.HeartbeatMS)*time.Millisecond)()
	tool, err := a.hosted(in.Tool)
	if err != nil {
		return InvokeOutput{}, err
	}
	if in.Answer != nil {
		return a.answer(ctx, tool, in)
	}
	return a.invoke(ctx, tool, in)
}

func (a *Activities) invoke(ctx context.Context, tool tools.Registered, in InvokeInput) (InvokeOutput, error) {
	killpoint.Reach(killpoint.BeforeClaim, in.IntentID.String())
	// The clock starts before the claim does, so that every limit that is derived from it
	// here ends no later than the one on the row.
	started := time.Now()
	claim, err := a.claim(ctx, tool, in)
	if err == nil && claim.Undecided {
		var p Progress
		if p, err = a.reauthorize(ctx, claim.Row); err != nil || p.Step.Kind != intent.Invoke {
			return InvokeOutput{Progress: p}, err
		}
		in.Version, in.DecidedAt, started = p.Version, p.DecidedAt, time.Now()
		claim, err = a.claim(ctx, tool, in)
	}
	if err != nil {
		return InvokeOutput{}, err
	}
	row := claim.Row
	if claim.Diverged {
		return diverged(tool, row)
	}
	if claim.Altered {
		return stopped(row, policy.IntentAltered())
	}
	if claim.Running {
		return InvokeOutput{Progress: whileRunning(row)}, nil
	}
	if !claim.Granted {
		return InvokeOutput{Progress: progressOf(row)}, nil
	}
	killpoint.Reach(killpoint.BeforeSend, in.IntentID.String())
	attempt := claim.Attempt
	fields := invocation.Fields{
		Tool: row.Tool, Payload: claim.Payload, IdempotencyKey: row.IdempotencyKey, Attempt: attempt.Number,
		Deadline: started.Add(row.Rules.Timeout),
		SendBy:   started.Add(attempt.SendBy.Sub(attempt.ClaimedAt)),
	}
	if fields.Context, err = row.Context(); err != nil {
		return InvokeOutput{}, err
	}
	lease := started.Add(attempt.LeaseUntil.Sub(attempt.ClaimedAt))
	r := run{
		tool: tool.Tool, class: row.Rules.Class, fields: fields, attempt: attempt, lease: lease, salt: row.Salt, maxResult: a.maxResult,
		check: tool.Output.Validate,
		late:  func(ev outbox.Evidence) { a.recordLate(ctx, row.ID, ev) },
	}
	if transactor, ok := tool.Tool.(tools.Transactor); ok && r.class == intent.Transactional {
		return a.transact(ctx, transactor, r, row)
	}
	ev := r.untilLease(ctx)
	killpoint.Reach(killpoint.BeforeEvidence, in.IntentID.String())
	row, ev = a.recordEvidence(ctx, row, ev, lease)
	killpoint.Reach(killpoint.AfterEvidence, in.IntentID.String())
	a.heed(ctx, claim.Row, attempt, ev)
	return InvokeOutput{Progress: progressOf(row), Evidence: &ev}, nil
}

// claimTimeout is how long a claim may wait for the row's lock and for the database.
const claimTimeout = 10 * time.Second

// claim asks for the attempt. It does not follow the activity's context: one that ended
// during the COMMIT would leave a claim behind of which nothing was sent. The token is drawn once: the statement may be repeated after
// a lost answer and recognizes its own grant.
func (a *Activities) claim(ctx context.Context, tool tools.Registered, in InvokeInput) (outbox.Claim, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	token, err := uuid.NewRandom()
	if err != nil {
		return outbox.Claim{}, fmt.Errorf("claim token: %w", err)
	}
	request := outbox.ClaimRequest{
		ID: in.IntentID, Version: in.Version, DecidedAt: in.DecidedAt, Token: token, Worker: a.worker, SpecDigest: tool.Digest, Rules: tool.Spec.Rules(),
	}
	return retryDatabase(ctx, func() (outbox.Claim, error) { return a.store.Claim(ctx, request) })
}

// diverged ends an intent of whose generation nothing was sent. One whose attempts were sent
// under another behaviour waits for a worker that continues it.
func diverged(tool tools.Registered, row outbox.Row) (InvokeOutput, error) {
	if row.Sent() {
		return InvokeOutput{}, mayNotContinue(tool, row)
	}
	return stopped(row, policy.SpecDiverged())
}

// stopped hands a denial on that the claim has found, to be committed.
func stopped(row outbox.Row, denial policy.Decision) (InvokeOutput, error) {
	decision, err := record(denial)
	p := progressOf(row)
	p.Step, p.Decision = intent.Step{Kind: StepPersist, Reason: string(denial.Code)}, decision.recorded
	return InvokeOutput{Progress: p}, err
}

// answer runs a read that has no row and needs no claim: it has no effect to lose.
func (a *Activities) answer(ctx context.Context, tool tools.Registered, in InvokeInput) (InvokeOutput, error) {
	request, err := a.accepted(ctx, Input{IntentID: in.IntentID, Request: in.Answer})
	if err != nil {
		return InvokeOutput{}, err
	}
	// A hold may have been set since it was authorized; with a row it waits.
	held, now, err := a.store.Held(ctx, request.Context.Tenant, request.Tool, tool.Spec.Provider)
	if err != nil || held {
		return InvokeOutput{}, err
	}
	if !intent.Fresh(in.DecidedAt, now) {
		p, err := a.authorizeNew(ctx, *request, in.Traceparent)
		if err != nil || p.Step.Kind != StepAnswer {
			return InvokeOutput{Progress: p}, err
		}
	}
	token, err := uuid.NewRandom()
	if err != nil {
		return InvokeOutput{}, fmt.Errorf("attempt token: %w", err)
	}
	deadline := time.Now().Add(tool.Spec.Timeout)
	fields := invocation.Fields{
		Tool: request.Tool, Payload: request.Payload, Context: request.Context, Attempt: 1, Deadline: deadline, SendBy: deadline,
		IdempotencyKey: intent.DeriveKey(request.Context.Tenant, request.Tool, request.RequestKey, 1),
	}
	ev := run{
		tool: tool.Tool, class: tool.Spec.Class(), fields: fields, lease: deadline, maxResult: a.maxResult,
		check:   tool.Output.Validate,
		attempt: outbox.Attempt{Attempt: intent.Attempt{Number: 1}, Token: token},
		late:    func(outbox.Evidence) {},
	}.untilLease(ctx)
	if ev.ResultRef != nil {
		// Too large for the history: take the way with a row, which keeps it.
		return InvokeOutput{}, nil
	}
	return InvokeOutput{Evidence: &ev}, nil
}

// recordEvidence writes the evidence and returns the row. If the database does not
// answer, the row as it was known is returned and the journal writes the evidence.
func (a *Activities) recordEvidence(ctx context.Context, row outbox.Row, ev outbox.Evidence, lease time.Time) (outbox.Row, outbox.Evidence) {
	oversize := ev.ResultRef != nil
	give := time.Now().Add(evidenceTimeout)
	if oversize && lease.After(give) {
		give = lease
	}
	// Not the activity's context: an answer is recorded also when Temporal has lost
	// interest in it.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), give)
	defer cancel()
	updated, err := retryDatabase(ctx, func() (outbox.Row, error) { return a.store.RecordEvidence(ctx, row.ID, ev, oversize, Seal) })
	if err == nil {
		row = updated
		a.notice(row)
	} else {
		a.log.Warn("evidence was not recorded; the journal will write it, without a large answer", "intent_id", row.ID, "attempt", ev.Attempt, "error", err)
		if oversize {
			ev.Code = CodeResultLost
			ev.Message = fmt.Sprintf("the answer of %d bytes could not be stored, because the database did not answer in time", ev.ResultRef.Size)
		}
	}
	if oversize {
		ev.Result = nil
	}
	return row, ev
}

// recordLate keeps an answer that came after its attempt was given up.
func (a *Activities) recordLate(ctx context.Context, id intent.ID, ev outbox.Evidence) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	row, err := retryDatabase(ctx, func() (outbox.Row, error) { return a.store.RecordEvidence(ctx, id, ev, true, Seal) })
	a.notice(row)
	if err != nil {
		a.log.Error("a late answer was lost", "intent_id", id, "attempt", ev.Attempt, "outcome", ev.Outcome, "error", err)
	}
}

// retryPause spaces repetitions of a guarded statement.
const retryPause = 50 * time.Millisecond

// retryDatabase repeats a guarded statement whose answer was lost until it is answered,
// the error is definite, or ctx ends. ctx must have a deadline.
func retryDatabase[T any](ctx context.Context, statement func() (T, error)) (T, error) {
	for {
		answer, err := statement()
		if err == nil || intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
			return answer, err
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return answer, err
		}
	}
}
