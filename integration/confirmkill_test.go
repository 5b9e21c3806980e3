package integration

import (
	"testing"

	"writ/intent"
	"writ/internal/killpoint"
)

// Where a worker is killed that goes on with what people have confirmed.
var afterConfirming = []killpoint.Point{
	killpoint.Reauthorized, killpoint.BeforeClaim, killpoint.BeforeSend, killpoint.DuringCall,
	killpoint.BeforeEvidence, killpoint.AfterEvidence, killpoint.BeforeJournal, killpoint.AfterJournal,
}

func TestAConfirmationIsUsedOnceWhereverTheWorkerIsKilledThatGoesOn(t *testing.T) {
	t.Parallel()
	for _, point := range afterConfirming {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).confirming(t)
			first := w.startWorker(t)
			id := w.awaiting(t, forOne, requestKey)
			first.kill()
			w.decided(t, "confirm", id, "--principal", "eve")
			trap := newAmbush(t, point)
			doomed := w.startWorker(t, trap.environment()...)
			trap.await(t, 1)
			doomed.kill()
			w.startWorker(t)
			w.confirmed(t, id, "eve")
		})
	}
}

func TestWhatWaitsForAPersonIsThereOnceWhereverItsWorkerIsKilledBefore(t *testing.T) {
	t.Parallel()
	for _, point := range []killpoint.Point{killpoint.BeforePersist, killpoint.AfterPersist} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).confirming(t)
			caller := w.killAt(t, point, forOne)
			w.startWorker(t)
			id := caller.outcome(t).waits(t)
			w.provider.effects(t, 0)
			w.decided(t, "confirm", id, "--principal", "eve")
			w.confirmed(t, id, "eve")
		})
	}
}

// Where a process is killed that confirms, and whether its decision stands then.
var whileConfirming = map[killpoint.Point]bool{
	killpoint.BeforeDecision: false, killpoint.AfterDecision: true, killpoint.AfterWake: true,
}

// killConfirming has somebody confirm through a process that is killed at the point.
func (w *world) killConfirming(t testing.TB, point killpoint.Point, id, who string) {
	t.Helper()
	trap := newAmbush(t, point)
	doomed := start(t, "writ confirm", program("writ"), append(w.environment(), trap.environment()...), "confirm", id, "--principal", who)
	trap.await(t, 1)
	doomed.kill()
}

func TestAConfirmationStandsOrNotWhereverTheProcessIsKilledThatMakesIt(t *testing.T) {
	t.Parallel()
	for point, stands := range whileConfirming {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).confirming(t)
			w.startWorker(t)
			id := w.awaiting(t, forOne, requestKey)
			w.killConfirming(t, point, id, "eve")
			if stands {
				w.confirmed(t, id, "eve") // nobody asks again: a sweep finds what nobody woke
				return
			}
			w.decided(t, "confirm", id, "--principal", "ada")
			w.confirmed(t, id, "ada")
		})
	}
}

func TestTheFirstOfTwoConfirmationsOutlivesEveryProcessBetweenTheTwo(t *testing.T) {
	t.Parallel()
	for point, stands := range whileConfirming {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).confirming(t)
			worker := w.startWorker(t)
			id := w.awaiting(t, forTwo, requestKey)
			w.killConfirming(t, point, id, "eve")
			worker.kill()
			again := w.writ(t, "confirm", id, "--principal", "eve").outcome(t)
			if stands != (again.Error.Code == intent.CodeAlreadyConfirmed) || !stands && again.status != 0 {
				t.Errorf("the same person again: status %d, %s", again.status, again.stdout)
			}
			w.startWorker(t)
			w.sweep(t, 0) // one of two starts nothing
			w.provider.effects(t, 0)
			w.killConfirming(t, killpoint.AfterDecision, id, "ada")
			w.confirmed(t, id, "eve", "ada")
		})
	}
}
