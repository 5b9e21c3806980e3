package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

func TestMigrationsGoUpAreListedAndComeDown(t *testing.T) {
	t.Parallel()
	url := newOutbox(t).url // migrated up
	migrate := func(args ...string) (list []outbox.Migration) {
		t.Helper()
		r := command(t, append([]string{"migrate", "-o", "json", "--database-url", url}, args...)...)
		if r.status != 0 {
			t.Fatalf("%v: status %d, %s", args, r.status, r.stderr)
		}
		r.document(t, &list)
		if list == nil {
			t.Fatalf("%v: an empty list must be [] and was %s", args, r.stdout)
		}
		return list
	}
	all := migrate("status")
	if len(all) == 0 {
		t.Fatal("there are no migrations")
	}
	for _, m := range all {
		if !m.Applied || m.AppliedAt.IsZero() {
			t.Errorf("after up: %+v", m)
		}
	}
	if again := migrate("up"); len(again) != 0 {
		t.Errorf("a second up applied %+v", again)
	}
	if r := command(t, "migrate", "up", "--database-url", url); r.stdout != "the schema is up to date\n" {
		t.Errorf("text: %q", r.stdout)
	}
	for range all {
		if down := migrate("down"); len(down) != 1 || down[0].Applied {
			t.Errorf("down: %+v", down)
		}
	}
	for _, m := range migrate("status") {
		if m.Applied {
			t.Errorf("after down: %+v", m)
		}
	}
	if r := command(t, "migrate", "status", "--database-url", url); !strings.HasPrefix(r.stdout, "not applied  00001_") {
		t.Errorf("text: %q", r.stdout)
	}
	if missing := migrate("up"); len(missing) != len(all) {
		t.Errorf("up again: %+v", missing)
	}
}

