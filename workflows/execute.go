package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
)

// ToolExecute drives one intent to its end, or until it is parked. It may be run again at
// any time and any number of times for the same intent: it reads the row first.
//
// Cancelling the workflow does not interrupt it, because a request that was sent cannot be
// taken back: it records that the intent is cancelled, as `writ intent cancel` does.
//
// The input is an activities.Input in JSON. It is taken as it was sent, because one that
// cannot be read must end as a rejection with a code, and not as a failure without one.
func ToolExecute(person workflow.Context, sent converter.RawValue) (Result, error) {
	ctx, _ := workflow.NewDisconnectedContext(person)
	in := readInput(sent)
	e := &execution{in: in, person: person, wake: workflow.GetSignalChannel(ctx, SignalWake)}
	if err := e.listen(ctx); err != nil {
		return Result{}, err
	}
	if in.Defect != nil {
		return e.reject(ctx, *in.Defect)
	}
	if started := workflow.GetInfo(ctx).WorkflowExecution.ID; started != ID(in.IntentID) {
		return e.reject(ctx, activities.Rejection{Code: intent.CodeIntentIDMismatch, Offset: -1,
			Message: fmt.Sprintf("the workflow id is %q, and the one of this intent is %q", started, ID(in.IntentID))})
	}
	e.woken() // whatever was signalled until now is on the row that is read next
	p, err := e.step(ctx, activities.NameAuthorize, in, "may it run, and where does it stand?")
	for err == nil {
		switch {
		case e.cancelRequested():
			p, err = e.cancel(ctx)
		case !e.done() && workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx):
			// The row, once there is one, has everything; the next run needs only the id.
			return Result{}, workflow.NewContinueAsNewError(ctx, Type, e.next())
		case !e.done():
			p, err = e.take(ctx, p)
		case e.woken() && e.progress.Version > 0:
			p, err = e.reread(ctx, "decide again after a signal")
		default:
			return e.finish(ctx)
		}
	}
	return Result{}, err
}

// execution is the state of one run.
type execution struct {
	in       activities.Input
	progress activities.Progress
	// person is the context that somebody in Temporal may cancel, and cancelled says that this
	// is on the row.
	person    workflow.Context
	cancelled bool
	wake      workflow.ReceiveChannel
	// again is the generation whose refusal was decided on again for this run's request.
	again int
	// failures counts the activities in a row that could not begin.
	failures int
}

// listen registers what may be asked of a running workflow.
func (e *execution) listen(ctx workflow.Context) error {
	err := workflow.SetQueryHandler(ctx, QueryStatus, func() (activities.Progress, error) { return e.progress, nil })
	if err != nil {
		return fmt.Errorf("query handler: %w", err)
	}
	err = workflow.SetUpdateHandler(ctx, UpdateAccepted, func(ctx workflow.Context) (Accepted, error) {
		// A row has a version from its commit on.
		err := workflow.Await(ctx, func() bool { return e.progress.Version > 0 || e.done() })
		return Accepted{State: e.progress.State, Rejection: e.progress.Rejection, DecidedAgain: e.again}, err
	})
	if err != nil {
		return fmt.Errorf("update handler: %w", err)
	}
	return nil
}

// done reports whether there is nothing left to do.
func (e *execution) done() bool {
	return e.progress.Step.Kind == intent.Stop || e.progress.Step.Kind == activities.StepReject
}

// take does the step that p names and returns where the intent stands then.
func (e *execution) take(ctx workflow.Context, p activities.Progress) (activities.Progress, error) {
	switch p.Step.Kind {
	case activities.StepPersist:
		return e.step(ctx, activities.NamePersist, activities.PersistInput{Input: e.in, Decision: p.Decision, Version: p.Version, DecidedAt: p.DecidedAt, DecidedAgain: p.DecidedAgain}, "commit the row before the effect")
	case activities.StepAnswer:
		return e.answer(ctx, p)
	case intent.Invoke:
		return e.invoke(ctx, p)
	case intent.Reconcile:
		return e.reconcile(ctx, p)
	case intent.Settle, intent.Park, intent.Renew:
		return e.step(ctx, activities.NameJournal, activities.JournalInput{Input: e.fromRow()}, p.Step.Reason)
	case intent.Wait:
		if err := e.wait(ctx, p); err != nil || e.cancelRequested() {
			return p, err
		}
		return e.reread(ctx, "decide again after the wait")
	case intent.Stop, activities.StepReject:
		return e.note(p), nil // there is nothing to take
	default:
		return p, temporal.NewNonRetryableApplicationError(fmt.Sprintf("step %q is not one of this release", p.Step.Kind), "unknown_step", nil)
	}
}

