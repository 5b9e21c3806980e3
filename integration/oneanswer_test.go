package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"writ/intent"
	"writ/internal/sandbox"
)

func TestFiftyProcessesWithOneKeyGetOneEffectAndFiftyEqualAnswersAlsoAYearLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	w.startWorker(t)
	var asking [50]*process
	for i := range asking {
		asking[i] = w.ask(t, capture, requestKey)
	}
	w.provider.await(t, sandbox.StateHanging, 1)
	if _, err := w.provider.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	first := asking[0].outcome(t)
	first.completed(t)
	for _, p := range asking[1:] {
		if got := p.outcome(t); got.status != 0 || got.stdout != first.stdout {
			t.Fatalf("one process ends with status %d and\n%s\nanother with %d and\n%s", first.status, first.stdout, got.status, got.stdout)
		}
	}
	w.provider.effects(t, 1)
	var intents int
	if query(t, w.database, `SELECT count(*) FROM intents`, &intents); intents != 1 {
		t.Errorf("there are %d intents", intents)
	}

	w.aheadBy(t, "1 year")
	w.forget(t)
	again := w.ask(t, capture, requestKey).outcome(t)
	if again.status != 0 || again.stdout != first.stdout {
		t.Errorf("a year later the answer is\n%s\nand was\n%s", again.stdout, first.stdout)
	}
	w.conflicts(t)
	if err := w.described(t); !gone(err) {
		t.Errorf("the answer needed a new workflow: %v", err)
	}
	w.provider.effects(t, 1)
}

// conflicts asks under the used key for everything that is not the first action, and fails
// unless it is refused without a word of that.
func (w *world) conflicts(t testing.TB) {
	t.Helper()
	other := capture
	other.payload = strings.Replace(capture.payload, "129.90", "129.9", 1)
	for what, p := range map[string]*process{
		"another payload":   w.ask(t, other, requestKey),
		"another tool":      w.ask(t, echo, requestKey),
		"another principal": w.ask(t, capture, requestKey, "--principal", "eve"),
	} {
		got := p.outcome(t)
		if got.status != 7 || got.Error.Code != intent.CodeIdempotencyConflict || got.Error.Effect != intent.NotApplied {
			t.Errorf("%s: status %d, %s", what, got.status, got.stdout)
		}
		for _, secret := range []string{"129.90", "pay_1", "payments.capture", "shop", "completed"} {
			if shown := got.stdout + string(p.stderr.bytes()); strings.Contains(shown, secret) && !(secret == "payments.capture" && what != "another tool") {
				t.Errorf("%s: the refusal tells of %s: %s", what, secret, shown)
			}
		}
	}
}

// aheadBy moves the clock of the world's database.
func (w *world) aheadBy(t testing.TB, interval string) {
	t.Helper()
	query(t, w.database, `CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT clock_timestamp() + interval '`+interval+`' $$`)
}

// forget deletes the workflow, as Temporal does by itself after its retention, and returns
// when it is gone.
func (w *world) forget(t testing.TB) {
	t.Helper()
	w.forgetID(t, w.workflowID())
}

// forgetID is forget of the workflow with that id.
func (w *world) forgetID(t testing.TB, id string) {
	t.Helper()
	_, err := w.stack.temporal(t).WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: w.stack.TemporalNamespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: id},
	})
	if err != nil {
		t.Fatalf("delete: %v", err)
	}
	eventually(t, "Temporal forgets the workflow", func(context.Context) error {
		if _, err := w.stack.temporal(t).DescribeWorkflowExecution(t.Context(), id, ""); !gone(err) {
			return fmt.Errorf("it is still there: %w", err)
		}
		return nil
	})
}

// described asks Temporal for the workflow.
func (w *world) described(t testing.TB) error {
	t.Helper()
	_, err := w.stack.temporal(t).DescribeWorkflowExecution(t.Context(), w.workflowID(), "")
	return err
}

func gone(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}
