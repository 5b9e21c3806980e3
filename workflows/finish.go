package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
)

// reject ends a run that must not drive the intent: Temporal runs one workflow of an id
// at a time, so another id would be a second driver.
func (e *execution) reject(ctx workflow.Context, why activities.Rejection) (Result, error) {
	e.note(activities.Progress{Step: intent.Step{Kind: activities.StepReject, Reason: string(why.Code)}, Rejection: &why})
	return e.finish(ctx)
}

// finish tells the story's end in the Temporal UI and returns the reference.
func (e *execution) finish(ctx workflow.Context) (Result, error) {
	p := e.progress
	state := string(p.State)
	if p.Rejection != nil {
		state = "rejected"
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("rejected: %s", p.Rejection.Code))
	} else {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s after %d attempts", p.State, p.Attempts))
	}
	if p.Labels.Tool != "" {
		if err := e.publish(ctx, state); err != nil {
			return Result{}, err
		}
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return Result{}, err
	}
	return Result{IntentID: e.in.IntentID, State: p.State, Rejection: p.Rejection, DecidedAgain: e.again}, nil
}

// publish writes the search attributes: only when an intent waits or ends.
func (e *execution) publish(ctx workflow.Context, state string) error {
	return workflow.UpsertTypedSearchAttributes(ctx, attributes(e.progress.Labels, state)...)
}
