package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"writ"
	"writ/intent"
	"writ/receipts"
)

// confirmPolicies let everybody run everything; captures over 100.00 wait for a person, and over
// 1000.00 for two.
const confirmPolicies = `
permit (principal, action == Action::"tool.execute", resource);
@id("second-person") @confirm("1")
forbid (principal, action == Action::"tool.execute", resource == Tool::"payments.capture")
when { context.payload.amount.greaterThan(decimal("100.00")) };
@id("two-people") @confirm("2")
forbid (principal, action == Action::"tool.execute", resource == Tool::"payments.capture")
when { context.payload.amount.greaterThan(decimal("1000.00")) };
`

// What one person and what two people have to confirm.
var (
	forOne = action{"payments.capture", `{"payment_id":"pay_1","amount":"129.90","currency":"EUR"}`}
	forTwo = action{"payments.capture", `{"payment_id":"pay_1","amount":"1299.00","currency":"EUR"}`}
)

// confirming makes the world's workers ask for confirmations.
func (w *world) confirming(t testing.TB) *world {
	t.Helper()
	w.settings = append(w.settings, "WRIT_POLICIES="+policyFolder(t, confirmPolicies))
	return w
}

// awaiting asks for the action and returns the intent, which waits for people.
func (w *world) awaiting(t testing.TB, a action, key string) string {
	t.Helper()
	got := w.ask(t, a, key, "--detach").accepted(t)
	if got.State != intent.AwaitingConfirmation {
		t.Fatalf("%s is %s", key, got.State)
	}
	w.provider.effects(t, 0)
	return got.ID.String()
}

// waits fails unless the intent waits for people, and returns its id.
func (o outcome) waits(t testing.TB) (id string) {
	t.Helper()
	if o.status != 6 || o.Error.Code != intent.CodeConfirmationRequired || o.Intent.State != intent.AwaitingConfirmation {
		t.Fatalf("status %d: %s", o.status, o.stdout)
	}
	return o.Intent.ID.String()
}

// confirmed fails unless the intent completes with one effect and these confirmations, in its
// receipt and on record, and takes no other.
func (w *world) confirmed(t testing.TB, id string, by ...string) receipts.Receipt {
	t.Helper()
	r := w.watched(t, id).completed(t)
	var who []string
	for _, d := range r.Decisions {
		if d.Kind != intent.Confirm || d.Commitment != r.Commitment {
			t.Errorf("the receipt has %+v, and its commitment is %s", d, r.Commitment)
		}
		who = append(who, d.Principal)
	}
	if fmt.Sprint(who) != fmt.Sprint(by) {
		t.Errorf("the receipt has confirmations by %v, want %v", who, by)
	}
	if late := w.writ(t, "confirm", id, "--principal", "latecomer").outcome(t); late.Error.Code != intent.CodeNotAwaiting {
		t.Errorf("confirmed once more: %s", late.stdout)
	}
	var recorded int
	if query(t, w.database, `SELECT count(*) FROM decisions WHERE intent_id = '`+id+`'`, &recorded); recorded != len(by) {
		t.Errorf("%d decisions are recorded, want %d", recorded, len(by))
	}
	w.provider.effects(t, 1)
	return r
}

// voice is what one person was told who decided.
type voice struct {
	who, verb string
	taken     bool
	code      intent.Code
	message   string
}

// decideAtOnce has many people decide about an intent at the same time, every second one of them
// through a process of the command line, the others through a client of the library. deny says who
// denies.
func (w *world) decideAtOnce(t testing.TB, id string, people int, deny func(n int) bool) []voice {
	t.Helper()
	parsed, err := intent.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	client := w.dial(t)
	voices := make([]voice, people)
	processes := make([]*process, people)
	var all sync.WaitGroup
	for n := range voices {
		v := &voices[n]
		v.who, v.verb = fmt.Sprintf("person-%d", n), "confirm"
		record := client.Confirm
		if deny(n) {
			v.verb, record = "deny", client.Deny
		}
		if n%2 == 0 {
			processes[n] = w.writ(t, v.verb, id, "--principal", v.who)
			continue
		}
		all.Go(func() {
			_, err := record(context.WithoutCancel(t.Context()), parsed, writ.Decider{Principal: v.who})
			var e *writ.Error
			if v.taken = err == nil; errors.As(err, &e) {
				v.code, v.message = e.Code, e.Message
			}
		})
	}
	for n, p := range processes {
		if p != nil {
			o := p.outcome(t)
			voices[n].taken, voices[n].code, voices[n].message = o.status == 0, o.Error.Code, o.Error.Message
		}
	}
	all.Wait()
	return voices
}
