package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"writ/internal/sandbox"
)

// hanging asks for the action and returns when the provider has acted and holds its answer
// back.
func (w *world) hanging(t testing.TB, a action, arguments ...string) (caller *process) {
	t.Helper()
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	w.startWorker(t)
	caller = w.ask(t, a, requestKey, arguments...)
	w.provider.await(t, sandbox.StateHanging, 1)
	return caller
}

func TestAWorkflowResetWhileTheProviderHangsRepeatsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.hanging(t, capture)

	w.resetToFirstTask(t)

	got := caller.outcome(t)
	got.completed(t)
	w.provider.effects(t, 1)

	// The answer to the first request comes after the intent has ended. It changes nothing.
	if _, err := w.provider.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.provider.await(t, sandbox.StateAnswered, 2)
	again := w.ask(t, capture, requestKey).outcome(t)
	again.completed(t)
	if string(again.Receipt) != string(got.Receipt) {
		t.Errorf("the receipt was %s and is %s", got.Receipt, again.Receipt)
	}
	w.provider.effects(t, 1)
}

// resetToFirstTask resets the workflow to its beginning, as the Temporal UI does.
func (w *world) resetToFirstTask(t testing.TB) {
	t.Helper()
	var firstTask int64
	for _, event := range w.history(t).Events {
		if event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			firstTask = event.EventId
			break
		}
	}
	_, err := w.stack.temporal(t).ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 w.stack.TemporalNamespace,
		WorkflowExecution:         &common.WorkflowExecution{WorkflowId: w.workflowID()},
		Reason:                    "a test",
		WorkflowTaskFinishEventId: firstTask,
		RequestId:                 uuid.NewString(),
	})
	if err != nil {
		t.Fatalf("reset: %v", err)
	}
}

func TestAWorkflowTerminatedWhileTheProviderHangsIsTakenUpByTheSameKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accepted := w.hanging(t, capture, "--detach").accepted(t)
	w.terminate(t)

	got := w.ask(t, capture, requestKey).outcome(t)
	got.completed(t)
	if got.Intent.ID != accepted.ID || got.Intent.IdempotencyKey != accepted.IdempotencyKey {
		t.Errorf("intent %s with key %s became %s with key %s", accepted.ID, accepted.IdempotencyKey, got.Intent.ID, got.Intent.IdempotencyKey)
	}
	w.provider.effects(t, 1)
}

func TestACallerThatWaitsOutlivesTheTerminationOfItsWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.hanging(t, capture)
	w.terminate(t)
	caller.outcome(t).completed(t)
	w.provider.effects(t, 1)
}

func TestAWorkflowThatWasTerminatedIsStartedAgainFromItsRowAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action
		// release lets the provider answer the request that the terminated workflow had
		// sent. Nobody may send an opaque one again, so only this answer can settle it.
		release bool
		sent    int
	}{
		{action: capture, sent: 2},
		{action: notify, release: true, sent: 1},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.hanging(t, c.action, "--detach").accepted(t)
			w.terminate(t)
			if c.release {
				if _, err := w.provider.Release(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			w.provider.await(t, sandbox.StateReceived, c.sent)
			w.awaitReceipt(t)
			w.ask(t, c.action, requestKey).outcome(t).completed(t)
			w.provider.effects(t, 1)
		})
	}
}

// awaitReceipt returns when the intent has its receipt. It asks the database, since a
// question through a client might start what must start by itself.
func (w *world) awaitReceipt(t testing.TB) {
	t.Helper()
	eventually(t, "the intent has a receipt", func(context.Context) error {
		var receipts int
		query(t, w.database, `SELECT count(*) FROM receipts WHERE intent_id = '`+w.intentID().String()+`'`, &receipts)
		if receipts != 1 {
			return fmt.Errorf("it has %d", receipts)
		}
		return nil
	})
}

func (w *world) terminate(t testing.TB) {
	t.Helper()
	if err := w.stack.temporal(t).TerminateWorkflow(t.Context(), w.workflowID(), "", "a test"); err != nil {
		t.Fatalf("terminate: %v", err)
	}
}
