package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"writ/intent"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/policy"
	"writ/telemetry"
	"writ/tools"
)

// Activities are the steps of tool.execute on one worker.
type Activities struct {
	store    *outbox.Store
	registry *tools.Registry
	policy   *policy.Engine
	queue    string
	worker   string
	log      *slog.Logger

	maxPayload, maxResult int
	confirmWithin         time.Duration
	breakerFailures       int
	follow                func(ctx context.Context, inForce string) error
	freed                 func()
}

// DefaultMaxResult is the size in bytes up to which an answer is kept whole.
const DefaultMaxResult = 16 << 20

// Config is what a worker gives its activities. Every field but the limits is required.
type Config struct {
	Store    *outbox.Store
	Registry *tools.Registry
	Policy   *policy.Engine
	// TaskQueue is the Temporal task queue that the worker polls.
	TaskQueue string
	// Worker names the process in claims.
	Worker string
	Logger *slog.Logger
	// MaxPayload is the size in bytes that a payload may have. Default: intent.MaxPayload.
	MaxPayload int
	// MaxResult is how many bytes of a tool's answer are kept; of a larger one the beginning,
	// with the size and the digest of all of it. Default: DefaultMaxResult.
	MaxResult int
	// ConfirmWithin is how long an intent waits for a person to confirm it. Default:
	// DefaultConfirmWithin.
	ConfirmWithin time.Duration
	// BreakerFailures is how many attempts in a row a provider may leave unanswered within a
	// minute before a hold is set on it. Default: DefaultBreakerFailures. Negative: any number.
	BreakerFailures int
	// Follow is called before each decision with the digest of the policies that are in force in
	// PostgreSQL, empty if none are, so that Policy has them. Nil: Policy does not follow them.
	Follow func(ctx context.Context, inForce string) error
	// Freed is called when a step has made room in a budget that others wait for; nil: they are
	// found at the next sweep.
	Freed func()
}

// New returns the activities of a worker.
func New(c Config) *Activities {
	return &Activities{
		store: c.Store, registry: c.Registry, policy: c.Policy, queue: c.TaskQueue, worker: c.Worker, log: c.Logger,
		maxPayload: c.MaxPayload, maxResult: cmp.Or(c.MaxResult, DefaultMaxResult),
		confirmWithin: cmp.Or(c.ConfirmWithin, DefaultConfirmWithin), breakerFailures: cmp.Or(c.BreakerFailures, DefaultBreakerFailures),
		follow: c.Follow,
		freed:  c.Freed,
	}
}

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
		again, err := in.asksAgain(*request, row)
		if err != nil {
			return Progress{}, err
		}
		if again {
			return a.authorizeRefused(ctx, *request, row)
		}
	}
	return a.authorizeAgain(ctx, row)
}

func (a *Activities) authorizeNew(ctx context.Context, r Request, traceparent string) (Progress, error) {
	tool, decision, err := a.decideRequest(ctx, r)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{
		Step:        intent.Step{Kind: StepPersist, Reason: intent.ReasonFirstAttempt},
		Decision:    decision.recorded,
		Labels:      r.Labels(),
		Traceparent: traceparent,
		TimeoutMS:   (tool.Spec.Rules().Timeout + invokeOverhead).Milliseconds(),
		HeartbeatMS: heartbeatTimeout(tool.Spec.Class()).Milliseconds(),
	}
	if !decision.Allow || decision.Confirm || tool.Spec.Class() != intent.Read || r.Detached {
		return p, nil
	}
	held, err := a.store.Held(ctx, r.Context.Tenant, r.Tool, tool.Spec.Provider)
	if err != nil || held {
		return p, err
	}
	counted, err := a.store.Counted(ctx, r.Context.Tenant, r.Context.Principal, r.Tool)
	if err == nil && !counted {
		p.Step.Kind = StepAnswer
	}
	return p, err
}

// authorizeAgain decides what an intent that exists does next. What is to be invoked needs
// a worker that hosts the tool, and is waited for here, where Temporal retries with a
// backoff. Policy is asked again before every attempt. Before the first one the tool must
// still behave as it did when the intent was authorized; once something was sent, the intent
// goes on under the behaviour that it was sent with.
func (a *Activities) authorizeAgain(ctx context.Context, row outbox.Row) (Progress, error) {
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
	decision, err := a.decideAgain(ctx, tool, row)
	killpoint.Reach(killpoint.DecidedAgain, row.ID.String())
	if err != nil || decision.Allow {
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

// decideAgain decides on an intent that exists. A policy that gives no answer about one of which
// something was sent is waited for: it has not said no, and an outcome may be open.
func (a *Activities) decideAgain(ctx context.Context, tool tools.Registered, row outbox.Row) (decided, error) {
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
	f := facts(tool.Spec, r, row.ReadAt)
	if a.follow != nil {
		if f, err = a.factsNow(ctx, tool.Spec, r); err != nil {
			return decided{}, err
		}
	}
	d, err := a.decide(ctx, f)
	if err == nil && d.Allow {
		d, err = a.after(ctx, row, tool.Spec, f, d)
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
	return policy.Facts{Context: r.Context, Tool: factsOf(spec), Payload: r.Payload, Now: now}
}

// decide asks the engine.
func (a *Activities) decide(ctx context.Context, f policy.Facts) (decided, error) {
	decision, err := a.policy.Decide(ctx, f)
	if err != nil {
		return decided{}, err
	}
	return record(decision)
}

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
	case in.DecidedAgain > 0 && request != nil:
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
	return progressOf(row), nil
}

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
	key := intent.DeriveKey(row.Tenant, row.Tool, row.RequestKey, generation)
	return outbox.Renewal{
		ID: row.ID, Version: row.Version, Key: key,
		Commitment: intent.Commitment(intent.Authorized{
			Fingerprint: row.Fingerprint, SpecDigest: row.SpecDigest, Context: row.EffectContext,
			Decision: row.Decision, Key: key, Generation: generation,
		}),
	}
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
	proposal, err := a.propose(*request, in.Input.traceparent(), decision, nil)
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
