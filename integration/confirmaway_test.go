package integration

import (
	"bytes"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"writ/intent"
	"writ/internal/loopback"
	"writ/workflows"
)

// A person decides while that is away which would carry the decision out. Temporal comes back with
// an empty store: the row is all that is left.
func TestWhatIsConfirmedWhileWorkersOrTemporalAreAwayRunsOnceWhenTheyAreBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workers, temporal bool // away
	}{
		"workers":              {workers: true},
		"Temporal":             {temporal: true},
		"workers and Temporal": {workers: true, temporal: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port, err := loopback.FreePort()
			if err != nil {
				t.Fatal(err)
			}
			first := temporalAt(t, port)
			w := worldOn(t, first).confirming(t)
			worker := w.startWorker(t)
			one := w.awaiting(t, forOne, requestKey)
			denied := w.awaiting(t, forOne, "denied")
			if c.workers {
				worker.kill()
			}
			if c.temporal {
				first.process.kill()
			}

			began := time.Now()
			deciding := w.writ(t, "confirm", one, "--principal", "eve")
			if got := deciding.accepted(t); got.State != intent.Recorded {
				t.Errorf("it is %s", got.State)
			}
			if told := bytes.Contains(deciding.stderr.bytes(), []byte("Temporal has not heard of it; recovery goes on")); told != c.temporal {
				t.Errorf("that Temporal has not heard of it is said: %t\n%s", told, deciding.transcript())
			}
			if took := time.Since(began); took > patience/4 {
				t.Errorf("the command took %s", took)
			}
			if got := w.decided(t, "deny", denied, "--principal", "eve"); got.State != intent.Refused {
				t.Errorf("denied, it is %s", got.State)
			}
			w.provider.effects(t, 0)

			if c.temporal {
				temporalAt(t, port)
			}
			if c.workers {
				w.startWorker(t)
			}
			w.confirmed(t, one, "eve")
		})
	}
}

func TestWhatWaitsForAPersonHasNoWorkflowAndSweepsLeaveItAloneUntilItsTimeIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t).confirming(t)
	w.startWorker(t)
	id, late := w.awaiting(t, forOne, requestKey), w.awaiting(t, forTwo, "late")
	described, err := w.stack.temporal(t).DescribeWorkflowExecution(t.Context(), workflows.Type+"/"+id, "")
	if err != nil {
		t.Fatal(err)
	}
	if d := described; d.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED || len(d.PendingActivities) != 0 || d.PendingWorkflowTask != nil {
		t.Errorf("it is %s with %d activities", d.WorkflowExecutionInfo.Status, len(d.PendingActivities))
	}
	before := w.everyRow(t)
	w.aheadBy(t, "23 hours 59 minutes")
	w.sweep(t, 0)
	if after := w.everyRow(t); after != before {
		t.Errorf("the rows were\n%s\nand are\n%s", before, after)
	}
	open, err := w.stack.temporal(t).ListOpenWorkflow(t.Context(), &workflowservice.ListOpenWorkflowExecutionsRequest{Namespace: w.stack.TemporalNamespace})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range open.Executions {
		if e.Execution.WorkflowId == workflows.Type+"/"+id {
			t.Error("Temporal has an open workflow of it")
		}
	}
	w.decided(t, "confirm", id, "--principal", "eve")
	w.decided(t, "confirm", late, "--principal", "eve") // one of two
	w.confirmed(t, id, "eve")
	w.aheadBy(t, "25 hours")
	got := w.watched(t, late)
	if got.status != 3 || got.Error.Code != intent.CodeConfirmationExpired {
		t.Errorf("status %d: %s", got.status, got.stdout)
	}
	if r := got.receipt(t, intent.Refused, intent.NotApplied); len(r.Decisions) != 1 || r.Decisions[0].Principal != "eve" {
		t.Errorf("the receipt has %+v", r.Decisions)
	}
	w.provider.effects(t, 1)
}
