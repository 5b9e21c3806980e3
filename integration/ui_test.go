package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"writ/activities"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/workflows"
)

func TestAnIntentIsFoundInTheTemporalUIByWhatItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)

	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: w.stack.TemporalNamespace,
		Query: fmt.Sprintf("WritTool = '%s' AND WritState = 'completed' AND WritTenant = '%s' AND WritRequestKey = '%s'",
			capture.tool, w.name, requestKey),
	}
	temporal := w.stack.temporal(t)
	eventually(t, "the workflow is listed", func(ctx context.Context) error {
		listed, err := temporal.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}
		if n := len(listed.Executions); n != 1 {
			return fmt.Errorf("%d workflows match %s", n, request.Query)
		}
		if found := listed.Executions[0].Execution.WorkflowId; found != w.workflowID() {
			return errors.New("it is " + found)
		}
		return nil
	})
}

func TestAHistoryInTheTemporalUIReadsAsAStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 1})
	w.startWorker(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)

	var story []string
	for _, event := range w.history(t).Events {
		summary := text(t, event.GetUserMetadata().GetSummary())
		switch event.EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			enums.EVENT_TYPE_MARKER_RECORDED, enums.EVENT_TYPE_TIMER_STARTED:
			story = append(story, summary)
		}
	}
	want := []string{
		capture.tool + " for " + w.name + ", request key " + requestKey,
		"authorize: ", "persist: ",
		"attempt 1 of " + capture.tool + " (" + intent.ReasonFirstAttempt + ")", "journal: ",
		intent.ReasonBackoff + " until ", "authorize: ",
		"attempt 2 of " + capture.tool + " (" + intent.ReasonRetry + ")", "journal: ",
	}
	told := len(story) == len(want)
	for i := 0; told && i < len(want); i++ {
		told = strings.HasPrefix(story[i], want[i])
	}
	if !told {
		t.Errorf("the history reads\n  %s\nwant lines that begin with\n  %s", strings.Join(story, "\n  "), strings.Join(want, "\n  "))
	}
}

// text decodes what the UI shows; an absent payload is "".
func text(t testing.TB, payload *common.Payload) string {
	t.Helper()
	if payload == nil {
		return ""
	}
	var s string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARunningWorkflowSaysWhereItStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.hanging(t, capture)
	answer, err := w.stack.temporal(t).QueryWorkflow(t.Context(), w.workflowID(), "", workflows.QueryStatus)
	if err != nil {
		t.Fatal(err)
	}
	var status activities.Progress
	if err := answer.Get(&status); err != nil {
		t.Fatal(err)
	}
	if status.Step.Kind != intent.Invoke || status.Labels.Tool != capture.tool || status.State != intent.Recorded {
		t.Errorf("the status is %+v, want that attempt 1 is being made", status)
	}
	if _, err := w.provider.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	caller.outcome(t).completed(t)
	w.provider.effects(t, 1)
}
