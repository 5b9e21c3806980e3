package integration

import (
	"encoding/json"
	"testing"

	"writ"
	"writ/intent"
	"writ/receipts"
)

// action is what a test asks for.
type action struct{ tool, payload string }

// One action for each class of effect.
var (
	capture = action{"payments.capture", `{"payment_id":"pay_1","amount":"129.90","currency":"EUR"}`}
	notify  = action{"notifications.send", `{"recipient":"ada@example.com","body":"Your order was sent."}`}
	echo    = action{"echo", `{"said":"hello"}`}
)

// requestKey is the request key of tests that need only one.
const requestKey = "order-4711"

// ask starts `writ execute` for the action under the request key.
func (w *world) ask(t testing.TB, a action, key string, arguments ...string) *process {
	t.Helper()
	return w.writ(t, append([]string{"execute", a.tool, "--payload", a.payload, "--key", key, "--tenant", w.name}, arguments...)...)
}

// writ starts the command with JSON output.
func (w *world) writ(t testing.TB, arguments ...string) *process {
	t.Helper()
	return start(t, "writ "+arguments[0], program("writ"), w.environment(), append(arguments, "-o", "json")...)
}

// outcome is how a command ended.
type outcome struct {
	status int
	writ.Execution
	Error struct {
		Code     intent.Code
		Message  string
		Effect   intent.Outcome
		TryAgain bool `json:"try_again"`
	}
	stdout string
}

// outcome waits for the end of a `writ execute` and reads its answer.
func (p *process) outcome(t testing.TB) outcome {
	t.Helper()
	o := outcome{status: p.status(t), stdout: string(p.stdout.bytes())}
	if err := json.Unmarshal([]byte(o.stdout), &o); err != nil {
		t.Fatalf("%s ends with status %d and prints %q: %v\n%s", p.name, o.status, o.stdout, err, p.stderr.bytes())
	}
	return o
}

// accepted waits for the end of a detached `writ execute` and returns the intent.
func (p *process) accepted(t testing.TB) writ.Intent {
	t.Helper()
	var i writ.Intent
	if p.document(t, &i); i.ID.IsZero() {
		t.Fatalf("%s prints no intent: %q", p.name, p.stdout.bytes())
	}
	return i
}

// completed fails unless the intent is completed with a receipt that says that the effect
// happened, and returns the receipt.
func (o outcome) completed(t testing.TB) receipts.Receipt {
	t.Helper()
	if o.status != 0 || o.Intent.State != intent.Completed {
		t.Errorf("status %d, state %q; want 0, completed: %s", o.status, o.Intent.State, o.stdout)
	}
	return o.receipt(t, intent.Completed, intent.Applied)
}

// cancelled fails unless the intent was stopped and its receipt says that nothing happened.
func (o outcome) cancelled(t testing.TB) receipts.Receipt {
	t.Helper()
	if o.status != 8 || o.Intent.State != intent.Cancelled || o.Error.Code != intent.CodeCancelled || o.Error.Effect != intent.NotApplied {
		t.Errorf("status %d, state %q, error %+v; want 8, cancelled: %s", o.status, o.Intent.State, o.Error, o.stdout)
	}
	return o.receipt(t, intent.Cancelled, intent.NotApplied)
}

// inDoubt fails unless the intent is parked and has no receipt.
func (o outcome) inDoubt(t testing.TB) {
	t.Helper()
	if o.status != 5 || o.Intent.State != intent.InDoubt || o.Error.Code != intent.CodeInDoubt ||
		o.Error.Effect != intent.Unknown || o.Receipt != nil {
		t.Errorf("status %d, state %q, error %+v; want 5, in_doubt: %s", o.status, o.Intent.State, o.Error, o.stdout)
	}
}

// receipt reads the receipt and fails unless it says this.
func (o outcome) receipt(t testing.TB, state intent.State, effect intent.Outcome) receipts.Receipt {
	t.Helper()
	r, err := receipts.Parse(o.Receipt)
	if err != nil {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	if r.State != state || r.Outcome != effect || r.IntentID != o.Intent.ID {
		t.Errorf("the receipt says %s, %s for %s; want %s, %s for %s", r.State, r.Outcome, r.IntentID, state, effect, o.Intent.ID)
	}
	return r
}
