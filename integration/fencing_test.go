package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
)

// The actions of the hosted worker's own tools.
var (
	transfer       = action{"transfers.create", `{"account_id":"acc_1","amount":"75.00","currency":"EUR"}`}
	patientCapture = action{"patient.capture", capture.payload}
	patientNotify  = action{"patient.notify", notify.payload}
	patientRead    = action{"patient.read", notify.payload}
)

// A worker is stopped in the middle of a call, another one ends the intent, and the first goes
// on where it was.
func TestAWorkerThatIsFrozenInACallAndThawedChangesNothingButEvidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action
		// sent is how often the provider was asked for the effect.
		sent int
	}{
		"keyed":        {patientCapture, 2},
		"reconcilable": {transfer, 1},
		"read":         {patientRead, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			frozen, caller := w.freeze(t, c.action)
			w.startHosted(t)
			first := caller.outcome(t)
			first.completed(t)
			w.thaw(t, frozen)

			again := w.ask(t, c.action, requestKey).outcome(t)
			again.completed(t)
			if !bytes.Equal(again.Receipt, first.Receipt) || again.Intent.Alert != "" {
				t.Errorf("the receipt was %s and is %s; alert %q", first.Receipt, again.Receipt, again.Intent.Alert)
			}
			if posted := w.provider.posted(t); posted != c.sent {
				t.Errorf("the provider was asked %d times for the effect, want %d", posted, c.sent)
			}
			if c.tool != patientRead.tool { // it asks an endpoint that performs whatever it is asked
				w.provider.effects(t, 1)
			}
		})
	}
}

func TestWhatAFrozenWorkerLearnsOfAParkedEffectCompletesItWhenItThaws(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frozen, caller := w.freeze(t, patientNotify)
	w.startHosted(t)
	caller.outcome(t).inDoubt(t)
	w.thaw(t, frozen)
	w.awaitReceipt(t)
	got := w.ask(t, patientNotify, requestKey).outcome(t)
	got.completed(t)
	got.attempted(t, outcomes(intent.Applied))
	w.provider.effects(t, 1)
	if posted := w.provider.posted(t); posted != 1 {
		t.Errorf("the provider was asked %d times", posted)
	}
}

// freeze asks for the action and stops its worker while the provider, which has acted, holds its
// answer back.
func (w *world) freeze(t testing.TB, a action) (frozen, caller *process) {
	t.Helper()
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	frozen = w.startHosted(t)
	caller = w.ask(t, a, requestKey)
	w.provider.await(t, sandbox.StateHanging, 1)
	frozen.signal(syscall.SIGSTOP)
	return frozen, caller
}

// thaw lets the provider answer and the worker go on, and returns when what the worker has
// learnt is on the row.
func (w *world) thaw(t testing.TB, frozen *process) {
	t.Helper()
	if _, err := w.provider.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	frozen.signal(syscall.SIGCONT)
	w.awaitEvidence(t, intent.Unknown, intent.NotApplied, intent.Applied)
}

// awaitEvidence returns what is known of the first attempt, once that is one of these.
func (w *world) awaitEvidence(t testing.TB, any ...intent.Outcome) writ.Attempt {
	t.Helper()
	return w.awaitIntent(t, "the first attempt has evidence", func(got writ.Intent) error {
		if len(got.Attempts) == 0 || !slices.Contains(any, got.Attempts[0].Outcome) {
			return fmt.Errorf("its attempts are %+v", got.Attempts)
		}
		return nil
	}).Attempts[0]
}

// awaitIntent returns the intent with the usual request key once it is as wanted.
func (w *world) awaitIntent(t testing.TB, what string, wanted func(writ.Intent) error) writ.Intent {
	t.Helper()
	return w.awaitKey(t, requestKey, what, wanted)
}

// awaitKey returns the intent with the request key once it is as wanted. It reads the row, and
// asks for nothing that would start what must start by itself.
func (w *world) awaitKey(t testing.TB, key, what string, wanted func(writ.Intent) error) (got writ.Intent) {
	t.Helper()
	c := w.dial(t)
	eventually(t, what, func(ctx context.Context) (err error) {
		if got, err = c.Get(ctx, intent.IntentID(w.name, intent.RequestKey(key))); err != nil {
			return err
		}
		return wanted(got)
	})
	return got
}

// posted counts the requests that asked for an effect.
func (p *provider) posted(t testing.TB) (count int) {
	t.Helper()
	seen, err := p.Requests(t.Context(), sandbox.RequestFilter{State: sandbox.StateReceived})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range seen {
		if r.Method == "POST" {
			count++
		}
	}
	return count
}

// A lookup has shown that nothing happened, because the attempt's lease had ended, and the
// effect was sent again. The first worker was granted that attempt, and has its request in hand.
func TestAWorkerThatIsThawedAfterItsLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late := action{"late.transfer", transfer.payload}
	folder := t.TempDir()
	frozen := w.startHosted(t, gateVariable+"="+folder)
	caller := w.ask(t, late, requestKey)
	eventually(t, "the attempt is granted", func(context.Context) error {
		if !exists(filepath.Join(folder, "granted")) {
			return errors.New("it has not said so")
		}
		return nil
	})
	frozen.signal(syscall.SIGSTOP)
	w.startHosted(t)
	got := caller.outcome(t)
	got.completed(t)
	got.attempted(t, outcomes("", intent.Applied))

	if err := os.WriteFile(filepath.Join(folder, "send"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	frozen.signal(syscall.SIGCONT)
	// The engine gives the tool up at once; what the tool then says is more.
	if first := w.awaitEvidence(t, intent.NotApplied, intent.Applied); first.Outcome != intent.NotApplied {
		t.Errorf("the first attempt says %+v", first)
	}
	w.provider.effects(t, 1)
	if posted := w.provider.posted(t); posted != 1 {
		t.Errorf("the provider was asked %d times", posted)
	}
}
