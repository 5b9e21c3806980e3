package main

import (
	"strings"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/tools"
)

// repeat writes an intent that seems to repeat another and waits for a person, and returns
// its id and the id of the other one.
func (r records) repeat(t *testing.T) (id, of intent.ID) {
	t.Helper()
	first := proposal("order-1", "ada")
	r.ended(t, first, answered(intent.Applied))
	p := proposal("writ:auto:00000000-0000-4000-8000-000000000001", "ada")
	p.Decision, p.SuspectedDuplicateOf, p.ConfirmWithin = []byte(`{"allow":true,"confirm":true}`), first.ID(), 24*time.Hour
	if _, err := r.Insert(t.Context(), p.Bound()); err != nil {
		t.Fatal(err)
	}
	return p.ID(), first.ID()
}

func TestAnIntentThatWaitsForAPersonExits6AndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id, of := store.repeat(t)
	args := []string{"execute", "payments.capture", "--key", "writ:auto:00000000-0000-4000-8000-000000000001", "--principal", "ada", "--database-url", store.url}
	r := command(t, append(args, "-o", "json")...)
	var f failure
	r.document(t, &f)
	if r.status != 6 || f.Error.Code != "confirmation_required" || f.Error.Effect != "not_applied" || f.Intent.State != "awaiting_confirmation" {
		t.Errorf("status %d, %+v", r.status, f)
	}
	for _, args := range [][]string{args, {"intent", "watch", id.String(), "--database-url", store.url}} {
		r = command(t, args...)
		for _, want := range []string{"awaiting_confirmation", "nothing was sent", "confirm by", "may repeat", of.String()} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%s does not say %q:\n%s", args[0], want, r.stdout)
			}
		}
		for _, want := range []string{"writ confirm " + id.String(), "writ deny " + id.String(), "somebody other than ada"} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("the error of %s does not say %q: %s", args[0], want, r.stderr)
			}
		}
		if r.status != 6 {
			t.Errorf("%s: status %d", args[0], r.status)
		}
	}
	r = command(t, append(args, "--detach")...)
	if r.status != 0 || !strings.Contains(r.stdout, "waits for somebody to run writ confirm "+id.String()) {
		t.Errorf("detached: status %d\n%s", r.status, r.stdout)
	}
}

