package workflows_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"writ/workflows"
)

// The golden histories were written by real runs, one folder for each release whose
// workflow takes another course (`go test ./integration -record`). A workflow that began
// under one of those releases must be able to go on under this one.
func TestEveryGoldenHistoryReplays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/history/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there are no golden histories in testdata/history")
	}
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			h := readHistory(t, file)
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(workflows.ToolExecute, workflow.RegisterOptions{Name: workflows.Type})
			// The workflow compares its id with its input's.
			id := h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
			options := worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: id}}
			if err := replayer.ReplayWorkflowHistoryWithOptions(quiet, h, options); err != nil {
				t.Error(err)
			}
		})
	}
}

func readHistory(t *testing.T, path string) *history.History {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
