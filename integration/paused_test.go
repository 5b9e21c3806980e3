package integration

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
	"writ/workflows"
)

func TestAnActivityPausedInTemporalInTheMiddleOfACallDoesNotInterruptIt(t *testing.T) {
	t.Parallel()
	for _, a := range []action{capture, notify} {
		t.Run(a.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			caller := w.hanging(t, a)
			w.pauseInvoke(t)
			w.awaitHeartbeat(t, time.Now().Add(2*time.Second)) // long after the worker has heard of it
			if _, err := w.provider.Release(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			caller.outcome(t).completed(t)
			w.provider.requests(t, 1)
			w.provider.effects(t, 1)
		})
	}
}

// The next attempt of a keyed effect whose outcome is open waits in Temporal until the provider
// has forgotten the key.
func TestAnActivityPausedInTemporalUntilItsKeyIsForgottenSendsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action
		end intent.State
	}{
		"the provider can be asked":    {capture, intent.Completed},
		"the provider cannot be asked": {patientCapture, intent.InDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const window = windowVariable + "=1h"
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
			doomed := w.startHosted(t, window)
			w.ask(t, c.action, requestKey, "--detach").accepted(t)
			w.provider.await(t, sandbox.StateHanging, 1)
			doomed.kill()
			stop := w.decideOnly(t, time.Hour)
			w.awaitScheduled(t)
			w.pauseInvoke(t)
			stop()
			w.startHosted(t, window)
			w.ask(t, c.action, "another").outcome(t).completed(t) // so the worker takes what it may

			w.aheadBy(t, "2 hours")
			w.unpauseInvoke(t)
			if got := w.awaitState(t, requestKey, c.end); len(got.Attempts) != 1 {
				t.Errorf("there were %d attempts", len(got.Attempts))
			}
			w.provider.effects(t, 2)
			if posted := w.provider.posted(t); posted != 2 {
				t.Errorf("the provider was asked %d times, want once each", posted)
			}
		})
	}
}

// decideOnly runs a worker that takes workflow tasks and no activities, until the returned
// function is called: what the workflow schedules stays in the queue.
func (w *world) decideOnly(t testing.TB, window time.Duration) (stop func()) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	list, err := hostedTools(w.provider.url, tools.Window(window))
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	steps := activities.New(activities.Config{
		Store: outbox.New(pool), Registry: registry, Policy: policy.NewEngine(unlessForbidden{}, quiet),
		TaskQueue: w.name, Worker: "decider", Logger: quiet,
	})
	decider := worker.New(w.stack.temporal(t), w.name, worker.Options{LocalActivityWorkerOnly: true})
	decider.RegisterWorkflowWithOptions(workflows.ToolExecute, workflow.RegisterOptions{Name: workflows.Type})
	for name, step := range map[string]any{
		activities.NameAuthorize: steps.Authorize, activities.NamePersist: steps.Persist, activities.NameJournal: steps.Journal,
	} {
		decider.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: name})
	}
	if err := decider.Start(); err != nil {
		t.Fatal(err)
	}
	return decider.Stop
}

// awaitScheduled returns when the workflow's next activity waits for a worker.
func (w *world) awaitScheduled(t testing.TB) {
	t.Helper()
	eventually(t, "the next attempt is scheduled", func(ctx context.Context) error {
		described, err := w.stack.temporal(t).DescribeWorkflowExecution(ctx, w.workflowID(), "")
		if err != nil {
			return err
		}
		if p := described.PendingActivities; len(p) != 1 || p[0].State != enums.PENDING_ACTIVITY_STATE_SCHEDULED {
			return fmt.Errorf("pending: %v", p)
		}
		return nil
	})
}

// pauseInvoke pauses the activity that runs the tool, as the Temporal UI does, and returns when
// Temporal says that it is paused.
func (w *world) pauseInvoke(t testing.TB) {
	t.Helper()
	temporal := w.stack.temporal(t)
	_, err := temporal.WorkflowService().PauseActivity(t.Context(), &workflowservice.PauseActivityRequest{
		Namespace: w.stack.TemporalNamespace, Execution: &common.WorkflowExecution{WorkflowId: w.workflowID()},
		Activity: &workflowservice.PauseActivityRequest_Type{Type: activities.NameInvoke}, RequestId: uuid.NewString(),
	})
	if err != nil {
		t.Fatalf("pause: %v", err)
	}
	described, err := temporal.DescribeWorkflowExecution(t.Context(), w.workflowID(), "")
	if err != nil {
		t.Fatal(err)
	}
	if p := described.PendingActivities; len(p) != 1 || !p[0].Paused {
		t.Fatalf("pending: %v", p)
	}
}

func (w *world) unpauseInvoke(t testing.TB) {
	t.Helper()
	_, err := w.stack.temporal(t).WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
		Namespace: w.stack.TemporalNamespace, Execution: &common.WorkflowExecution{WorkflowId: w.workflowID()},
		Activity: &workflowservice.UnpauseActivityRequest_Type{Type: activities.NameInvoke},
	})
	if err != nil {
		t.Fatalf("unpause: %v", err)
	}
}
