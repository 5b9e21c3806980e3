package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"

	"writ/intent"
	"writ/internal/sandbox"
)

// Payload keys as they are configured.
var (
	oldKey = "old:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32))
	newKey = "new:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 32))
)

func payloadKeys(keys ...string) string { return "WRIT_PAYLOAD_KEYS=" + strings.Join(keys, ",") }

// rawHistory is everything that Temporal keeps of the newest run of a workflow.
func (w *world) rawHistory(t testing.TB, workflowID string) []byte {
	t.Helper()
	raw, err := proto.Marshal(w.historyOf(t, workflowID))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAWorkerWithoutTheKeySaysSoAndSendsNothingUntilOneHasIt(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{"another key": payloadKeys(newKey), "no key": payloadKeys()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.settings = []string{payloadKeys(oldKey)}
			without := w.startWorker(t, wrong)
			caller := w.ask(t, capture, requestKey)
			eventually(t, "the worker says that it lacks the key", func(context.Context) error {
				said, _ := without.stderr.now()
				if !bytes.Contains(said, []byte(intent.CodePayloadKeyMissing)) || !bytes.Contains(said, []byte(`\"old\"`)) {
					return errors.New("it does not say so")
				}
				return nil
			})
			eventually(t, "a failed task is in the history", func(context.Context) error {
				for _, event := range w.history(t).Events {
					if event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_FAILED {
						return nil
					}
				}
				return errors.New("no task has failed")
			})
			var rows int
			if query(t, w.database, `SELECT count(*) FROM intents`, &rows); rows != 0 {
				t.Errorf("%d rows were written", rows)
			}
			w.provider.effects(t, 0)
			if raw := w.rawHistory(t, w.workflowID()); bytes.Contains(raw, []byte("pay_1")) {
				t.Error("the payload stands in the history")
			}
			without.stop(t)
			w.startWorker(t)
			caller.outcome(t).completed(t)
			w.provider.effects(t, 1)
		})
	}
}

func TestACallerWithoutTheKeyLearnsNothingButThatAndTheSameRequestKeyIsSafe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings = []string{payloadKeys()} // as before keys were switched on
	w.startWorker(t, payloadKeys(oldKey))
	got := w.ask(t, capture, requestKey).outcome(t)
	if got.status != 1 || got.Error.Code != intent.CodePayloadKeyMissing || !strings.Contains(got.Error.Message, `"old"`) {
		t.Errorf("status %d, %+v", got.status, got.Error)
	}
	w.settings = []string{payloadKeys(oldKey)}
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)
}

func TestAnIntentBegunUnderTheOldKeyIsFinishedUnderTheNewOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings = []string{payloadKeys(oldKey)}
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	first := w.startWorker(t)
	w.ask(t, capture, requestKey, "--detach").accepted(t)
	w.provider.await(t, sandbox.StateHanging, 1)
	begun := w.runID(t)
	first.kill()

	w.settings = []string{payloadKeys(newKey, oldKey)}
	w.startWorker(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)
	if ids := w.sealedUnder(t, begun); !slices.Equal(ids, []string{"new", "old"}) {
		t.Errorf("the run that began under the old key is sealed under %v, want both", ids)
	}
}

// runID names the newest run of the world's workflow.
func (w *world) runID(t testing.TB) string {
	t.Helper()
	described, err := w.stack.temporal(t).DescribeWorkflowExecution(t.Context(), w.workflowID(), "")
	if err != nil {
		t.Fatal(err)
	}
	return described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// sealedUnder lists the keys that a run of the world's workflow names.
func (w *world) sealedUnder(t testing.TB, runID string) (ids []string) {
	t.Helper()
	raw, err := proto.Marshal(w.historyOfRun(t, w.workflowID(), runID))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"new", "old"} {
		// The metadata of a payload as protobuf writes it: key, then value.
		if bytes.Contains(raw, []byte("encryption-key-id\x12\x03"+id)) {
			ids = append(ids, id)
		}
	}
	return ids
}
