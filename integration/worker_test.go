package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"writ/internal/sandbox"
)

func TestAWorkerThatIsAskedToStopFinishesTheCallThatItHasBegun(t *testing.T) {
	t.Parallel()
	for _, a := range []action{capture, notify} {
		t.Run(a.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
			leaving := w.startWorker(t)
			caller := w.ask(t, a, requestKey)
			w.provider.await(t, sandbox.StateHanging, 1)

			leaving.signal(syscall.SIGTERM)
			eventually(t, "the worker stops", func(context.Context) error {
				if !bytes.Contains(leaving.stderr.bytes(), []byte("stopping")) {
					return errors.New("it has not said so")
				}
				return nil
			})
			w.startWorker(t)
			w.awaitHeartbeat(t, time.Now().Add(3*time.Second))
			if _, err := w.provider.Release(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if status := leaving.status(t); status != 0 {
				t.Errorf("the worker ends with status %d", status)
			}
			caller.outcome(t).completed(t)
			w.provider.requests(t, 1)
			w.provider.effects(t, 1)
		})
	}
}

// awaitHeartbeat returns when the worker has been heard of after the given time. A keyed
// call whose worker is silent for two seconds is given up.
func (w *world) awaitHeartbeat(t testing.TB, after time.Time) {
	t.Helper()
	eventually(t, "a heartbeat", func(ctx context.Context) error { return w.heardOf(ctx, t, after) })
}

// heardOf is an error unless the worker has been heard of after the given time.
func (w *world) heardOf(ctx context.Context, t testing.TB, after time.Time) error {
	described, err := w.stack.temporal(t).DescribeWorkflowExecution(ctx, w.workflowID(), "")
	if err != nil {
		return err
	}
	if n := len(described.PendingActivities); n != 1 {
		return fmt.Errorf("%d activities are pending", n)
	}
	if last := described.PendingActivities[0].LastHeartbeatTime.AsTime(); !last.After(after) {
		return fmt.Errorf("the last one was at %s", last)
	}
	return nil
}

func TestEverySampleToolReachesItsProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	done := 0
	for _, a := range []action{
		capture,
		{"payments.refund", `{"payment_id":"pay_1","amount":"29.90"}`},
		{"documents.delete", `{"document_id":"doc_17"}`},
		notify,
	} {
		got := w.ask(t, a, a.tool).outcome(t)
		got.completed(t)
		done++
		entries := w.provider.effects(t, done)
		if last := entries[len(entries)-1]; got.Answer == nil || string(got.Answer.JSON) != string(last.Answer.Body) {
			t.Errorf("%s answers %+v, the provider has said %s", a.tool, got.Answer, last.Answer.Body)
		}
	}
}
