package integration

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"writ"
	"writ/intent"
)

func TestAToolThatKillsItsWorkerEachTimeIsParkedAfterItsBudgetWhileItsNeighboursFinish(t *testing.T) {
	t.Parallel()
	const neighbours = 8
	w := newWorld(t)
	w.startHosted(t).stop(t) // it has published its tools
	killers := map[string]struct {
		end      intent.State
		attempts int
	}{
		"killer.keyed":  {intent.InDoubt, killerBudget},
		"killer.read":   {intent.Failed, killerBudget},
		"killer.opaque": {intent.InDoubt, 1},
	}
	for tool := range killers {
		w.ask(t, action{tool, `{}`}, tool, "--detach")
	}
	for i := range neighbours {
		w.ask(t, capture, fmt.Sprintf("order-%d", i), "--detach")
	}
	killed := w.supervise(t)

	most := 0
	for tool, want := range killers {
		most += want.attempts
		got := w.awaitState(t, tool, want.end)
		if len(got.Attempts) != want.attempts || got.Next.Kind != intent.Stop {
			t.Errorf("%s was tried %d times, want %d, and next is %+v", tool, len(got.Attempts), want.attempts, got.Next)
		}
	}
	for i := range neighbours {
		w.awaitState(t, fmt.Sprintf("order-%d", i), intent.Completed)
	}
	w.provider.effects(t, neighbours)
	w.ask(t, capture, requestKey).outcome(t).completed(t) // by a worker that lives
	if n := int(killed.Load()); n < killerBudget || n > most {
		t.Errorf("%d workers were killed, by %d attempts", n, most)
	}
}

// supervise keeps one hosted worker running until the test ends, as an init system does, and
// counts those that were killed.
func (w *world) supervise(t *testing.T) (killed *atomic.Int64) {
	t.Helper()
	killed = new(atomic.Int64)
	path, environment := w.hosted(t)
	ended, end := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			p, err := launch("supervised worker", path, environment)
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case <-p.child.Ended():
				if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
					t.Errorf("a worker ended by itself\n%s", p.transcript())
					return
				}
				killed.Add(1)
			case <-end:
				p.kill()
				return
			}
		}
	}()
	t.Cleanup(func() { close(end); <-ended })
	return killed
}

// awaitState returns the intent with the request key when it is in the state.
func (w *world) awaitState(t testing.TB, key string, want intent.State) writ.Intent {
	t.Helper()
	return w.awaitKey(t, key, key+" is "+string(want), func(got writ.Intent) error {
		if got.State.Ended() && got.State != want {
			t.Fatalf("%s has ended as %s, want %s; attempts: %+v", key, got.State, want, got.Attempts)
		}
		if got.State != want {
			return fmt.Errorf("it is %s, and next is %+v; attempts: %+v", got.State, got.Next, got.Attempts)
		}
		return nil
	})
}
