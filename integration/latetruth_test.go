package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ"
	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
	"writ/receipts"
)

// An operator has looked in the wrong place, and the worker that sent the message learns better.
func TestEvidenceAgainstWhatAnOperatorResolvedIsAnAmendmentAndAnAlert(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frozen, caller := w.freeze(t, patientNotify)
	w.startHosted(t)
	doubtful := caller.outcome(t)
	doubtful.inDoubt(t)
	w.writ(t, "resolve", doubtful.Intent.ID.String(), "--not-applied", "--note", "support sees no message", "--principal", "ada").succeeds(t)
	before := w.ask(t, patientNotify, requestKey).outcome(t)
	before.receipt(t, intent.Failed, intent.NotApplied)
	if before.status != 4 {
		t.Errorf("status %d, want 4", before.status)
	}

	w.thaw(t, frozen)
	w.alerted(t, intent.ReasonAppliedAfterAll, frozen)
	after := w.ask(t, patientNotify, requestKey).outcome(t)
	if !bytes.Equal(after.Receipt, before.Receipt) {
		t.Errorf("the receipt was %s and is %s", before.Receipt, after.Receipt)
	}
	amendment := w.amendment(t)
	if amendment.Number != 1 || amendment.Outcome != intent.Applied || amendment.State != intent.Failed {
		t.Errorf("amendment %d says %s of an intent that is %s", amendment.Number, amendment.Outcome, amendment.State)
	}
	w.provider.effects(t, 1)
	w.provider.requests(t, 1)
}

// alerted fails unless the intent has the alert, the doubt inbox shows it, and the log of the
// process that raised it tells of it.
func (w *world) alerted(t testing.TB, alert string, raisedBy *process) {
	t.Helper()
	w.awaitIntent(t, "there is an alert", func(got writ.Intent) error {
		if got.Alert != alert {
			return fmt.Errorf("the alert is %q, want %q", got.Alert, alert)
		}
		return nil
	})
	inbox := w.writ(t, "doubt")
	status := inbox.status(t)
	var page writ.DoubtPage
	if err := json.Unmarshal(inbox.stdout.bytes(), &page); err != nil || status != 0 || len(page.Doubts) != 1 || page.Doubts[0].Intent.Alert != alert {
		t.Errorf("the inbox says with status %d: %s", status, inbox.transcript())
	}
	if log := raisedBy.stderr.bytes(); !bytes.Contains(log, []byte(alert)) || !bytes.Contains(log, []byte(w.intentID().String())) {
		t.Errorf("the log does not tell of it:\n%s", log)
	}
}

// amendment returns the only amendment of the world's intent.
func (w *world) amendment(t testing.TB) receipts.Receipt {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	added, err := receipts.Amendments(t.Context(), connection, w.intentID())
	if err != nil || len(added) != 1 {
		t.Fatalf("%d amendments, %v", len(added), err)
	}
	r, err := receipts.Parse(added[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The provider breaks its word. Only whoever compares all answers can know.
func TestAnEffectThatALateAnswerShowsASecondTimeIsRecordedAsPerformedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frozen, caller := w.freeze(t, patientCapture)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultIgnoreKey})
	w.startHosted(t)
	before := caller.outcome(t)
	before.completed(t)
	w.thaw(t, frozen)
	w.alerted(t, intent.ReasonPerformedTwice, frozen)
	if amendment := w.amendment(t); amendment.State != intent.Completed || amendment.Outcome != intent.Applied {
		t.Errorf("the amendment says %s of an intent that is %s", amendment.Outcome, amendment.State)
	}
	w.provider.effects(t, 2)
}

func TestAnEffectThatALookupShowsTwiceIsRecordedAsPerformedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultPerformTwice})
	trap := newAmbush(t, killpoint.BeforeEvidence)
	window := windowVariable + "=unknown" // so that the provider is asked
	doomed := w.startHosted(t, append(trap.environment(), window)...)
	caller := w.ask(t, capture, requestKey)
	trap.await(t, 1)
	doomed.kill()
	next := w.startHosted(t, window)
	caller.outcome(t).completed(t)
	w.alerted(t, intent.ReasonPerformedTwice, next)
	w.provider.effects(t, 2)
	if posted := w.provider.posted(t); posted != 1 {
		t.Errorf("the provider was asked %d times for the effect", posted)
	}
}

func TestAPolicyThatSaysNoWhileAnOutcomeIsOpenLeavesOnlyLookups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action
		fault   string
		end     intent.State
		effects int
	}{
		"it happened, as the provider says": {capture, sandbox.FaultHangAfterAct, intent.Completed, 1},
		"nothing happened, as it says":      {capture, sandbox.FaultHangBeforeAct, intent.Failed, 0},
		"the provider cannot be asked":      {patientCapture, sandbox.FaultHangAfterAct, intent.InDoubt, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.fault(t, sandbox.Fault{Fault: c.fault})
			forbidden := filepath.Join(t.TempDir(), "forbidden")
			policy := forbiddenVariable + "=" + forbidden
			doomed := w.startHosted(t, policy)
			w.ask(t, c.action, requestKey, "--detach").accepted(t)
			w.provider.await(t, sandbox.StateHanging, 1)
			if err := os.WriteFile(forbidden, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			doomed.kill()
			w.startHosted(t, policy)

			if got := w.awaitState(t, requestKey, c.end); got.RevokedAt.IsZero() {
				t.Error("it is not recorded that the policy said no")
			}
			w.provider.effects(t, c.effects)
			if posted := w.provider.posted(t); posted != 1 {
				t.Errorf("the provider was asked %d times for the effect", posted)
			}
		})
	}
}