// next is the input of the run that goes on where this one stops.
func (e *execution) next() activities.Input {
	if e.progress.Version == 0 {
		return e.in
	}
	return e.fromRow()
}

// fromRow is the input that reads everything from the intent's row.
func (e *execution) fromRow() activities.Input {
	return activities.Input{IntentID: e.in.IntentID, Traceparent: e.in.Traceparent}
}

// invoke runs the tool once, under a claim, and journals what it is known to have done.
func (e *execution) invoke(ctx workflow.Context, p activities.Progress) (activities.Progress, error) {
	out, err := e.run(ctx, p, activities.InvokeInput{
		IntentID: e.in.IntentID, Tool: p.Labels.Tool, Version: p.Version, DecidedAt: p.DecidedAt, HeartbeatMS: p.HeartbeatMS, Traceparent: p.Traceparent,
	})
	switch {
	case err != nil:
		// The row knows whether it had a claim.
		return e.afterFailure(ctx, err)
	case out.Evidence == nil:
		return e.note(out.Progress), nil
	}
	return e.step(ctx, activities.NameJournal, activities.JournalInput{Input: e.fromRow(), Evidence: out.Evidence}, "record the end")
}

// reconcile asks the provider once.
func (e *execution) reconcile(ctx workflow.Context, p activities.Progress) (activities.Progress, error) {
	asking := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: milliseconds(p.TimeoutMS),
		HeartbeatTimeout:    milliseconds(p.HeartbeatMS),
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             fmt.Sprintf("ask the provider of %s what happened", p.Labels.Tool),
	})
	in := activities.ReconcileInput{
		IntentID: e.in.IntentID, Tool: p.Labels.Tool, Version: p.Version, HeartbeatMS: p.HeartbeatMS, Traceparent: p.Traceparent,
	}
	var found activities.Progress
	if err := workflow.ExecuteActivity(asking, activities.NameReconcile, in).Get(asking, &found); err != nil {
		return e.afterFailure(ctx, err)
	}
	e.failures = 0
	return e.note(found), nil
}

// afterFailure decides again after an activity that failed. If its worker is lost, at once. One
// that could not begin, as on a worker that does not have the tool, would fail again at once, so
// it is tried ever more slowly.
func (e *execution) afterFailure(ctx workflow.Context, failed error) (activities.Progress, error) {
	var lost *temporal.TimeoutError
	if errors.As(failed, &lost) {
		return e.reread(ctx, "decide again after a lost worker")
	}
	e.failures++
	pause := min(firstPause<<min(e.failures-1, 10), longestPause)
	if err := e.sleep(ctx, pause, "after a failure"); err != nil || e.cancelRequested() {
		return e.progress, err
	}
	return e.reread(ctx, "decide again after a failure")
}

// How long an activity that could not begin is waited for before it is tried again.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// cancelRequested reports whether somebody cancelled the workflow and the row, which there must
// be first, does not say so yet.
func (e *execution) cancelRequested() bool {
	return e.person.Err() != nil && !e.cancelled && e.progress.Version > 0 && !e.progress.State.Ended()
}

// cancel records on the row that the intent was cancelled in Temporal.
func (e *execution) cancel(ctx workflow.Context) (activities.Progress, error) {
	p, err := e.step(ctx, activities.NameCancel, e.fromRow(), "record that it was cancelled in Temporal")
	e.cancelled = err == nil
	return p, err
}

// woken takes all signals and reports whether there were any.
func (e *execution) woken() bool {
	any := false
	for e.wake.ReceiveAsync(nil) {
		any = true
	}
	return any
}

// reread asks the row where the intent stands; whatever was signalled until now is on it.
func (e *execution) reread(ctx workflow.Context, why string) (activities.Progress, error) {
	e.woken()
	return e.step(ctx, activities.NameAuthorize, e.fromRow(), why)
}