func TestDownRefusesToDestroyRecordsUnlessItIsTold(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.ended(t, proposal("order-1", "ada"), answered(intent.Applied))
	down := func(args ...string) ran {
		return command(t, append([]string{"migrate", "down", "-o", "json", "--database-url", store.url}, args...)...)
	}
	r := down()
	var f failure
	r.document(t, &f)
	if r.status != 3 || f.Error.Code != "records_exist" || !strings.Contains(f.Error.Message, "--discard-records") {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	if r := command(t, "intent", "get", proposal("order-1", "ada").ID().String(), "--database-url", store.url); r.status != 0 {
		t.Errorf("the intent is gone: %s", r.stderr)
	}
	if r := down("--discard-records"); r.status != 0 {
		t.Errorf("told: status %d, %s", r.status, r.stderr)
	}
}

func TestADatabaseThatCannotBeMigratedExits1(t *testing.T) {
	t.Parallel()
	r := command(t, "migrate", "up", "-o", "json", "--database-url", nowhere)
	var f failure
	r.document(t, &f)
	if r.status != 1 || f.Error.Code != "migration_failed" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	r = command(t, "migrate", "up", "-o", "json", "--database-url", "postgres://[")
	r.document(t, &f)
	if r.status != 2 || f.Error.Code != "invalid_configuration" {
		t.Errorf("a URL that is none: status %d, %+v", r.status, f.Error)
	}
}

func TestASchemaThatIsMissingOrOldIsSaidToBe(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	var all []outbox.Migration
	command(t, "migrate", "status", "-o", "json", "--database-url", store.url).document(t, &all)
	id := intent.IntentID("default", "order-4711").String()
	for i := range all { // the newest first: the schema is slow, then old, and then missing
		command(t, "migrate", "down", "--database-url", store.url)
		name := all[len(all)-1-i].Name
		if strings.Contains(name, "_checked") || strings.Contains(name, "_index") || strings.Contains(name, "_decides") || strings.Contains(name, "_decided_again") {
			continue // only checks, indexes, what guards let through, and columns of decisions are gone
		}
		asking := []string{"intent", "get", id}
		if strings.Contains(name, "_budgets") {
			asking = []string{"budget", "list"}
		}
		if strings.Contains(name, "_policies") {
			asking = []string{"policy", "list"}
		}
		if strings.Contains(name, "_consents") {
			asking = []string{"consent", "list"}
		}
		if strings.Contains(name, "_progress") { // which only recovery reads
			asking = []string{"recover", "--once", "--temporal-address", noTemporal}
		}
		r := command(t, append(asking, "-o", "json", "--database-url", store.url)...)
		var f failure
		r.document(t, &f)
		if r.status != 1 || f.Error.Code != "migration_required" || !strings.Contains(f.Error.Message, "writ migrate up") {
			t.Errorf("status %d, %+v", r.status, f.Error)
		}
	}
}

func TestToolsAreListedAndShownAsTheyWerePublished(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	if r := command(t, "tools", "list", "--database-url", store.url); r.status != 0 || !strings.Contains(r.stdout, "writ worker") {
		t.Errorf("an empty list does not say what to do: %q", r.stdout)
	}
	var list []writ.Tool
	command(t, "tools", "list", "-o", "json", "--database-url", store.url).document(t, &list)
	if list == nil {
		t.Error("an empty list must be []")
	}
	store.publish(t, tools.Spec{Name: "payments.capture", Description: "Captures\x1b[2J a payment.", SideEffectful: true, Idempotent: true,
		Provider: "sandbox", Retryable: true, Timeout: 10 * time.Second,
		InputSchema: json.RawMessage(`{"required": ["amount"], "properties": {"amount": {"pattern": "^<[0-9]+>$"}}}`)})
	store.publish(t, tools.Spec{Name: "echo"})

	command(t, "tools", "list", "-o", "json", "--database-url", store.url).document(t, &list)
	if len(list) != 2 || list[0].Name != "echo" || list[1].Name != "payments.capture" || list[1].TaskQueue != "q-1" {
		t.Errorf("list: %+v", list)
	}
	text := command(t, "tools", "list", "--database-url", store.url).stdout
	if lines := strings.Split(text, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "NAME") || !strings.HasPrefix(lines[1], "echo") {
		t.Errorf("text:\n%s", text)
	}
	if strings.Contains(text, "\x1b") {
		t.Error("a description steers the terminal")
	}

	var shown writ.Tool
	command(t, "tools", "show", "payments.capture", "-o", "json", "--database-url", store.url).document(t, &shown)
	if shown.Behaviour.KeyWindow != "assumed 2m0s" || shown.Behaviour.TimeoutMS != 10_000 || shown.SpecDigest.IsZero() {
		t.Errorf("shown: %+v", shown)
	}
	text = command(t, "tools", "show", "payments.capture", "--database-url", store.url).stdout
	for _, want := range []string{"assumed 2m0s: the spec does not say", "keyed: sent again with the same idempotency key", "at most 10s", "sandbox",
		`{"properties":{"amount":{"pattern":"^<[0-9]+>$"}},"required":["amount"]}`, "output            anything"} {
		if !strings.Contains(text, want) {
			t.Errorf("text does not say %q:\n%s", want, text)
		}
	}

	r := command(t, "tools", "show", "Echo", "-o", "json", "--database-url", store.url)
	var f failure
	r.document(t, &f)
	if r.status != 2 || f.Error.Code != "unknown_tool" {
		t.Errorf("a look-alike: status %d, %+v", r.status, f.Error)
	}
}

func TestEveryKeyWindowIsSaidInWords(t *testing.T) {
	t.Parallel()
	for window, want := range map[tools.Window]string{
		0:                            "assumed 2m0s: the spec does not say how long the provider remembers a key",
		tools.WindowUnknown:          "unknown: an open outcome is never sent again",
		tools.WindowForever:          "forever: the provider never forgets a key",
		tools.Window(24 * time.Hour): "24h0m0s: the provider remembers a key for that long after its first request",
	} {
		if got := windowText(window.String()); got != want {
			t.Errorf("%v: %q", window, got)
		}
	}
	if got := windowText(""); got != "" {
		t.Errorf("a tool without a key: %q", got)
	}
}

func TestAnIntentIsShownWithItsAttempts(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, answered(intent.NotApplied))
	var v writ.Intent
	command(t, "intent", "get", p.ID().String(), "-o", "json", "--database-url", store.url).document(t, &v)
	if v.ID != p.ID() || v.State != intent.Failed || len(v.Attempts) != 1 || v.Attempts[0].Code != "card_declined" {
		t.Errorf("%+v", v)
	}
	text := command(t, "intent", "get", p.ID().String(), "--database-url", store.url).stdout
	for _, want := range []string{"failed", "did not happen", "order-1", "attempt 1", "by w-1; not_applied", "card_declined", string(p.IdempotencyKey)} {
		if !strings.Contains(text, want) {
			t.Errorf("text does not say %q:\n%s", want, text)
		}
	}
}

func TestTheReceiptIsTheStoredBytesAndALineBreak(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order <1> & \"co\"", "ada")
	stored := store.ended(t, p, answered(intent.Applied))
	r := command(t, "receipt", "get", p.ID().String(), "-o", "json", "--database-url", store.url)
	if r.status != 0 || r.stdout != string(stored)+"\n" {
		t.Errorf("status %d\n%s\nis not\n%s", r.status, r.stdout, stored)
	}
	text := command(t, "receipt", "get", p.ID().String(), "--database-url", store.url).stdout
	for _, want := range []string{"completed", "applied", string(p.RequestKey), "attempt 1", p.ID().String()} {
		if !strings.Contains(text, want) {
			t.Errorf("text does not say %q:\n%s", want, text)
		}
	}
}

func TestWhatIsNotThereExits2(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, parked())
	nobody := intent.IntentID("default", "nobody").String()
	for _, c := range []struct{ line, code string }{
		{"intent get " + nobody, "intent_not_found"},
		{"intent get order-1", "invalid_intent_id"},
		{"receipt get " + nobody, "receipt_not_found"},
		{"receipt get " + p.ID().String(), "receipt_not_found"},
		{"receipt get " + strings.ToUpper(nobody), "invalid_intent_id"},
	} {
		r := command(t, append(strings.Fields(c.line), "-o", "json", "--database-url", store.url)...)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != c.code {
			t.Errorf("%s: status %d, %+v", c.line, r.status, f.Error)
		}
	}
}