func TestAConfirmationIsShownAndUsedOnce(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id, _ := store.repeat(t)
	var f failure
	r := store.writ(t, "confirm", id.String(), "--principal", "ada", "-o", "json")
	r.document(t, &f)
	if r.status != 3 || f.Error.Code != "self_confirmation" {
		t.Errorf("by who asked: status %d, %+v", r.status, f.Error)
	}
	r = store.writ(t, "confirm", id.String(), "--principal", "eve", "--note", "two deliveries")
	if r.status != 0 || !strings.Contains(r.stdout, "confirmed") || !strings.Contains(r.stdout, "by eve at ") || !strings.Contains(r.stdout, ": two deliveries") ||
		!strings.Contains(r.stdout, "recorded") {
		t.Errorf("status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	r = store.writ(t, "deny", id.String(), "--principal", "bob", "-o", "json")
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "not_awaiting_confirmation" || !strings.Contains(f.Error.Message, "eve confirmed it") {
		t.Errorf("a second decision: status %d, %+v", r.status, f.Error)
	}
	text := command(t, "intent", "get", id.String(), "--database-url", store.url).stdout
	if !strings.Contains(text, "two deliveries") {
		t.Errorf("the intent does not show who decided:\n%s", text)
	}
}

func TestADenialIsTheIntentAndEndsIt(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id, of := store.repeat(t)
	r := store.writ(t, "deny", id.String(), "--principal", "eve", "--note", "sent twice by mistake", "-o", "json")
	var v writ.Intent
	r.document(t, &v)
	if r.status != 0 || v.State != intent.Refused || len(v.Decisions) != 1 || v.Decisions[0].Kind != intent.Deny || v.SuspectedDuplicateOf != of {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	text := command(t, "receipt", "get", id.String(), "--database-url", store.url).stdout
	for _, want := range []string{"refused", "by eve at", "sent twice by mistake", "may repeat", of.String(), "confirmation_denied"} {
		if !strings.Contains(text, want) {
			t.Errorf("the receipt does not say %q:\n%s", want, text)
		}
	}
}

func TestAnIntentThatTwoMustConfirmShowsHowManyHaveAndWhatTheyConfirm(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	p.Decision, p.ConfirmWithin, p.Approvers = []byte(`{"allow":true,"approvers":2,"confirm":true}`), 24*time.Hour, 2
	row, err := store.Insert(t.Context(), p.Bound())
	if err != nil {
		t.Fatal(err)
	}
	id, shown := p.ID().String(), string(intent.Short(row.Commitment))
	for _, args := range [][]string{{"intent", "get", id}, {"intent", "list", "--state", "awaiting_confirmation"}} {
		if r := command(t, append(args, "--database-url", store.url)...); r.status != 0 || !strings.Contains(r.stdout, "0 of 2 people") {
			t.Errorf("%v: status %d\n%s", args, r.status, r.stdout)
		}
	}
	if r := command(t, "intent", "get", id, "--database-url", store.url); !strings.Contains(r.stdout, shown) {
		t.Errorf("the commitment %s is not shown:\n%s", shown, r.stdout)
	}
	var f failure
	for _, c := range []struct {
		name, commitment, principal, code string
		status                            int
	}{
		{"of nothing", "", "eve", "invalid_commitment", 2},
		{"of too few digits", shown[:8], "eve", "invalid_commitment", 2},
		{"of something else", strings.Repeat("f", 64), "eve", "commitment_changed", 7},
		{"by who asked", shown, "ada", "self_confirmation", 3},
	} {
		r := store.writ(t, "confirm", id, "--principal", c.principal, "--commitment", c.commitment, "-o", "json")
		r.document(t, &f)
		if r.status != c.status || f.Error.Code != c.code || f.Error.Effect != "not_applied" {
			t.Errorf("%s: status %d, %+v", c.name, r.status, f.Error)
		}
	}
	r := store.writ(t, "confirm", id, "--principal", "eve", "--commitment", shown)
	if r.status != 0 || !strings.Contains(r.stdout, "1 more") || !strings.Contains(r.stdout, "1 of 2 people") {
		t.Errorf("the first: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	r = store.writ(t, "confirm", id, "--principal", "eve", "-o", "json")
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "already_confirmed" || !strings.Contains(f.Error.Message, "1 of 2 have") {
		t.Errorf("twice: status %d, %+v", r.status, f.Error)
	}
	var v writ.Intent
	store.writ(t, "confirm", id, "--principal", "bob", "--commitment", row.Commitment.String(), "-o", "json").document(t, &v)
	if v.State != intent.Recorded || v.Approvers != 2 || v.Confirmed != 2 || v.Commitment != row.Commitment {
		t.Errorf("the second: %+v", v)
	}
}

func TestADecisionThatCannotBeTakenExits2(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	nobody := intent.IntentID("default", "nobody").String()
	for _, c := range []struct {
		args []string
		code string
	}{
		{[]string{"confirm", nobody}, "intent_not_found"},
		{[]string{"deny", nobody}, "intent_not_found"},
		{[]string{"confirm", "order-1"}, "invalid_intent_id"},
		{[]string{"confirm", nobody, "--note", "a\nb"}, "invalid_note"},
		{[]string{"confirm", nobody, "--principal", "e v e"}, "invalid_name"},
		{[]string{"deny", nobody, "--principal", ""}, "invalid_name"},
	} {
		r := store.writ(t, append(c.args, "-o", "json")...)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != c.code || f.Error.Effect == "applied" {
			t.Errorf("%v: status %d, %+v", c.args, r.status, f.Error)
		}
	}
}

func TestAFlaggedRepeatIsAWarningAndALine(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	first, second := proposal("order-1", "ada"), proposal("order-2", "ada")
	second.SuspectedDuplicateOf = first.ID()
	store.ended(t, first, answered(intent.Applied))
	store.ended(t, second, answered(intent.Applied))
	for _, extra := range [][]string{nil, {"--detach"}, {"-o", "json"}} {
		args := append([]string{"execute", "payments.capture", "--key", "order-2", "--principal", "ada", "--database-url", store.url}, extra...)
		r := command(t, args...)
		if r.status != 0 || strings.Count(r.stdout, first.ID().String()) != 1 || !strings.Contains(r.stderr, "warning: this may repeat intent "+first.ID().String()) {
			t.Errorf("%v: status %d, %s\n%s", extra, r.status, r.stderr, r.stdout)
		}
	}
	r := command(t, "execute", "payments.capture", "--key", "order-1", "--principal", "ada", "--database-url", store.url)
	if r.stderr != "" || strings.Contains(r.stdout, "may repeat") {
		t.Errorf("the first one: %s\n%s", r.stderr, r.stdout)
	}
}

func TestWhatBecomesOfRepeatsIsSaidInWords(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]tools.Spec{
		"": {},
		"requests without a key that repeat one of the last 10m0s are flagged":                           {SideEffectful: true},
		"requests without a key that repeat one of the last 1h0m0s are refused":                          {SideEffectful: true, Duplicates: tools.DuplicateGuard{Window: time.Hour, Action: intent.RefuseDuplicates}},
		"requests without a key that repeat one of the last 10m0s are held until somebody confirms them": {SideEffectful: true, Duplicates: tools.DuplicateGuard{Action: intent.ConfirmDuplicates}},
		"run like any other: the tool looks for none":                                                    {SideEffectful: true, Duplicates: tools.DuplicateGuard{Window: tools.NoGuard}},
	} {
		if got := guardText(spec.Publish().Behaviour); got != want {
			t.Errorf("%+v: %q, want %q", spec.Duplicates, got, want)
		}
	}
}

func TestAConfirmationSaysHowManyAreMissing(t *testing.T) {
	t.Parallel()
	for confirmed, want := range map[int]string{1: "goes on when 2 more people have", 2: "goes on when 1 more person has"} {
		got := confirmedText(writ.Intent{State: intent.AwaitingConfirmation, Approvers: 3, Confirmed: confirmed})
		if !strings.HasSuffix(got, want) {
			t.Errorf("%d of 3: %q; want %q", confirmed, got, want)
		}
	}
}
