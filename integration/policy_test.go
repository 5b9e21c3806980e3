package integration

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/policy"
)

const refundPolicies = "../examples/policies/refunds"

// refundOf asks for a refund of a payment that was captured.
func refundOf(amount string) action {
	return action{"payments.refund", `{"payment_id":"pay_1","amount":"` + amount + `"}`}
}

// recordedDecision is the policy's decision as it stands on the intent or in its receipt.
func recordedDecision(t testing.TB, raw json.RawMessage) policy.Decision {
	t.Helper()
	var d policy.Decision
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// denied fails unless the intent was refused with this code before anything was sent, and returns the
// decision in its receipt.
func (o outcome) denied(t testing.TB, code intent.Code) policy.Decision {
	t.Helper()
	d := recordedDecision(t, o.receipt(t, intent.Refused, intent.NotApplied).Decision)
	if o.status != 3 || o.Error.Code != code || o.Error.Effect != intent.NotApplied || d.Allow || d.Code != code {
		t.Errorf("status %d, %+v, decided %+v; want 3, %s", o.status, o.Error, d, code)
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
		d := w.ask(t, refundOf(c.amount), key, "--principal", "ada", "--role", c.role).outcome(t).denied(t, intent.CodePolicyDenied)
		if !reflect.DeepEqual(d.Policies, c.policies) || !strings.Contains(d.Reason, c.says) {
			t.Errorf("%s: %+v", key, d)
		}
	}
	w.provider.effects(t, 1)
}

func TestARefundOverTheAmountOfThePolicyWaitsForASecondPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t, "WRIT_POLICIES="+refundPolicies)
	w.refunds(t, "100.00", "small").completed(t)
	w.provider.effects(t, 1)
	asked := w.refunds(t, "100.01", requestKey)
	id := asked.waits(t)
	then := recordedDecision(t, asked.Intent.Decision)
	if !then.Allow || !then.Confirm || !reflect.DeepEqual(then.Policies, []string{"large-refunds", "support-refunds"}) {
		t.Errorf("decided %+v", then)
	}
	for name, c := range map[string]struct {
		code    intent.Code
		decider []string
		says    string
	}{
		"who asked":       {intent.CodeSelfConfirmation, []string{"--principal", "ada", "--role", "finance"}, "ada asked for"},
		"her agent":       {intent.CodeSelfConfirmation, []string{"--principal", "agent-7", "--on-behalf-of", "ada", "--role", "finance"}, "agent-7 acts for ada"},
		"another role":    {intent.CodeNotPermitted, []string{"--principal", "bob", "--role", "support"}, "bob is not permitted tool.confirm"},
		"without a role":  {intent.CodeNotPermitted, []string{"--principal", "grace"}, "no policy permits it"},
		"an agent of her": {intent.CodeNotPermitted, []string{"--principal", "agent-9", "--on-behalf-of", "grace"}, "no policy permits it"},
	} {
		got := w.writ(t, append([]string{"confirm", id}, c.decider...)...).outcome(t)
		if got.status != 3 || got.Error.Code != c.code || got.Error.Effect != intent.NotApplied || !strings.Contains(got.Error.Message, c.says) {
			t.Errorf("%s: status %d, %s", name, got.status, got.stdout)
		}
	}
	var recorded int
	if query(t, w.database, `SELECT count(*) FROM decisions`, &recorded); recorded != 0 {
		t.Errorf("%d decisions are recorded, though none was permitted", recorded)
	}
	w.provider.effects(t, 1)
	w.decided(t, "confirm", id, "--principal", "grace", "--role", "finance")
	r := w.watched(t, id).completed(t)
	w.provider.effects(t, 2)
	if d := recordedDecision(t, r.Decision); !reflect.DeepEqual(d, then) || len(d.PolicyDigest) != 64 {
		t.Errorf("the receipt says %+v, and was decided %+v", d, then)
	}
	if len(r.Decisions) != 1 || r.Decisions[0].Principal != "grace" || !reflect.DeepEqual(r.Decisions[0].Roles, []string{"finance"}) || r.Decisions[0].Commitment != r.Commitment {
		t.Errorf("the receipt has the decisions %+v", r.Decisions)
	}
}

// What was confirmed while no worker was about is judged by the policies that the next one has.
func TestAConfirmedIntentRunsByThePoliciesOfTheWorkerThatWouldSendIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.startWorker(t, "WRIT_POLICIES="+refundPolicies)
	ids := map[string]string{}
	for _, amount := range []string{"100.01", "300.00", "200.00"} {
		ids[amount] = w.refunds(t, amount, amount).waits(t)
	}
	before.stop(t)
	for amount, who := range map[string][]string{"100.01": {"grace"}, "300.00": {"grace"}, "200.00": {"tim", "--role", "treasury"}} {
		w.decided(t, append([]string{"confirm", ids[amount], "--role", "finance", "--principal"}, who...)...)
	}
	changed := repositoryFile(t, "examples/policies/refunds/refunds.cedar")
	changed = strings.ReplaceAll(changed, `Role::"finance"`, `Role::"treasury"`)
	changed = strings.ReplaceAll(changed, "5000.00", "250.00")
	w.startWorker(t, "WRIT_POLICIES="+policyFolder(t, changed))

	w.watched(t, ids["200.00"]).completed(t)
	for amount, c := range map[string]struct {
		code     intent.Code
		says     string
		policies []string
	}{
		"100.01": {intent.CodeConfirmationInsufficient, "1 to confirm it, and 0 who may did (grace may not: no policy permits it)", []string{"large-refunds", "support-refunds"}},
		"300.00": {intent.CodePolicyDenied, "refunds over 250.00 go through the bank", []string{"refund-limit"}},
	} {
		d := w.watched(t, ids[amount]).denied(t, c.code)
		if !strings.Contains(d.Reason, c.says) || !reflect.DeepEqual(d.Policies, c.policies) || len(d.PolicyDigest) != 64 {
			t.Errorf("%s: %+v", amount, d)
		}
	}
	w.provider.effects(t, 1)
}

func TestAWorkerDoesNotStartWithPoliciesThatFitNoTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrong := policyFolder(t, "permit(principal, action, resource)\nwhen { resource == Tool::\"payments.refnud\" };\n")
	p := w.writ(t, "worker", "--policies", wrong)
	if status := p.status(t); status != 2 || !strings.Contains(p.transcript(), "rules.cedar:1") || !strings.Contains(p.transcript(), "invalid_policy") {
		t.Errorf("status %d\n%s", status, p.transcript())
	}
}

// Nobody decides while an attempt waits in Temporal's queue for a worker, so that is done when one takes it.
func TestWhatWaitedInTheQueueForAWorkerIsAskedAboutAgainBeforeItIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const window = windowVariable + "=1h"
	policy := newGate(t, "")
	first := w.startHosted(t, policy.environment(), window)
	w.ask(t, capture, "another").outcome(t).completed(t)
	first.kill()
	stop := w.decideOnly(t, time.Hour)
	w.ask(t, capture, requestKey, "--detach").accepted(t)
	w.awaitScheduled(t)
	stop()
	policy.says(t, "denied")
	w.aheadBy(t, "1 minute")
	w.startHosted(t, policy.environment(), window)
	w.awaitState(t, requestKey, intent.Refused)
	w.ask(t, capture, requestKey).outcome(t).deniedIn(t, intent.CodePolicyDenied, 1)
	w.provider.effects(t, 1)
}
