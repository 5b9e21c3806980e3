package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"writ/cmd/writ-dev/stack"
)

// errNoVictim says that no workflow could be found for a fault.
var errNoVictim = errors.New("no workflow of an open intent runs")

const (
	// victims is how many open intents are looked at for one whose workflow runs.
	victims = 20
	// victimPatience is how long is looked for one: most are open for a moment only, and none
	// is while Temporal is away.
	victimPatience = 30 * time.Second
	// victimPause is the time between two looks.
	victimPause = 100 * time.Millisecond
)

// strikeWorkflow does something to the workflow of an open intent, as soon as there is one.
func (w *world) strikeWorkflow(ctx context.Context, draw uint32, strike func(context.Context, string) error, begun func()) error {
	looking, cancel := context.WithTimeout(ctx, victimPatience)
	defer cancel()
	for {
		err := w.strikeOpen(ctx, draw, strike, begun)
		if err == nil || looking.Err() != nil {
			return err
		}
		wait(looking, victimPause)
	}
}

// strikeOpen looks once for an intent that is open and whose workflow runs.
func (w *world) strikeOpen(ctx context.Context, draw uint32, strike func(context.Context, string) error, begun func()) error {
	connection, err := pgx.Connect(ctx, w.database.url())
	if err != nil {
		return fmt.Errorf("look for an open intent: %w", err)
	}
	defer connection.Close(ctx)
	// The order is the draw's, as far as the rows are those of the same moment.
	const query = `
		SELECT 'tool.execute/' || id FROM intents WHERE due_at IS NOT NULL AND state IN ('recorded', 'invoking')
		ORDER BY md5(id::text || $1::text) LIMIT $2`
	rows, err := connection.Query(ctx, query, fmt.Sprint(draw), victims)
	if err != nil {
		return fmt.Errorf("look for an open intent: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for an open intent: %w", err)
	}
	last := errNoVictim
	for _, id := range ids {
		begun()
		if last = strike(ctx, id); last == nil || ctx.Err() != nil {
			return last
		}
	}
	return last
}

func (w *world) terminate(ctx context.Context, id string) error {
	return w.temporal.TerminateWorkflow(ctx, id, "", "chaos")
}

func (w *world) deleteWorkflow(ctx context.Context, id string) error {
	_, err := w.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: stack.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
	})
	return err
}

// reset takes a workflow back to its first workflow task.
func (w *world) reset(ctx context.Context, id string) error {
	run, first, err := firstTask(ctx, w.temporal, id)
	if err != nil {
		return err
	}
	_, err = w.temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: stack.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "chaos", WorkflowTaskFinishEventId: first, RequestId: fmt.Sprintf("%s/%d", run, first),
	})
	return err
}

// firstTask returns the run that goes on, and the event with which its first workflow task
// was completed.
func firstTask(ctx context.Context, temporal client.Client, id string) (run string, event int64, err error) {
	described, err := temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return "", 0, err
	}
	info := described.GetWorkflowExecutionInfo()
	if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return "", 0, errNoVictim
	}
	run = info.GetExecution().GetRunId()
	history := temporal.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		next, err := history.Next()
		if err != nil {
			return "", 0, err
		}
		if next.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return run, next.GetEventId(), nil
		}
	}
	return "", 0, errNoVictim
}
