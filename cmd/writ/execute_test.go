package main

import (
	"encoding/json"
	"strings"
	"testing"

	"writ"
	"writ/intent"
)

func TestAnEmptyNameOrKeyIsRefusedAndNotTakenForNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, value, code string }{
		{"--key", "", "invalid_request_key"},
		{"--key", "writ:auto:1", "reserved_request_key"},
		{"--tenant", "", "invalid_name"},
		{"--principal", "", "invalid_name"},
		{"--timeout", "0s", "usage"},
		{"--timeout", "-1s", "usage"},
	} {
		r := command(t, "execute", "echo", c.flag, c.value, "-o", "json", "--database-url", nowhere)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != c.code || f.Error.Effect != "not_applied" {
			t.Errorf("%s %q: status %d, %+v", c.flag, c.value, r.status, f.Error)
		}
	}
}

func TestThePrincipalIsTheFlagThenTheEnvironmentThenTheUser(t *testing.T) {
	t.Setenv("WRIT_PRINCIPAL", "")
	if defaultPrincipal() == "" {
		t.Error("the operating system's user has no name")
	}
	t.Setenv("WRIT_PRINCIPAL", "shop")
	if got := defaultPrincipal(); got != "shop" {
		t.Errorf("with WRIT_PRINCIPAL: %q", got)
	}
	store := newOutbox(t)
	store.ended(t, proposal("order-1", "shop"), answered(intent.Applied))
	if r := command(t, "execute", "payments.capture", "--key", "order-1", "--database-url", store.url); r.status != 0 {
		t.Errorf("as the environment says: status %d: %s", r.status, r.stderr)
	}
	if r := command(t, "execute", "payments.capture", "--key", "order-1", "--principal", "other", "--database-url", store.url); r.status != 7 {
		t.Errorf("as the flag says: status %d: %s", r.status, r.stderr)
	}
}

func TestADatabaseThatDoesNotAnswerExits1AndShowsTheKey(t *testing.T) {
	t.Parallel()
	for _, detach := range []string{"--detach=false", "--detach"} {
		r := command(t, "execute", "echo", detach, "-o", "json", "--database-url", nowhere)
		var f failure
		r.document(t, &f)
		if r.status != 1 || f.Error.Code != "database_unavailable" || f.Error.Effect != "unknown" || !f.Error.TryAgain {
			t.Errorf("%s: status %d, %+v", detach, r.status, f.Error)
		}
		if f.Intent.ID == "" || !strings.HasPrefix(f.Intent.RequestKey, intent.ReservedPrefix) {
			t.Errorf("%s: the minted key is not shown: %s", detach, r.stdout)
		}
		if !strings.Contains(r.stderr, f.Intent.RequestKey) || !strings.Contains(r.stderr, "--key "+f.Intent.RequestKey) {
			t.Errorf("%s: standard error does not say how to go on: %s", detach, r.stderr)
		}
	}
}

// The same request key again is answered from the outbox alone, so every end can be shown
// here without a worker.
func TestTheStatusAndTheAnswerSayHowTheIntentEnded(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for key, c := range map[string]struct {
		seed           ending
		status         int
		code, effect   string
		state, outcome string // of the text
	}{
		"completed": {answered(intent.Applied), 0, "", "", "completed", "happened"},
		"failed":    {answered(intent.NotApplied), 4, "failed", "not_applied", "failed", "did not happen"},
		"refused":   {refused(), 3, "policy_denied", "not_applied", "refused", "did not happen"},
		"in-doubt":  {parked(), 5, "in_doubt", "unknown", "in_doubt", "may or may not have happened"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			store.ended(t, proposal(intent.RequestKey(key), "ada"), c.seed)
			args := []string{"execute", "payments.capture", "--key", key, "--principal", "ada", "--database-url", store.url}

			r := command(t, append(args, "-o", "json")...)
			var f failure
			r.document(t, &f)
			if r.status != c.status || f.Error.Code != c.code || f.Error.Effect != c.effect {
				t.Errorf("JSON: status %d, %+v; %s", r.status, f.Error, r.stderr)
			}
			if f.Intent.State != c.state || f.Intent.RequestKey != key {
				t.Errorf("JSON: intent %+v", f.Intent)
			}
			if hasReceipt := len(f.Receipt) > 0; hasReceipt != (key != "in-doubt") {
				t.Errorf("JSON: receipt %s", f.Receipt)
			}

			r = command(t, args...)
			if r.status != c.status {
				t.Errorf("text: status %d, %s", r.status, r.stderr)
			}
			for _, want := range []string{c.state, c.outcome, "payments.capture", key, f.Intent.ID} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("text does not say %q:\n%s", want, r.stdout)
				}
			}
			if !strings.Contains(r.stderr, c.code) || (c.code == "") != (r.stderr == "") {
				t.Errorf("standard error: %s", r.stderr)
			}
		})
	}
}

func TestAKeyOfAnotherActionExits7AndRevealsNothing(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, answered(intent.Applied))
	r := command(t, "execute", "payments.capture", "--key", "order-1", "--principal", "ada",
		"--payload", `{"payment_id":"another"}`, "-o", "json", "--database-url", store.url)
	var f failure
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "idempotency_conflict" || f.Error.Effect != "not_applied" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	if f.Intent.State != "" || strings.Contains(r.stdout+r.stderr, string(p.IdempotencyKey)) {
		t.Errorf("the first intent is shown: %s", r.stdout)
	}
}

func TestAnUnknownToolExits2AndADetachedOneToo(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for _, detach := range []string{"--detach=false", "--detach"} {
		r := command(t, "execute", "payments.captrue", detach, "-o", "json", "--database-url", store.url)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != "unknown_tool" || f.Error.Effect != "not_applied" {
			t.Errorf("%s: status %d, %+v", detach, r.status, f.Error)
		}
	}
}

func TestADetachedRequestWhoseKeyIsKnownReturnsTheIntent(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, answered(intent.Applied))
	args := []string{"execute", "payments.capture", "--key", "order-1", "--principal", "ada", "--detach", "--database-url", store.url}
	r := command(t, append(args, "-o", "json")...)
	var v writ.Intent
	r.document(t, &v)
	if r.status != 0 || v.ID != p.ID() || v.State != intent.Completed || !json.Valid(v.Payload) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	if r := command(t, args...); r.status != 0 || !strings.Contains(r.stdout, "accepted") || !strings.Contains(r.stdout, p.ID().String()) {
		t.Errorf("text: status %d\n%s", r.status, r.stdout)
	}
}
