package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
)

// postponed asks for the action of a provider that wants to be asked again later, and returns
// when the intent waits for that.
func (w *world) postponed(t testing.TB, a action, by time.Duration) writ.Intent {
	t.Helper()
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: int(by.Seconds())})
	w.ask(t, a, requestKey, "--detach").accepted(t)
	return w.awaitIntent(t, "it waits as long as the provider wants", func(got writ.Intent) error {
		if len(got.Attempts) != 1 || got.Attempts[0].Outcome != intent.NotApplied || got.Next.Kind != intent.Wait {
			return fmt.Errorf("next is %+v after the attempts %+v", got.Next, got.Attempts)
		}
		return nil
	})
}

func TestAProviderThatAsksForHoursCostsNoWorkerAndOutlivesOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.startWorker(t)
	waiting := w.postponed(t, capture, 2*time.Hour)
	if until := time.Until(waiting.Next.At); until < time.Hour {
		t.Errorf("it waits for %s", until)
	}
	eventually(t, "no worker has anything to do for it", func(ctx context.Context) error {
		described, err := w.stack.temporal(t).DescribeWorkflowExecution(ctx, w.workflowID(), "")
		if err == nil && (len(described.PendingActivities) > 0 || described.PendingWorkflowTask != nil) {
			err = fmt.Errorf("pending: %v, %v", described.PendingActivities, described.PendingWorkflowTask)
		}
		return err
	})
	w.ask(t, capture, "another").outcome(t).completed(t)
	first.kill()
	w.startWorker(t)
	w.ask(t, capture, "a-third").outcome(t).completed(t)
	w.awaitIntent(t, "it waits still", func(got writ.Intent) error {
		if !got.Next.At.Equal(waiting.Next.At) || len(got.Attempts) != 1 {
			t.Fatalf("it waited until %s, and next is %+v", waiting.Next.At, got.Next)
		}
		return nil
	})

	w.aheadBy(t, "3 hours")
	w.awaitReceipt(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 3)
	if posted := w.provider.posted(t); posted != 4 {
		t.Errorf("the provider was asked %d times, want 4", posted)
	}
}

func TestAWorkflowResetWhileItWaitsAndAfterItsEndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, a := range []action{capture, notify, transfer} {
		t.Run(a.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startWorker(t)
			waiting := w.postponed(t, a, time.Hour)
			w.resetToFirstTask(t)
			w.awaitRerun(t, 1)
			if got := w.awaitIntent(t, "it is there", func(writ.Intent) error { return nil }); !got.Next.At.Equal(waiting.Next.At) {
				t.Errorf("it waited until %s, and next is %+v", waiting.Next.At, got.Next)
			}
			w.aheadBy(t, "2 hours")
			w.awaitReceipt(t)
			before := w.ask(t, a, requestKey).outcome(t)
			before.completed(t)

			w.resetToFirstTask(t)
			w.awaitRerun(t, 0)
			after := w.ask(t, a, requestKey).outcome(t)
			if after.completed(t); string(after.Receipt) != string(before.Receipt) {
				t.Errorf("the receipt was %s and is %s", before.Receipt, after.Receipt)
			}
			w.provider.effects(t, 1)
			if posted := w.provider.posted(t); posted != 2 {
				t.Errorf("the provider was asked %d times, want 2", posted)
			}
		})
	}
}

// awaitRerun returns when the newest run of the workflow has read the row and has so many timers,
// or has ended if that is none.
func (w *world) awaitRerun(t testing.TB, timers int) {
	t.Helper()
	eventually(t, "the new run is where the row is", func(context.Context) error {
		started := 0
		for _, event := range w.history(t).Events {
			if event.GetTimerStartedEventAttributes() != nil {
				started++
			}
			if timers == 0 && event.GetWorkflowExecutionCompletedEventAttributes() != nil {
				return nil
			}
		}
		if timers == 0 || started != timers {
			return fmt.Errorf("it has started %d timers", started)
		}
		return nil
	})
}

