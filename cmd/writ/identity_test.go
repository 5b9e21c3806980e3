package main

import (
	"strings"
	"testing"

	"writ/intent"
)

func TestNobodyAsksOrDecidesUnderANameOfWritsOwn(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("default", "order-1").String()
	for _, args := range [][]string{
		{"execute", "echo", "--principal", "writ:breaker"},
		{"execute", "echo", "--principal", "agent-7", "--on-behalf-of", "writ:breaker"},
		{"execute", "--request", `{"tool":"echo","principal":"writ:breaker"}`},
		{"execute", "--request", `{"tool":"echo","principal":"agent-7","on_behalf_of":["writ:breaker"]}`},
		{"schedule", "create", "nightly", "echo", "--every", "1h", "--principal", "writ:breaker"},
		{"confirm", id, "--principal", "writ:breaker"},
		{"deny", id, "--principal", "agent-7", "--on-behalf-of", "writ:breaker"},
		{"resolve", id, "--not-applied", "--note", "case 4711", "--principal", "writ:breaker"},
		{"reissue", id, "--principal", "writ:breaker"},
		{"intent", "cancel", id, "--principal", "writ:breaker"},
		{"doubt", "acknowledge", id, "--principal", "writ:breaker"},
		{"budget", "set", "--concurrency", "3", "--principal", "writ:breaker"},
		{"hold", "set", "--tool", "echo", "--principal", "writ:breaker"},
		{"hold", "set", "--tool", "echo", "--principal", "agent-7", "--on-behalf-of", "writ:breaker"},
		{"hold", "lift", "--tool", "echo", "--principal", "writ:breaker"},
		{"enqueued", "retry", id, "--principal", "agent-7", "--on-behalf-of", "writ:breaker"},
		{"enqueued", "drop", id, "--principal", "writ:breaker"},
		{"recover", "--after-restore", "--principal", "agent-7", "--on-behalf-of", "writ:breaker"},
	} {
		r := command(t, append(args, "-o", "json", "--database-url", nowhere)...)
		var f failure
		r.document(t, &f)
		if r.status != 3 || f.Error.Code != "system_principal" {
			t.Errorf("%q: status %d, %+v", args, r.status, f.Error)
		}
		if strings.Contains(r.stderr, "request key writ:") {
			t.Errorf("%q: a key was minted: %s", args, r.stderr)
		}
	}
}

// The environment describes one identity, which is not that of another principal.
func TestTheEnvironmentsRolesAndDelegationAreOfItsOwnPrincipal(t *testing.T) {
	t.Setenv("WRIT_PRINCIPAL", "agent-7")
	t.Setenv("WRIT_ROLES", "support,clerk")
	t.Setenv("WRIT_ON_BEHALF_OF", "assistant,ada")
	for want, args := range map[string][]string{
		"agent-7 [support clerk] [assistant ada]": {},
		"agent-7 [finance] [assistant ada]":       {"--role", "finance"},
		"agent-7 [support clerk] [bob]":           {"--on-behalf-of", "bob"},
		"eve [] []":                               {"--principal", "eve"},
		"eve [finance] []":                        {"--principal", "eve", "--role", "finance"},
	} {
		var f decisionFlags
		cmd := newConfirmCommand(&program{})
		cmd.ResetFlags()
		f.register(cmd, "who confirms")
		f.registerStanding(cmd, "who confirms")
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		by, err := f.decider(cmd)
		got := by.Principal + " [" + strings.Join(by.Roles, " ") + "] [" + strings.Join(by.OnBehalfOf, " ") + "]"
		if err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", args, got, err, want)
		}
	}
}

func TestWhoActsForTheRequesterIsToldThatSomebodyElseHasToConfirm(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id, _ := store.repeat(t)
	r := store.writ(t, "confirm", id.String(), "--principal", "agent-7", "--on-behalf-of", "ada", "-o", "json")
	var f failure
	r.document(t, &f)
	if r.status != 3 || f.Error.Code != "self_confirmation" || f.Error.Effect != "not_applied" || !strings.Contains(f.Error.Message, "agent-7 acts for ada") {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	r = store.writ(t, "confirm", id.String(), "--principal", "eve", "--role", "finance", "--on-behalf-of", "bob")
	if r.status != 0 || !strings.Contains(r.stdout, "eve for bob as finance") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}
