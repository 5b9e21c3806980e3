package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// invocation is the type of the activity that may send something.
const invocation = "invoke"

// ReadHistories adds to each workflow what its history says. One that was deleted after it
// was listed has none.
func ReadHistories(ctx context.Context, temporal client.Client, workflows []Workflow) error {
	for i := range workflows {
		w := &workflows[i]
		events := temporal.GetWorkflowHistory(ctx, w.ID, w.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		reader := historyReader{workflow: w, scheduled: map[int64]bool{}}
		for events.HasNext() {
			event, err := events.Next()
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) {
				break
			}
			if err == nil {
				err = reader.read(event)
			}
			if err != nil {
				return fmt.Errorf("read the history of %s: %w", w.ID, err)
			}
		}
	}
	return nil
}

// historyReader reads one history, event by event.
type historyReader struct {
	workflow  *Workflow
	scheduled map[int64]bool // the events that scheduled an invocation
}

func (h historyReader) read(event *historypb.HistoryEvent) error {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == invocation {
			h.scheduled[event.GetEventId()] = true
			h.workflow.Invocations++
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		started := event.GetActivityTaskStartedEventAttributes()
		if h.scheduled[started.GetScheduledEventId()] && started.GetAttempt() > 1 {
			h.workflow.Repeated++
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		completed := event.GetActivityTaskCompletedEventAttributes()
		if !h.scheduled[completed.GetScheduledEventId()] {
			return nil
		}
		var output struct{ Evidence *HistoryEvidence }
		if err := decodePayload(completed.GetResult(), &output); err != nil {
			return fmt.Errorf("event %d: %w", event.GetEventId(), err)
		}
		if output.Evidence != nil {
			h.workflow.Evidence = append(h.workflow.Evidence, *output.Evidence)
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		var result struct{ State string }
		if err := decodePayload(event.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
			return fmt.Errorf("event %d: %w", event.GetEventId(), err)
		}
		h.workflow.Result = result.State
	default: // the others say nothing about effects
	}
	return nil
}

// decodePayload reads the JSON that is the only payload.
func decodePayload(payloads *commonpb.Payloads, into any) error {
	all := payloads.GetPayloads()
	if len(all) != 1 {
		return fmt.Errorf("%d payloads, want 1", len(all))
	}
	if encoding := string(all[0].GetMetadata()["encoding"]); encoding != "json/plain" {
		return fmt.Errorf("a payload is %s, want json/plain", encoding)
	}
	return json.Unmarshal(all[0].GetData(), into)
}

// judgeHistory compares what a history says with the row.
func (j *judge) judgeHistory(w Workflow, row Intent) {
	if w.Repeated > 0 {
		j.violation(Unclaimed, row.RequestKey, "Temporal ran %d of its invocations again by itself", w.Repeated)
	}
	// A run that leaves an intent to people ends, and has invoked nothing.
	waits := w.Result == "awaiting_confirmation" && row.Confirmations > 0 && w.Invocations == 0
	if settled := w.Result == "in_doubt" && (row.State == "completed" || row.State == "failed"); w.Result != "" && w.Result != row.State && !settled && !waits {
		j.violation(Contradiction, row.RequestKey, "a run of its workflow ended with %s, and it is %s", w.Result, row.State)
	}
	outcomes := map[int]string{}
	for _, a := range j.attempts[row.ID] {
		outcomes[a.Number] = a.Outcome
	}
	for _, evidence := range w.Evidence {
		outcome, claimed := outcomes[evidence.Attempt]
		switch {
		case !claimed:
			j.violation(Unclaimed, row.RequestKey, "its history has an attempt %d that was never claimed", evidence.Attempt)
		case evidence.Outcome == "applied" && outcome != "applied":
			j.violation(Contradiction, row.RequestKey, "its history says that attempt %d was applied, and its row says %q", evidence.Attempt, outcome)
		}
	}
}
