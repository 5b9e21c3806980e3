package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"writ"
	"writ/activities"
	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
	"writ/workflows"
)

// startHost starts a worker that hosts the tools and recovers nothing.
func (w *world) startHost(t testing.TB, environment ...string) *process {
	t.Helper()
	return w.startWorkerWith(t, []string{"--recover-every", "0"}, environment...)
}

// orphaned asks for a capture whose worker is killed, either at the point or, without one, while the
// provider, which has acted, holds its answer back.
func (w *world) orphaned(t testing.TB, point killpoint.Point) {
	t.Helper()
	if point != "" {
		trap := newAmbush(t, point)
		doomed := w.startHost(t, trap.environment()...)
		caller := w.ask(t, capture, requestKey, "--detach")
		trap.await(t, 1)
		caller.accepted(t)
		doomed.kill()
		return
	}
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	doomed := w.startHost(t)
	w.ask(t, capture, requestKey, "--detach").accepted(t)
	w.provider.await(t, sandbox.StateHanging, 1)
	doomed.kill()
}

// timeOut has Temporal end the workflow because its time is over, as somebody can who starts it
// past Writ's client. No worker is there to end it first.
func (w *world) timeOut(t testing.TB) {
	t.Helper()
	w.terminate(t)
	c := w.stack.temporal(t)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: w.workflowID(), TaskQueue: w.name, WorkflowExecutionTimeout: time.Second,
	}, workflows.Type, activities.Input{IntentID: w.intentID()})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its time is over", func(ctx context.Context) error {
		described, err := c.DescribeWorkflowExecution(ctx, w.workflowID(), "")
		if err == nil && described.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT {
			err = fmt.Errorf("it is %s", described.WorkflowExecutionInfo.Status)
		}
		return err
	})
}

// Nobody asks again, no worker recovers: one sweep of one process does, from the row.
func TestASweepAloneBringsAnIntentToItsEndWhateverBecameOfItsWorkflow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// point is where its worker is killed; empty: in the call.
		point killpoint.Point
		lose  func(w *world, t testing.TB)
		sent  int
	}{
		"terminated":                  {"", (*world).terminate, 2},
		"timed out":                   {"", (*world).timeOut, 2},
		"deleted":                     {"", (*world).forget, 2},
		"deleted before the claim":    {killpoint.BeforeClaim, (*world).forget, 1},
		"deleted after the evidence":  {killpoint.AfterEvidence, (*world).forget, 1},
		"timed out after its receipt": {killpoint.AfterJournal, (*world).timeOut, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.orphaned(t, c.point)
			c.lose(w, t)
			w.aheadBy(t, "10 minutes")
			w.startHost(t)
			want := 1
			if c.point == killpoint.AfterJournal {
				want = 0 // nothing is left to do
			}
			w.sweep(t, want)
			w.awaitReceipt(t)
			w.provider.effects(t, 1)
			if posted := w.provider.posted(t); posted != c.sent {
				t.Errorf("the provider was asked %d times, want %d", posted, c.sent)
			}
		})
	}
}

// sweep sweeps once and fails unless so many intents were given a running workflow.
func (w *world) sweep(t testing.TB, want int) {
	t.Helper()
	var done struct{ Counts struct{ Started, Failed int } }
	w.recovery(t, &done, "--once")
	if done.Counts.Started != want || done.Counts.Failed != 0 {
		t.Errorf("a sweep has done %+v, want %d started", done.Counts, want)
	}
}

// Its workflow runs, on a timer that is longer than what is on the row.
func TestASweepAloneWakesAWorkflowThatRunsOnPastTheRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait, change func(w *world, t testing.TB)
	}{
		"its due time has passed": {
			wait:   func(w *world, t testing.TB) { w.postponed(t, capture, time.Hour) },
			change: func(w *world, t testing.TB) { w.aheadBy(t, "2 hours") },
		},
		"its hold was lifted": {
			wait: func(w *world, t testing.TB) {
				hold, _ := holdProvider(t, w.dial(t))
				w.awaitTimer(t, w.ask(t, capture, requestKey, "--detach").accepted(t))
				w.awaitHeld(t, requestKey, hold)
			},
			change: (*world).liftAll,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startHost(t)
			c.wait(w, t)
			run := w.runID(t)
			w.provider.effects(t, 0)
			c.change(w, t)
			w.sweep(t, 1)
			w.awaitReceipt(t)
			w.awaitState(t, requestKey, intent.Completed)
			if now := w.runID(t); now != run {
				t.Errorf("the workflow was in run %s and is in %s", run, now)
			}
			w.provider.effects(t, 1)
		})
	}
}

// No process runs but the one that lists.
func TestADryRunListsWhatIsOverdueAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.startHost(t)
	w.ask(t, capture, "completed").outcome(t).completed(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropBeforeAct})
	w.ask(t, notify, "in doubt").outcome(t).inDoubt(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRefuse, Status: 422, Code: "no"})
	w.ask(t, notify, "failed").outcome(t).receipt(t, intent.Failed, intent.NotApplied)
	overdue := map[string]bool{w.postponed(t, capture, time.Hour).ID.String(): true}
	if _, _, err := w.dial(t).SetHold(t.Context(), writ.HoldRequest{Scope: writ.HoldTool, Name: transfer.tool}, operator); err != nil {
		t.Fatal(err)
	}
	overdue[w.ask(t, transfer, "held", "--detach").accepted(t).ID.String()] = true
	w.ask(t, transfer, "cancelled", "--detach").accepted(t)
	w.decided(t, "intent", "cancel", intent.IntentID(w.name, "cancelled").String(), "--principal", "eve")
	w.awaitState(t, "cancelled", intent.Cancelled)
	worker.stop(t)
	if err := enqueueIn(t.Context(), w.database, captureFor(w.name, "enqueued"), nil); err != nil {
		t.Fatal(err)
	}
	w.aheadBy(t, "2 hours")
	before, sent := w.everyRow(t), w.provider.posted(t)

	var listed struct {
		Overdue []struct {
			ID string `json:"intent_id"`
		}
	}
	w.recovery(t, &listed, "--dry-run")
	if len(listed.Overdue) != len(overdue) {
		t.Errorf("it lists %+v, want %v", listed, overdue)
	}
	for _, o := range listed.Overdue {
		if !overdue[o.ID] {
			t.Errorf("%s is listed and not overdue", o.ID)
		}
	}
	if after := w.everyRow(t); after != before {
		t.Errorf("the rows were\n%s\nand are\n%s", before, after)
	}
	if now := w.provider.posted(t); now != sent {
		t.Errorf("%d requests were sent", now-sent)
	}
	w.provider.effects(t, 1)
}

// everyRow returns what is stored of all intents and requests.
func (w *world) everyRow(t testing.TB) (rows string) {
	t.Helper()
	query(t, w.database, `
		SELECT string_agg(r, E'\n' ORDER BY r) FROM (
			SELECT 'intent ' || row_to_json(x)::text AS r FROM intents x
			UNION ALL SELECT 'attempt ' || row_to_json(x)::text FROM attempts x
			UNION ALL SELECT 'decision ' || row_to_json(x)::text FROM decisions x
			UNION ALL SELECT 'receipt ' || row_to_json(x)::text FROM receipts x
			UNION ALL SELECT 'enqueued ' || row_to_json(x)::text FROM enqueued x) all_rows`, &rows)
	return rows
}
