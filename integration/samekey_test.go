package integration

import (
	"os"
	"strings"
	"testing"
	"time"

	"writ/intent"
)

// callers is how many callers ask for the same action at once.
const callers = 10

func TestTheSameKeyTenTimesAndAfterARestartIsOneEffectWithOneReceipt(t *testing.T) {
	t.Parallel()
	folder := stateFolder(t)
	first := privateStack(t, "--data-dir", folder, "--temporal-port", "0")
	w := worldOn(t, first)
	worker := w.startWorker(t)

	var asking [callers]*process
	for i := range asking {
		asking[i] = w.ask(t, capture, requestKey)
	}
	receipt := ""
	for _, p := range asking {
		got := p.outcome(t)
		got.completed(t)
		if receipt == "" {
			receipt = string(got.Receipt)
		}
		if string(got.Receipt) != receipt {
			t.Errorf("one caller has the receipt %s, another %s", receipt, got.Receipt)
		}
	}
	w.provider.effects(t, 1)

	worker.stop(t)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	w.moveTo(t, privateStack(t, "--data-dir", folder, "--temporal-port", "0"))
	w.startWorker(t)

	again := w.ask(t, capture, requestKey).outcome(t)
	again.completed(t)
	if string(again.Receipt) != receipt {
		t.Errorf("the receipt was %s and after the restart is %s", receipt, again.Receipt)
	}
	w.provider.effects(t, 1)
}

// stateFolder makes a folder that the user of PostgreSQL can reach also when the tests run
// as root; t.TempDir is private to its owner.
func stateFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "writ-integration-state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestCallersThatDoNotWaitShareOneIntentWithThoseThatDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	var detached, waiting [callers / 2]*process
	for i := range detached {
		detached[i] = w.ask(t, capture, requestKey, "--detach")
		waiting[i] = w.ask(t, capture, requestKey)
	}
	for i := range detached {
		if accepted := detached[i].accepted(t); accepted.ID != w.intentID() {
			t.Errorf("intent %s was accepted, want %s", accepted.ID, w.intentID())
		}
		if got := waiting[i].outcome(t); got.completed(t).IntentID != w.intentID() {
			t.Errorf("intent %s ended, want %s", got.Intent.ID, w.intentID())
		}
	}
	w.provider.effects(t, 1)
}

func TestAnotherActionUnderAUsedKeyIsAConflictThatRevealsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	secret := action{capture.tool, `{"payment_id":"pay_secret","amount":"31337.42","currency":"CHF"}`}
	first := w.ask(t, secret, requestKey, "--principal", "alice").outcome(t)
	first.completed(t)

	for name, c := range map[string]struct {
		action
		principal string
	}{
		"another payload":   {capture, "alice"},
		"another principal": {secret, "mallory"},
		"another tool":      {action{"payments.refund", `{"payment_id":"pay_secret","amount":"31337.42"}`}, "alice"},
		"a read":            {echo, "alice"},
	} {
		for _, mode := range []string{"waiting", "detached"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				arguments := []string{"--principal", c.principal}
				if mode == "detached" {
					arguments = append(arguments, "--detach")
				}
				p := w.ask(t, c.action, requestKey, arguments...)
				got := p.outcome(t)
				if got.status != 7 || got.Error.Code != intent.CodeIdempotencyConflict || got.Error.Effect != intent.NotApplied {
					t.Errorf("status %d, error %+v; want 7, idempotency_conflict, not_applied", got.status, got.Error)
				}
				said := got.stdout + string(p.stderr.bytes())
				for _, hidden := range hiddenFrom(c.action, first) {
					if strings.Contains(said, hidden) {
						t.Errorf("the refusal reveals %q: %s", hidden, said)
					}
				}
			})
		}
	}
	w.provider.effects(t, 1)
}

// hiddenFrom lists what the caller of an action does not know of the first one. The intent
// id follows from the caller's own tenant and key, so it is no secret.
func hiddenFrom(a action, first outcome) []string {
	hidden := []string{string(first.Intent.IdempotencyKey), first.Intent.CreatedAt.Format(time.DateOnly), "alice", string(first.Intent.State)}
	for _, word := range []string{"pay_secret", "31337.42", "CHF"} {
		if !strings.Contains(a.payload, word) {
			hidden = append(hidden, word)
		}
	}
	if a.tool != "payments.capture" {
		hidden = append(hidden, "payments.capture")
	}
	return hidden
}

func TestTheSameKeyInAnotherTenantIsAnotherAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	other := *w
	other.name = w.name + ".other"
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	other.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 2)
}
