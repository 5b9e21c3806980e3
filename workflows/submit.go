package workflows

import (
	"context"

	"go.temporal.io/sdk/client"

	"writ/activities"
)

// Submit starts the workflow of a request, or joins the one that runs, and returns when its row is
// committed, or it is rejected. A run that another request under the same key began may be rejected
// as such: that is no answer to this one, see activities.Rejection.Of. The error is Temporal's, and
// leaves open whether the workflow was started.
func Submit(ctx context.Context, c client.Client, taskQueue string, in activities.Input) (Accepted, error) {
	start := c.NewWithStartWorkflowOperation(StartOptions(in.IntentID, taskQueue, in.Request.Labels()), Type, in)
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: ID(in.IntentID), UpdateName: UpdateAccepted, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	var accepted Accepted
	if err == nil {
		err = handle.Get(ctx, &accepted)
	}
	return accepted, err
}