// The worker is killed while the provider has the request, and the workflow is cancelled before
// there is another worker.
func TestAWorkflowCancelledInTemporalSendsNothingMoreAndFindsOutWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action
		fault   string
		end     intent.State
		effects int
	}{
		"keyed, and it happened":           {capture, sandbox.FaultHangAfterAct, intent.Completed, 1},
		"keyed, and nothing happened":      {capture, sandbox.FaultHangBeforeAct, intent.Cancelled, 0},
		"reconcilable, and it happened":    {transfer, sandbox.FaultHangAfterAct, intent.Completed, 1},
		"reconcilable, and nothing did":    {transfer, sandbox.FaultHangBeforeAct, intent.Cancelled, 0},
		"keyed, and nobody can be asked":   {patientCapture, sandbox.FaultHangAfterAct, intent.InDoubt, 1},
		"opaque, and nobody can be asked":  {patientNotify, sandbox.FaultHangAfterAct, intent.InDoubt, 1},
		"a read, which leaves no question": {patientRead, sandbox.FaultHangBeforeAct, intent.Cancelled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.fault(t, sandbox.Fault{Fault: c.fault})
			doomed := w.startHosted(t)
			w.ask(t, c.action, requestKey, "--detach").accepted(t)
			w.provider.await(t, sandbox.StateHanging, 1)
			doomed.kill()
			w.cancelWorkflow(t)
			w.startHosted(t)

			got := w.awaitState(t, requestKey, c.end)
			if len(got.Decisions) != 1 || got.Decisions[0].Kind != intent.Cancel {
				t.Errorf("the decisions are %+v", got.Decisions)
			}
			w.provider.effects(t, c.effects)
			if posted := w.provider.posted(t); posted != 1 {
				t.Errorf("the provider was asked %d times for the effect", posted)
			}
		})
	}
}

func (w *world) cancelWorkflow(t testing.TB) {
	t.Helper()
	if err := w.stack.temporal(t).CancelWorkflow(t.Context(), w.workflowID(), ""); err != nil {
		t.Fatalf("cancel: %v", err)
	}
}

func TestAWorkflowCancelledInTemporalWhileItWaitsIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.postponed(t, capture, time.Hour)
	w.cancelWorkflow(t)
	w.awaitReceipt(t)
	got := w.ask(t, capture, requestKey).outcome(t)
	if got.status != 8 || got.Error.Code != intent.CodeCancelled {
		t.Errorf("status %d, error %+v", got.status, got.Error)
	}
	got.receipt(t, intent.Cancelled, intent.NotApplied)
	w.provider.effects(t, 0)
	if posted := w.provider.posted(t); posted != 1 {
		t.Errorf("the provider was asked %d times", posted)
	}
}

func TestAWorkflowCancelledInTemporalInTheMiddleOfACallDoesNotInterruptIt(t *testing.T) {
	t.Parallel()
	for _, a := range []action{capture, notify} {
		t.Run(a.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			caller := w.hanging(t, a)
			w.cancelWorkflow(t)
			w.awaitCancelHeard(t)
			if _, err := w.provider.Release(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			caller.outcome(t).completed(t)
			w.provider.requests(t, 1)
			w.provider.effects(t, 1)
		})
	}
}

// awaitCancelHeard returns when the worker has been heard of long after the workflow was cancelled,
// so that the call goes on; or when the cancel is on the row, because a busy machine lost the
// heartbeats of two seconds and the workflow went on without its worker.
func (w *world) awaitCancelHeard(t testing.TB) {
	t.Helper()
	after, c := time.Now().Add(time.Second), w.dial(t)
	eventually(t, "the worker has heard of the cancel", func(ctx context.Context) error {
		err := w.heardOf(ctx, t, after)
		if err == nil {
			return nil
		}
		got, getErr := c.Get(ctx, w.intentID())
		if getErr == nil && len(got.Decisions) > 0 {
			return nil
		}
		return errors.Join(err, getErr)
	})
}

func TestAWorkflowDeletedWhileTheProviderHangsIsStartedAgainFromItsRowAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hanging(t, capture, "--detach").accepted(t)
	w.forget(t)
	w.awaitReceipt(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)
}
