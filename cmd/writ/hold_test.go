package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"writ"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

func (r records) holds(t *testing.T, args ...string) (list []writ.Hold) {
	t.Helper()
	ran := r.writ(t, append([]string{"hold", "list", "-o", "json"}, args...)...)
	ran.document(t, &list)
	if ran.status != 0 {
		t.Errorf("status %d, %s", ran.status, ran.stderr)
	}
	return list
}

// ofBank is a capture whose provider is the bank.
func ofBank(key intent.RequestKey) outbox.Proposal {
	p := proposal(key, "ada")
	p.Decision, p.Rules.Provider = []byte(`{"allow":true}`), "bank"
	return p
}

func TestAHoldIsSetShownAndLifted(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, Provider: "bank"})
	row, err := store.Insert(t.Context(), ofBank("order-1").Bound())
	if err != nil {
		t.Fatal(err)
	}
	if r := store.writ(t, "hold", "list"); r.status != 0 || r.stdout != "no holds\n" {
		t.Errorf("status %d: %q", r.status, r.stdout)
	}
	claim, err := store.Claim(t.Context(), outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-1", SpecDigest: row.SpecDigest})
	if err != nil || !claim.Granted {
		t.Fatalf("%+v, %v", claim, err)
	}

	r := store.writ(t, "hold", "set", "--provider", "bank", "--principal", "eve", "--note", "they migrate")
	for _, want := range []string{"on provider bank", "by eve at ", ": they migrate", "attempt 1 of payments.capture for default", row.ID.String()} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d, %s; it does not say %q:\n%s", r.status, r.stderr, want, r.stdout)
		}
	}
	if r.stderr != "" {
		t.Errorf("warned of a provider that is known: %s", r.stderr)
	}
	var again heldNow
	r = store.writ(t, "hold", "set", "--provider", "bank", "--principal", "ada", "-o", "json")
	r.document(t, &again)
	if !strings.Contains(r.stderr, "stood already, set by eve at ") || !strings.Contains(r.stderr, ": they migrate; it stands as it was") {
		t.Errorf("ada is not told that eve's hold stands: %s", r.stderr)
	}
	if r.status != 0 || again.Hold.Principal != "eve" || len(again.InFlight) != 1 || again.InFlight[0].IntentID != row.ID {
		t.Errorf("status %d, %+v", r.status, again)
	}
	standing := store.holds(t)
	if len(standing) != 1 || !reflect.DeepEqual(standing[0], again.Hold) {
		t.Errorf("standing: %+v", standing)
	}

	waiting, err := store.Insert(t.Context(), ofBank("order-2").Bound())
	if err != nil {
		t.Fatal(err)
	}
	var v writ.Intent
	r = command(t, "intent", "get", waiting.ID.String(), "-o", "json", "--database-url", store.url)
	r.document(t, &v)
	if v.Next.Reason != "held" || len(v.Holds) != 1 || !reflect.DeepEqual(v.Holds[0], again.Hold) {
		t.Errorf("next %+v, holds %+v", v.Next, v.Holds)
	}
	r = command(t, "intent", "get", waiting.ID.String(), "--database-url", store.url)
	if !strings.Contains(r.stdout, "held by") || !strings.Contains(r.stdout, "the hold on provider bank, set by eve at ") {
		t.Errorf("it does not say what it waits for:\n%s", r.stdout)
	}

	r = store.writ(t, "hold", "lift", "--provider", "bank", "--principal", "ada", "--role", "operator", "--on-behalf-of", "bob", "--note", "they are back")
	if r.status != 0 || !strings.Contains(r.stdout, "the hold on provider bank that eve set at ") {
		t.Errorf("status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	if list := store.holds(t); len(list) != 0 {
		t.Errorf("still standing: %+v", list)
	}
	if all := store.holds(t, "--all"); len(all) != 1 || all[0].LiftedBy != "ada" || all[0].LiftNote != "they are back" {
		t.Errorf("the history is %+v", all)
	}
	if r = store.writ(t, "hold", "list", "--all"); !strings.Contains(r.stdout, "by ada for bob as operator at ") || !strings.Contains(r.stdout, "they are back") {
		t.Errorf("the history is\n%s", r.stdout)
	}
}

func TestAHoldIsLiftedByItsID(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for _, flag := range []string{"--tool", "--tenant"} {
		if r := store.writ(t, "hold", "set", flag, "acme"); r.status != 0 {
			t.Fatalf("status %d, %s", r.status, r.stderr)
		}
	}
	list := store.holds(t)
	if len(list) != 2 || list[0].Scope != writ.HoldTenant || list[1].Scope != writ.HoldTool {
		t.Fatalf("holds %+v", list)
	}
	var lifted []writ.Hold
	r := store.writ(t, "hold", "lift", list[0].ID, "-o", "json")
	r.document(t, &lifted)
	if left := store.holds(t); len(lifted) != 1 || lifted[0].ID != list[0].ID || len(left) != 1 || left[0].ID != list[1].ID {
		t.Errorf("lifted %+v, left %+v", lifted, left)
	}
}

func TestAHoldOnAnUnknownNameStandsWithAWarning(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	r := store.writ(t, "hold", "set", "--tool", "payments.captrue")
	if r.status != 0 || !strings.Contains(r.stderr, "no published tool is, or has, the tool payments.captrue") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if len(store.holds(t)) != 1 {
		t.Error("it does not stand")
	}
	if r = store.writ(t, "hold", "set", "--tenant", "newcomer"); r.stderr != "" {
		t.Errorf("tenants are not published: %s", r.stderr)
	}
}

func TestAHoldWithoutExactlyOneSubjectIsRefused(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for _, c := range []struct {
		args []string
		code string
	}{
		{[]string{"set"}, "invalid_hold"},
		{[]string{"set", "--tool", "echo", "--tenant", "acme"}, "invalid_hold"},
		{[]string{"set", "--tool", ""}, "invalid_name"},
		{[]string{"set", "--tool", "echo", "--principal", "no body"}, "invalid_name"},
		{[]string{"set", "--tool", "echo", "--note", "two\nlines"}, "invalid_note"},
		{[]string{"lift"}, "invalid_hold"},
		{[]string{"lift", "--tool", "echo"}, "hold_not_found"},
		{[]string{"lift", "echo"}, "invalid_hold"},
		{[]string{"lift", uuid.NewString()}, "hold_not_found"},
		{[]string{"lift", uuid.NewString(), "--tool", "echo"}, "usage"},
		{[]string{"lift", uuid.NewString(), uuid.NewString()}, "usage"},
	} {
		var f failure
		r := store.writ(t, append([]string{"hold", "-o", "json"}, c.args...)...)
		r.document(t, &f)
		if r.status != 2 || string(f.Error.Code) != c.code || f.Error.Effect == "applied" {
			t.Errorf("%q: status %d, %+v", c.args, r.status, f.Error)
		}
	}
	if list := store.holds(t, "--all"); len(list) != 0 {
		t.Errorf("holds %+v", list)
	}
}
