package integration

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"writ/internal/killpoint"
	"writ/internal/sandbox"
	"writ/workflows"
)

var record = flag.Bool("record", false, "write the golden histories of workflows/testdata/history anew")

// goldenVersion names the folder of the histories that this release writes. A release
// whose workflow takes another course adds a folder and leaves the older ones alone:
// package workflows replays all of them.
const goldenVersion = "v2"

func TestTheHistoryOfEveryCourseReplays(t *testing.T) {
	t.Parallel()
	for name, course := range map[string]func(t *testing.T, w *world){
		"keyed": func(t *testing.T, w *world) {
			w.startWorker(t)
			w.ask(t, capture, requestKey).outcome(t).completed(t)
		},
		"opaque": func(t *testing.T, w *world) {
			w.startWorker(t)
			w.ask(t, notify, requestKey).outcome(t).completed(t)
		},
		"read": func(t *testing.T, w *world) {
			w.startWorker(t)
			w.ask(t, echo, requestKey).outcome(t).completed(t)
		},
		"detached": func(t *testing.T, w *world) {
			w.startWorker(t)
			w.ask(t, capture, requestKey, "--detach").accepted(t)
			w.ask(t, capture, requestKey).outcome(t).completed(t)
		},
		"retried": func(t *testing.T, w *world) {
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 1})
			w.startWorker(t)
			w.ask(t, capture, requestKey).outcome(t).completed(t)
		},
		"resent": func(t *testing.T, w *world) {
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
			w.startWorker(t)
			w.ask(t, capture, requestKey).outcome(t).completed(t)
		},
		"lost_worker": func(t *testing.T, w *world) {
			caller := w.killAt(t, killpoint.BeforeSend, capture)
			w.startWorker(t)
			caller.outcome(t).completed(t)
		},
		"in_doubt": func(t *testing.T, w *world) {
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
			w.startWorker(t)
			w.ask(t, notify, requestKey).outcome(t).inDoubt(t)
		},
		"found": func(t *testing.T, w *world) {
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
			w.startWorker(t)
			w.ask(t, transfer, requestKey).outcome(t).completed(t)
		},
		"sent_again": func(t *testing.T, w *world) {
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultGatewayTimeout})
			w.startWorker(t)
			w.ask(t, transfer, requestKey).outcome(t).completed(t)
		},
		"cancelled": func(t *testing.T, w *world) {
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 3600})
			w.startWorker(t)
			caller := w.ask(t, capture, requestKey)
			w.provider.await(t, sandbox.StateAnswered, 1)
			if err := w.stack.temporal(t).CancelWorkflow(t.Context(), w.workflowID(), ""); err != nil {
				t.Fatal(err)
			}
			caller.outcome(t).cancelled(t)
		},
		"rejected": func(t *testing.T, w *world) {
			w.startWorker(t)
			if got := w.ask(t, action{capture.tool, `{}`}, requestKey).outcome(t); got.status != 2 {
				t.Errorf("status %d, want 2: %s", got.status, got.stdout)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			course(t, w)
			recorded := w.recorded(t)
			w.replay(t, recorded)
			if *record {
				keep(t, filepath.Join("..", "workflows", "testdata", "history", goldenVersion, name+".json"), recorded)
			}
		})
	}
}

// recorded returns the history once the workflow has ended, without the names of machines.
func (w *world) recorded(t testing.TB) *history.History {
	t.Helper()
	if err := w.stack.temporal(t).GetWorkflow(t.Context(), w.workflowID(), "").Get(t.Context(), nil); err != nil {
		t.Errorf("the workflow ends with %v", err)
	}
	return w.history(t)
}

func (w *world) replay(t testing.TB, h *history.History) {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(workflows.ToolExecute, workflow.RegisterOptions{Name: workflows.Type})
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	options := worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: w.workflowID()}}
	if err := replayer.ReplayWorkflowHistoryWithOptions(quiet, h, options); err != nil {
		t.Errorf("replay: %v", err)
	}
}

// keep writes the history as Temporal's tools print it.
func keep(t testing.TB, path string, h *history.History) {
	t.Helper()
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	anonymize(tree)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(tree); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// anonymize replaces what names the machine: the identities of processes and the task
// queues of their own.
func anonymize(tree any) {
	switch node := tree.(type) {
	case []any:
		for _, child := range node {
			anonymize(child)
		}
	case map[string]any:
		if node["kind"] == "TASK_QUEUE_KIND_STICKY" {
			node["name"] = "recorded"
		}
		for name, child := range node {
			if name == "identity" {
				node[name] = "recorded"
				continue
			}
			anonymize(child)
		}
	}
}
