package integration

import (
	"syscall"
	"testing"

	"writ/internal/sandbox"
)

// endedBySIGTERM is the status of a program that did not wait for the end of what it does.
const endedBySIGTERM = 128 + int(syscall.SIGTERM)

func TestAWorkerThatIsAskedToStopTwiceLeavesAtOnceAndIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	leaving := start(t, "worker", program("writ"), w.environment(), "worker", "-o", "json", "--stop-grace", "10m")
	if _, err := leaving.readyLine(); err != nil {
		t.Fatal(err)
	}
	caller := w.ask(t, capture, requestKey)
	w.provider.await(t, sandbox.StateHanging, 1)
	leaving.signal(syscall.SIGTERM)
	leaving.says(t, "stopping")
	leaving.signal(syscall.SIGTERM)
	if status := leaving.status(t); status != endedBySIGTERM {
		t.Errorf("after a second signal it ends with status %d", status)
	}
	w.startWorker(t)
	caller.outcome(t).completed(t)
	w.provider.effects(t, 1)
}

func TestAWorkerThatIsAskedToStopFinishesWhatRunsAndBeginsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultSlow, DelayMS: 3000})
	leaving := w.startWorker(t)
	running := w.ask(t, capture, requestKey)
	w.provider.await(t, sandbox.StateActed, 1)
	leaving.signal(syscall.SIGTERM)
	leaving.says(t, "stopping")
	waiting := w.ask(t, capture, "order-43")
	if status := leaving.status(t); status != 0 {
		t.Errorf("it ends with status %d", status)
	}
	w.provider.await(t, sandbox.StateAnswered, 1) // and not abandoned: the call was waited for
	w.provider.requests(t, 1)

	w.startWorker(t)
	running.outcome(t).completed(t)
	waiting.outcome(t).completed(t)
	w.provider.effects(t, 2)
	w.provider.requests(t, 2)
}
