package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"writ/intent"
	"writ/policy"
)

const refundPolicies = "../examples/policies/refunds"

// refundOf asks for a refund of a payment that was captured.
func refundOf(amount string) action {
	return action{"payments.refund", `{"payment_id":"pay_1","amount":"` + amount + `"}`}
}

// recordedDecision is the policy's decision as it stands on the intent or in its receipt.
func recordedDecision(t *testing.T, raw json.RawMessage) policy.Decision {
	t.Helper()
	var d policy.Decision
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAWorkerRunsWhatItsPoliciesPermitAndRecordsWhichDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t, "WRIT_POLICIES="+refundPolicies)

	small := w.ask(t, refundOf("100.00"), "small", "--principal", "ada", "--role", "support").outcome(t)
	d := recordedDecision(t, small.completed(t).Decision)
	if !d.Allow || d.Confirm || d.Policy != "cedar" || !reflect.DeepEqual(d.Policies, []string{"support-refunds"}) || len(d.PolicyDigest) != 64 {
		t.Errorf("the receipt says %+v", d)
	}
	w.provider.effects(t, 1)

	for key, c := range map[string]struct {
		amount, role string
		policies     []string
		says         string
	}{
		"stranger": {"1.00", "cook", nil, "no policy permits it"},
		"too much": {"5000.01", "support", []string{"refund-limit"}, "refunds over 5000.00 go through the bank"},
	} {
		o := w.ask(t, refundOf(c.amount), key, "--principal", "ada", "--role", c.role).outcome(t)
		d := recordedDecision(t, o.receipt(t, intent.Refused, intent.NotApplied).Decision)
		if o.status != 3 || d.Allow || d.Code != intent.CodePolicyDenied || !reflect.DeepEqual(d.Policies, c.policies) || !strings.Contains(d.Reason, c.says) {
			t.Errorf("%s: status %d, %+v", key, o.status, d)
		}
	}
	w.provider.effects(t, 1)
}

func TestARefundOverTheAmountOfThePolicyWaitsForASecondPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorkerWith(t, []string{"--recover-every", "500ms", "--policies", refundPolicies})
	asked := w.ask(t, refundOf("100.01"), requestKey, "--principal", "ada", "--role", "support", "--timeout", "10s").outcome(t)
	if asked.status != 6 {
		t.Fatalf("status %d; want 6: it waits for a person\n%s", asked.status, asked.stdout)
	}
	id := asked.Intent.ID.String()
	if d := recordedDecision(t, asked.Intent.Decision); !d.Allow || !d.Confirm || !reflect.DeepEqual(d.Policies, []string{"large-refunds", "support-refunds"}) {
		t.Errorf("decided %+v", d)
	}
	w.provider.effects(t, 0)
	if own := w.writ(t, "confirm", id, "--principal", "ada"); own.status(t) == 0 {
		t.Errorf("who asked has confirmed it: %s", own.transcript())
	}
	if other := w.writ(t, "confirm", id, "--principal", "grace", "--role", "finance"); other.status(t) != 0 {
		t.Fatal(other.transcript())
	}
	w.watched(t, id).completed(t)
	w.provider.effects(t, 1)
}

func TestAWorkerDoesNotStartWithPoliciesThatFitNoTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := t.TempDir()
	text := "permit(principal, action, resource)\nwhen { resource == Tool::\"payments.refnud\" };\n"
	if err := os.WriteFile(filepath.Join(folder, "wrong.cedar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.writ(t, "worker", "--policies", folder)
	if status := p.status(t); status != 2 || !strings.Contains(p.transcript(), "wrong.cedar:1") || !strings.Contains(p.transcript(), "invalid_policy") {
		t.Errorf("status %d\n%s", status, p.transcript())
	}
}
