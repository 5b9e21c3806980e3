package integration

import (
	"log/slog"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"writ/intent"
	"writ/workflows"
)

// temporal returns a client of Temporal's own API.
func (s *stack) temporal(t testing.TB) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: s.TemporalAddress, Namespace: s.TemporalNamespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// intentID is the id of the world's intent with the usual request key.
func (w *world) intentID() intent.ID { return intent.IntentID(w.name, requestKey) }

// workflowID is where Temporal keeps that intent.
func (w *world) workflowID() string { return workflows.ID(w.intentID()) }

// history returns the events of the newest run of that workflow.
func (w *world) history(t testing.TB) *history.History {
	t.Helper()
	return w.historyOf(t, w.workflowID())
}

// historyOf returns the events of the newest run of a workflow.
func (w *world) historyOf(t testing.TB, workflowID string) *history.History {
	t.Helper()
	return w.historyOfRun(t, workflowID, "")
}

// historyOfRun returns the events of a run of a workflow; of the newest one if runID is empty.
func (w *world) historyOfRun(t testing.TB, workflowID, runID string) *history.History {
	t.Helper()
	var h history.History
	events := w.stack.temporal(t).GetWorkflowHistory(t.Context(), workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatalf("history of %s: %v", workflowID, err)
		}
		h.Events = append(h.Events, event)
	}
	return &h
}
