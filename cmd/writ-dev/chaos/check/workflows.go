package check

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// pageSize is how many workflows are listed at once.
const pageSize = 1000

// ReadWorkflows lists every run that Temporal has of any workflow.
func ReadWorkflows(ctx context.Context, temporal client.Client, namespace string) ([]Workflow, error) {
	var all []Workflow
	var next []byte
	for {
		page, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, PageSize: pageSize, NextPageToken: next,
		})
		if err != nil {
			return nil, fmt.Errorf("list the workflows: %w", err)
		}
		for _, w := range page.GetExecutions() {
			all = append(all, Workflow{
				ID:      w.GetExecution().GetWorkflowId(),
				RunID:   w.GetExecution().GetRunId(),
				Running: w.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
				Status:  w.GetStatus().String(),
			})
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			return all, nil
		}
	}
}
