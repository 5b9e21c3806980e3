package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
)

// crash is a place at which the worker is killed, and what must come of it.
type crash struct {
	point killpoint.Point
	// hang is a fault under which the provider holds the request, for a crash in the
	// middle of a call; empty for none.
	hang string
	// effects is what the provider has done at the end for the opaque tool, which is sent
	// at most once. A keyed tool ends with one effect, wherever its worker died.
	effects int
	// doubt says that the opaque tool ends in doubt: a claim was open. Everywhere else it
	// must complete.
	doubt bool
}

// crashes has every kill point.
var crashes = []crash{
	{point: killpoint.BeforePersist, effects: 1},
	{point: killpoint.AfterPersist, effects: 1},
	{point: killpoint.BeforeClaim, effects: 1},
	{point: killpoint.BeforeSend, effects: 0, doubt: true},
	{point: killpoint.DuringCall, hang: sandbox.FaultHangBeforeAct, effects: 0, doubt: true},
	{point: killpoint.DuringCall, hang: sandbox.FaultHangAfterAct, effects: 1, doubt: true},
	{point: killpoint.BeforeEvidence, effects: 1, doubt: true},
	{point: killpoint.AfterEvidence, effects: 1},
	{point: killpoint.BeforeJournal, effects: 1},
	{point: killpoint.AfterJournal, effects: 1},
}

func TestEveryKillPointHasItsCrash(t *testing.T) {
	t.Parallel()
	tested := map[killpoint.Point]bool{}
	for _, c := range crashes {
		tested[c.point] = true
	}
	for _, point := range killpoint.Points {
		if !tested[point] {
			t.Errorf("no crash at %s", point)
		}
	}
}

func TestAnEffectHappensOnceWhereverItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	for _, a := range []action{notify, capture} { // the slower ones first
		for _, c := range crashes {
			t.Run(a.tool+"/"+c.name(), func(t *testing.T) {
				t.Parallel()
				c.test(t, a)
			})
		}
	}
}

func (c crash) name() string {
	if c.hang == "" {
		return string(c.point)
	}
	return string(c.point) + "_" + c.hang
}

// happen asks for the action of a worker that stops at the point, and kills it there.
func (c crash) happen(t *testing.T, w *world, a action) (caller *process) {
	t.Helper()
	if c.hang != "" {
		w.provider.fault(t, sandbox.Fault{Fault: c.hang})
	}
	reached := filepath.Join(t.TempDir(), "reached")
	doomed := w.startWorker(t, killpoint.EnvPoint+"="+string(c.point), killpoint.EnvFile+"="+reached)
	caller = w.ask(t, a, requestKey)
	eventually(t, "the worker reaches "+string(c.point), func(context.Context) error {
		_, err := os.Stat(reached)
		return err
	})
	if c.hang != "" {
		w.provider.await(t, sandbox.StateHanging, 1)
	}
	doomed.kill()
	return caller
}

func (c crash) test(t *testing.T, a action) {
	w := newWorld(t)
	caller := c.happen(t, w, a)
	w.startWorker(t)
	got := caller.outcome(t)
	if a == capture {
		entries := w.provider.effects(t, 1)
		if r := got.completed(t); r.RequestKey != requestKey {
			t.Errorf("the receipt is for request key %q", r.RequestKey)
		}
		if len(entries) == 1 && entries[0].Key != string(got.Intent.IdempotencyKey) {
			t.Errorf("the effect happened under key %q, the intent's is %q", entries[0].Key, got.Intent.IdempotencyKey)
		}
		return
	}
	w.provider.effects(t, c.effects)
	if c.doubt {
		got.inDoubt(t)
	} else {
		got.completed(t)
	}
	if sent := got.Intent.Attempts; c.doubt && (len(sent) != 1 || sent[0].Outcome != intent.Outcome("")) {
		t.Errorf("the intent in doubt has attempts %+v, want the killed worker's alone", sent)
	}
}
