package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/tools"
)

// A payload that would like to be taken for another one, and holds a secret.
const painted = `{"amount":"9000.00","card":{"pin":"CANARY4711"},"currency":"EUR","note":"ok\u001b[2K\r` + "\u202e00.9" + `"}`

func TestWhoConfirmsSeesWhatWouldRunAndNotWhatIsSecretNorPainted(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	spec := tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, Stake: tools.Stake{Amount: "/amount", Currency: "/currency"},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"card":{"writeOnly":true}}}`)}
	store.publish(t, spec)
	p := proposal("order-1", "agent-7")
	p.SpecDigest, p.Payload = spec.Digest(), []byte(painted)
	p.EffectContext = intent.EffectContext{Principal: "agent-7", Tenant: "default", Roles: []string{"support"}, OnBehalfOf: []string{"ada"}, Risk: 0.7}.Canonical()
	p.Decision = []byte(`{"allow":true,"approvers":2,"confirm":true,"policies":["large-refunds"],"policy":"cedar","reason":"over 100.00","risk":0.7}`)
	p.ConfirmWithin, p.Approvers = 24*time.Hour, 2
	row, err := store.Insert(t.Context(), p.Bound())
	if err != nil {
		t.Fatal(err)
	}
	if r := store.writ(t, "confirm", row.ID.String(), "--principal", "eve"); r.status != 0 {
		t.Fatal(r.stderr)
	}
	text := command(t, "intent", "get", row.ID.String(), "--database-url", store.url).stdout
	for _, want := range []string{
		"9000.00 EUR", "payments.capture", "agent-7", "support", "ada", "0.7", "over 100.00 (cedar: large-refunds)", "1 of 2 people", "by eve at",
		", in 23h", string(intent.Short(row.Commitment)), "writ confirm " + row.ID.String() + " --commitment ", `"card":"***"`, "masked", "/card", `\u001b[2K`, `\u202e00.9`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	raw := command(t, "intent", "get", row.ID.String(), "-o", "json", "--database-url", store.url)
	var v writ.Intent
	raw.document(t, &v)
	if v.Stake == nil || v.Stake.Amount != "9000.00" || v.RemainingMS <= 0 || v.RemainingMS > (24*time.Hour).Milliseconds() || strings.Join(v.Masked, " ") != "/card" {
		t.Errorf("%+v", v)
	}
	inbox := command(t, "intent", "list", "--state", "awaiting_confirmation", "--database-url", store.url).stdout
	for _, want := range []string{"9000.00 EUR", "23h", "1 of 2 people", "agent-7, for ada", row.ID.String()} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox does not say %q:\n%s", want, inbox)
		}
	}
	for name, shown := range map[string]string{"text": text, "JSON": raw.stdout, "inbox": inbox} {
		if strings.Contains(shown, "CANARY4711") || strings.ContainsAny(shown, "\x1b\r\u202e") {
			t.Errorf("the %s shows a secret or paints:\n%q", name, shown)
		}
	}
	for _, door := range [][]string{{"confirm"}, {"deny"}} {
		r := store.writ(t, append(door, row.ID.String(), "--principal", "bob", "-o", "json")...)
		if strings.Contains(r.stdout, "CANARY4711") || strings.Contains(r.stdout, "\u202e") {
			t.Errorf("%v shows a secret or paints: %s", door, r.stdout)
		}
	}
	if r := command(t, "intent", "list", "--state", "awaiting_confirmation", "--database-url", store.url); r.stdout != "nothing waits for anybody to confirm it\n" {
		t.Errorf("an empty inbox: %s", r.stdout)
	}
}

func TestARefusedIntentSaysWhichRuleRefusedItAndWhy(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, refused())
	r := command(t, "intent", "get", p.ID().String(), "--database-url", store.url)
	if !strings.Contains(r.stdout, "policy_denied: not at night (quiet-hours)") {
		t.Errorf("it does not say why:\n%s", r.stdout)
	}
	p = proposal("order-2", "ada")
	store.ended(t, p, answered(intent.Applied))
	if r := command(t, "intent", "get", p.ID().String(), "--database-url", store.url); r.status != 0 || strings.Contains(r.stdout, "why refused") {
		t.Errorf("status %d of what completed:\n%s", r.status, r.stdout)
	}
}

// Of a tool that nobody has published nobody knows what is secret.
func TestThePayloadOfAToolThatIsNotOnRecordIsMasked(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	p.Payload, p.Decision = []byte(`{"pin":"CANARY4711"}`), []byte(`{"allow":true}`)
	if _, err := store.Insert(t.Context(), p.Bound()); err != nil {
		t.Fatal(err)
	}
	r := command(t, "intent", "get", p.ID().String(), "--database-url", store.url)
	if r.status != 0 || strings.Contains(r.stdout, "CANARY4711") || !strings.Contains(r.stdout, `"***"`) {
		t.Errorf("status %d\n%s", r.status, r.stdout)
	}
}
