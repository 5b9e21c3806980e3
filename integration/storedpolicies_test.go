package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ"
	"writ/doctor"
	"writ/intent"
	"writ/tools"
	"writ/tools/sample"
)

// put puts policies in force: a folder, or --digest with the digest of earlier ones.
func (w *world) put(t testing.TB, arguments ...string) (change writ.PolicyChange) {
	t.Helper()
	w.writ(t, append([]string{"policy", "put", "--principal", "grace"}, arguments...)...).document(t, &change)
	return change
}

// policyFolder is a folder with one file of policies.
func policyFolder(t testing.TB, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "rules.cedar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// refunds asks for a refund as somebody of support.
func (w *world) refunds(t testing.TB, amount, key string) outcome {
	t.Helper()
	return w.ask(t, refundOf(amount), key, "--principal", "ada", "--role", "support", "--timeout", "20s").outcome(t)
}

func TestPoliciesThatArePutInForceRuleTheNextDecisionOfARunningWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorkerWith(t, []string{"--recover-every", "500ms", "--stored-policies"})
	if d := w.refunds(t, "1.00", "before").denied(t, intent.CodePolicyDenied); d.PolicyDigest != "" || !strings.Contains(d.Reason, "no policies are in force") {
		t.Errorf("before there are policies: %+v", d)
	}

	refunds := w.put(t, refundPolicies, "--note", "the first ones")
	if d := recordedDecision(t, w.refunds(t, "1.00", "first").completed(t).Decision); d.PolicyDigest != refunds.Digest || d.Policies[0] != "support-refunds" {
		t.Errorf("by the first policies: %+v", d)
	}
	id := w.refunds(t, "100.01", "waiting").waits(t)

	stopped := w.put(t, policyFolder(t, `@id("nobody") @reason("the bank is closed") forbid (principal, action, resource);`))
	after := w.refunds(t, "1.00", "after")
	if d := after.denied(t, intent.CodePolicyDenied); d.PolicyDigest != stopped.Digest || !strings.Contains(d.Reason, "the bank is closed") {
		t.Errorf("by the second policies: %+v", d)
	}
	// What waited is asked about again before it is sent, by what is in force then.
	w.decided(t, "confirm", id, "--principal", "grace", "--role", "finance")
	if d := w.watched(t, id).denied(t, intent.CodePolicyDenied); d.PolicyDigest != stopped.Digest {
		t.Errorf("what was confirmed meanwhile: %+v", d)
	}
	w.provider.effects(t, 1)

	if back := w.put(t, "--digest", refunds.Digest); back.Number != 3 || back.Digest != refunds.Digest {
		t.Errorf("%+v", back)
	}
	w.refunds(t, "1.00", "back").completed(t)
	w.provider.effects(t, 2)

	var shown writ.PolicySet
	if w.writ(t, "policy", "show", stopped.Digest).document(t, &shown); !strings.Contains(shown.Files["rules.cedar"], "the bank is closed") {
		t.Errorf("%+v", shown)
	}
	var e writ.IntentExplanation
	if w.writ(t, "policy", "explain", "--intent", after.Intent.ID.String()).document(t, &e); e.Differs == nil || !*e.Differs || e.Then.Policies[0] != "nobody" {
		t.Errorf("%+v", e)
	}
}

func TestAWorkerKeepsTheTextOfThePoliciesThatItsDecisionsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t, "WRIT_POLICIES="+refundPolicies)
	refund := w.refunds(t, "1.00", requestKey)
	d := recordedDecision(t, refund.completed(t).Decision)
	var set writ.PolicySet
	w.writ(t, "policy", "show", d.PolicyDigest).document(t, &set)
	text, err := os.ReadFile(filepath.Join(refundPolicies, "refunds.cedar"))
	if err != nil || set.Digest != d.PolicyDigest || set.Files["refunds.cedar"] != string(text) {
		t.Errorf("%+v, %v", set, err)
	}
}

// unpriced is the sample refund, which takes no amount.
type unpriced struct{ tools.Reconciler }

func (u unpriced) Spec() tools.Spec {
	spec := u.Reconciler.Spec()
	spec.Stake = tools.Stake{}
	spec.InputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"payment_id":{"type":"string"}}}`)
	return spec
}

func TestPoliciesThatDoNotFitAWorkersToolsRefuseWhatItIsAskedForAndTheDoctorSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.startWorkerWith(t, []string{"--recover-every", "500ms", "--stored-policies"})
	w.put(t, refundPolicies)
	w.examine(t, nil)
	w.refunds(t, "1.00", "fits").completed(t)
	worker.stop(t)

	list, err := sample.Tools(sample.Config{ProviderURL: w.provider.url})
	if err != nil {
		t.Fatal(err)
	}
	for i, tool := range list {
		if refunds, ok := tool.(tools.Reconciler); ok && tool.Spec().Name == "payments.refund" {
			list[i] = unpriced{refunds}
		}
	}
	w.hostWith(t, writ.WorkerConfig{StoredPolicies: true}, list...)
	w.ask(t, action{"payments.refund", `{"payment_id":"pay_1"}`}, "unfit", "--principal", "ada", "--role", "support").outcome(t).denied(t, intent.CodeGateError)
	w.provider.effects(t, 1)
	for _, c := range w.examine(t, map[string]doctor.Status{"policies": doctor.Fail}).Checks {
		if c.Name == "policies" && (!strings.Contains(c.Found, "refunds.cedar:") || !strings.Contains(c.Found, "by grace")) {
			t.Errorf("%+v", c)
		}
	}
}
