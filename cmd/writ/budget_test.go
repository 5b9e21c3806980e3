package main

import (
	"strings"
	"testing"

	"writ"
)

func TestABudgetIsSetListedRemovedAndItsHistoryKept(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	if r := store.writ(t, "budget", "list"); r.status != 0 || r.stdout != "no budgets\n" {
		t.Errorf("status %d: %q", r.status, r.stdout)
	}
	set := []string{"budget", "set", "--tenant", "acme", "--tool", "payments.refund", "--currency", "EUR", "--per", "24h", "--principal", "eve", "-o", "json", "--money"}
	var b writ.Budget
	store.writ(t, append(set, "50")...)
	r := store.writ(t, append(set, "100.00")...)
	r.document(t, &b)
	if r.status != 0 || b.Allowed != "100.00" || b.Left != "100.00" || b.Used != "0" || b.Principal != "eve" || b.WindowMS != 86400000 || b.EndsAt.Hour() != 0 {
		t.Errorf("status %d, %+v, %s", r.status, b, r.stderr)
	}
	r = store.writ(t, "budget", "list", "--tenant", "acme")
	for _, want := range []string{"acme", "any", "payments.refund", "100.00 EUR", "24h0m0s", "by eve at ", b.ID} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d; it does not say %q:\n%s", r.status, want, r.stdout)
		}
	}
	if r := store.writ(t, "budget", "list", "--tenant", "globex"); r.stdout != "no budgets\n" {
		t.Errorf("of another tenant: %s", r.stdout)
	}
	var f failure
	r = store.writ(t, "budget", "list", "--tenant", "", "-o", "json")
	if r.document(t, &f); r.status != 2 || f.Error.Code != "usage" {
		t.Errorf("of no tenant: status %d, %+v", r.status, f.Error)
	}
	if r := store.writ(t, "budget", "remove", b.ID, "--note", "the audit is over"); r.status != 0 || !strings.Contains(r.stdout, "removed") {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	if r := store.writ(t, "budget", "list", "--all"); !strings.Contains(r.stdout, "removed") {
		t.Errorf("%s", r.stdout)
	}
	r = store.writ(t, "budget", "history", b.ID)
	for _, want := range []string{"allowed 50", "allowed 100.00", "removed", "the audit is over"} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d; it does not say %q:\n%s", r.status, want, r.stdout)
		}
	}
	r = store.writ(t, "budget", "remove", b.ID, "-o", "json")
	if r.document(t, &f); r.status != 2 || f.Error.Code != "budget_not_found" {
		t.Errorf("removed twice: status %d, %+v", r.status, f.Error)
	}
}

func TestABudgetThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for _, args := range [][]string{
		{"set"},
		{"set", "--intents", "1", "--concurrency", "1"},
		{"set", "--intents", "1"},
		{"set", "--intents", "1.5", "--per", "1h"},
		{"set", "--intents", "1", "--per", "1h", "--currency", "EUR"},
		{"set", "--money", "-1", "--per", "1h"},
		{"set", "--money", "1e3", "--per", "1h"},
		{"set", "--money", "1", "--per", "59s"},
		{"set", "--money", "1", "--per", "8785h"},
		{"set", "--money", "1", "--per", "1h", "--currency", "E R"},
		{"set", "--concurrency", "1", "--per", "1h"},
		{"remove", "echo"},
		{"history", "echo"},
	} {
		var f failure
		r := store.writ(t, append([]string{"budget", "-o", "json"}, args...)...)
		if r.document(t, &f); r.status != 2 || f.Error.Code != "invalid_budget" {
			t.Errorf("%q: status %d, %+v", args, r.status, f.Error)
		}
	}
	for _, amount := range []string{"", "NaN", "Infinity", "1e400", "-0", "+1", "100,00", "1.", ".5", "0x10", " 1", "1\n", "\u0661", "1_000", "1/2", strings.Repeat("9", 31), "0." + strings.Repeat("1", 19)} {
		for _, kind := range [][]string{{"--money", amount, "--per", "1h"}, {"--intents", amount, "--per", "1h"}, {"--concurrency", amount}} {
			var f failure
			r := store.writ(t, append([]string{"budget", "set", "-o", "json"}, kind...)...)
			if r.document(t, &f); r.status != 2 || f.Error.Code != "invalid_budget" {
				t.Errorf("%q: status %d, %+v", kind, r.status, f.Error)
			}
		}
	}
	// As a script's unset variable leaves them.
	for _, args := range [][]string{
		{"set", "--money", "1", "--per", "1h", "--currency", ""}, {"set", "--money", "1", "--per", "1h", "--over", ""}, {"list", "--tenant", ""},
		{"set", "--money", "1", "--per", "1e3h"}, {"set", "--money", "1", "--per", "9999999999h"},
	} {
		var f failure
		r := store.writ(t, append([]string{"budget", "-o", "json"}, args...)...)
		if r.document(t, &f); r.status != 2 || f.Error.Code != "usage" {
			t.Errorf("%q: status %d, %+v", args, r.status, f.Error)
		}
	}
	if r := store.writ(t, "budget", "list", "--all", "-o", "json"); r.stdout != "[]\n" {
		t.Errorf("something was written: %s", r.stdout)
	}
}