// answer runs a read before it has a row; whatever does not end it leads to a row.
func (e *execution) answer(ctx workflow.Context, p activities.Progress) (activities.Progress, error) {
	out, err := e.run(ctx, p, activities.InvokeInput{
		IntentID: e.in.IntentID, Tool: p.Labels.Tool, DecidedAt: p.DecidedAt, HeartbeatMS: p.HeartbeatMS, Traceparent: p.Traceparent, Answer: e.in.Request,
	})
	if err == nil && out.Progress.Step.Kind != "" {
		return e.note(out.Progress), nil // another decision was made since
	}
	if err != nil || out.Evidence == nil {
		p.Step = intent.Step{Kind: activities.StepPersist, Reason: intent.ReasonRunAgain}
		return e.note(p), nil
	}
	return e.step(ctx, activities.NameJournal,
		activities.JournalInput{Input: e.in, Evidence: out.Evidence, Decision: p.Decision}, "record the answer")
}

// run is the only place where the tool is run: a normal activity with one attempt.
func (e *execution) run(ctx workflow.Context, p activities.Progress, in activities.InvokeInput) (activities.InvokeOutput, error) {
	attempt := max(p.Step.Attempt, 1)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: milliseconds(p.TimeoutMS),
		HeartbeatTimeout:    milliseconds(p.HeartbeatMS),
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             fmt.Sprintf("attempt %d of %s (%s)", attempt, p.Labels.Tool, p.Step.Reason),
	})
	var out activities.InvokeOutput
	err := workflow.ExecuteActivity(ctx, activities.NameInvoke, in).Get(ctx, &out)
	if err == nil {
		e.failures = 0
	}
	return out, err
}

// wait shows in Temporal what is waited for, and waits until the step is due.
func (e *execution) wait(ctx workflow.Context, p activities.Progress) error {
	if err := e.publish(ctx, string(p.State)); err != nil {
		return err
	}
	return e.sleep(ctx, milliseconds(p.WaitMS), fmt.Sprintf("%s until %s", p.Step.Reason, p.Step.At.Format(time.RFC3339)))
}

// sleep waits for a time, a signal, or a cancellation that is not on the row yet.
func (e *execution) sleep(ctx workflow.Context, d time.Duration, why string) error {
	timed, stop := workflow.WithCancel(ctx)
	timer := workflow.NewTimerWithOptions(timed, d, workflow.TimerOptions{Summary: why})
	var err error
	due := false
	selector := workflow.NewSelector(ctx).
		AddFuture(timer, func(f workflow.Future) { due, err = true, f.Get(ctx, nil) }).
		AddReceive(e.wake, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) })
	if !e.cancelled {
		selector.AddReceive(e.person.Done(), func(workflow.ReceiveChannel, bool) {})
	}
	selector.Select(ctx)
	if !due {
		stop()
	}
	return err
}

// step runs an activity that only uses the database.
func (e *execution) step(ctx workflow.Context, name string, in any, summary string) (activities.Progress, error) {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: localFor,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumInterval: 500 * time.Millisecond},
		Summary:                name + ": " + summary,
	})
	var p activities.Progress
	err := workflow.ExecuteLocalActivity(local, name, in).Get(local, &p)
	if err == nil {
		return e.note(p), nil
	}
	normal := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		HeartbeatTimeout:    stepHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 5 * time.Second},
		Summary:             name + ": " + summary,
	})
	if err := workflow.ExecuteActivity(normal, name, in).Get(normal, &p); err != nil {
		return p, err
	}
	return e.note(p), nil
}

// stepHeartbeat is how soon a lost worker is noticed by a database step that is an activity of its own.
const stepHeartbeat = 2 * time.Second

// localFor is how long a database step is tried inside the workflow task. It must stay
// below the workflow task timeout.
const localFor = 2 * time.Second

func (e *execution) note(p activities.Progress) activities.Progress {
	e.progress, e.again = p, max(e.again, p.DecidedAgain)
	return p
}

// readInput reads what the workflow was started with; nothing at all is an empty text. It is
// a function of its argument alone, as the SDK's own decoding is; the checker only sees that
// encoding/json uses reflection.
//
//workflowcheck:ignore
func readInput(sent converter.RawValue) activities.Input {
	payload := sent.Payload()
	if encoding := string(payload.GetMetadata()[converter.MetadataEncoding]); payload != nil && encoding != converter.MetadataEncodingJSON {
		return activities.Input{Defect: &activities.Rejection{Code: intent.CodeInvalidRequest, Offset: -1,
			Message: fmt.Sprintf("the input is encoded as %.64q; send it as %s", encoding, converter.MetadataEncodingJSON)}}
	}
	return activities.ReadInput(payload.GetData())
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
