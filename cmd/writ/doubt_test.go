package main

import (
	"strings"
	"testing"
	"time"

	"writ"
	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

// contradicted writes an intent that was resolved as not applied and whose effect has shown
// itself since, and returns its id.
func (r records) contradicted(t *testing.T, key intent.RequestKey) intent.ID {
	t.Helper()
	id := r.doubtful(t, key)
	row, err := r.Resolve(t.Context(), id, outbox.Resolution{Kind: intent.ResolveNotApplied}, outbox.Decider{Principal: "bob", Note: "no"}, activities.Seal)
	if err != nil {
		t.Fatal(err)
	}
	late := outbox.Evidence{Attempt: 1, Token: row.Attempts[0].Token, Outcome: intent.Applied}
	if row, err = r.RecordEvidence(t.Context(), id, late, true, activities.Seal); err != nil || row.Alert == "" {
		t.Fatalf("alert %q, %v", row.Alert, err)
	}
	return id
}

func TestTheInboxSaysWhatIsAtStakeWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	if r := command(t, "doubt", "--database-url", store.url); r.status != 0 || r.stdout != "nothing is in doubt\n" {
		t.Errorf("an empty inbox: status %d, %q", r.status, r.stdout)
	}
	store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, Provider: "bank",
		Stake: tools.Stake{Amount: "/amount", Currency: "/currency"}})
	p := proposal("order-1", "ada")
	p.Payload = []byte(`{"amount":"12.90","currency":"EUR"}`)
	p.Rules = tools.Spec{Name: p.Tool, SideEffectful: true, Idempotent: true, Provider: "bank", Key: tools.KeyContract{Remembers: tools.WindowUnknown}}.Rules()
	store.ended(t, p, parked())
	r := command(t, "doubt", "--database-url", store.url)
	for _, want := range []string{"12.90 EUR", "key_window_unknown", "attempt 1: unknown, connection_lost", p.ID().String(),
		"ask bank for idempotency key " + string(p.IdempotencyKey) + ", then writ resolve"} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d, %q is not in\n%s", r.status, want, r.stdout)
		}
	}
	var page writ.DoubtPage
	command(t, "doubt", "-o", "json", "--database-url", store.url).document(t, &page)
	if len(page.Doubts) != 1 || page.Doubts[0].Stake.Amount != "12.90" || page.Doubts[0].Intent.Attempts[0].Code != "connection_lost" || page.Doubts[0].CanInquire {
		t.Errorf("%+v", page)
	}
}

func TestTheInboxIsPagedOldestFirst(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	first, second := store.doubtful(t, "order-1"), store.doubtful(t, "order-2")
	r := command(t, "doubt", "--limit", "1", "--database-url", store.url)
	if !strings.Contains(r.stdout, first.String()) || strings.Contains(r.stdout, second.String()) {
		t.Fatalf("the first page:\n%s", r.stdout)
	}
	_, next, ok := strings.Cut(strings.TrimSpace(r.stderr), "the next page: writ ")
	if !ok {
		t.Fatalf("standard error: %s", r.stderr)
	}
	r = command(t, append(strings.Fields(next), "--database-url", store.url)...)
	if !strings.Contains(r.stdout, second.String()) || strings.Contains(r.stdout, first.String()) || r.stderr != "" {
		t.Errorf("the second page:\n%s%s", r.stdout, r.stderr)
	}
}

func TestAnAlertIsShownUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id := store.contradicted(t, "order-1").String()
	for _, args := range [][]string{{"doubt"}, {"intent", "get", id}} {
		if r := command(t, append(args, "--database-url", store.url)...); !strings.Contains(r.stdout, "applied_after_all") || !strings.Contains(r.stdout, "writ doubt") {
			t.Errorf("%v:\n%s", args, r.stdout)
		}
	}
	r := store.writ(t, "doubt", "acknowledge", id, "--principal", "eve", "--note", "paid back")
	if r.status != 0 || !strings.Contains(r.stdout, "acknowledge") || !strings.Contains(r.stdout, ": paid back") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	if r := command(t, "doubt", "--database-url", store.url); r.stdout != "nothing is in doubt\n" {
		t.Errorf("the inbox still holds\n%s", r.stdout)
	}
	var f failure
	r = store.writ(t, "doubt", "acknowledge", id, "-o", "json")
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "no_alert" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
}

func TestAnEmptyInboxSaysOfWhatAndThatAToolIsUnknown(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true})
	for line, says := range map[string]string{
		"doubt --tool payments.captrue":          "nothing is in doubt of tool payments.captrue\n",
		"doubt --tool payments.captrue --lookup": "nothing is in doubt of tool payments.captrue that a provider can be asked about\n",
		"doubt --tool payments.capture":          "nothing is in doubt of tool payments.capture\n",
		"doubt --tenant typo":                    "nothing is in doubt for tenant typo\n",
	} {
		r := store.writ(t, strings.Fields(line)...)
		if r.status != 0 || r.stdout != says {
			t.Errorf("%s: status %d, %q", line, r.status, r.stdout)
		}
		unknown := strings.Contains(line, "captrue")
		if warned := strings.Contains(r.stderr, "no worker has published a tool payments.captrue"); warned != unknown {
			t.Errorf("%s: standard error %q", line, r.stderr)
		}
	}
}

func TestALookupIsAskedForAndItsAnswerNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	if r := store.writ(t, "doubt", "--lookup"); r.status != 0 || !strings.Contains(r.stdout, "nothing is in doubt that a provider can be asked about") {
		t.Errorf("status %d, %q", r.status, r.stdout)
	}
	store.doubtful(t, "order-1") // cannot be looked up
	p := proposal("order-2", "ada")
	p.Rules = tools.Spec{Name: p.Tool, SideEffectful: true, Reconcilable: true}.Rules()
	store.ended(t, p, parked())
	r := store.writ(t, "doubt", "--lookup", "--timeout", "700ms", "-o", "json")
	var d inquiredDocument
	r.document(t, &d)
	if r.status != 0 || len(d.Asked) != 1 || d.Asked[0].IntentID != p.ID() || d.Asked[0].Lookup != nil || d.Asked[0].State != intent.InDoubt {
		t.Errorf("status %d, %+v %s", r.status, d, r.stderr)
	}
}

func TestAnAgeIsShownByItsTwoLargestUnits(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1s", 90 * time.Second: "1m30s", 61 * time.Minute: "1h1m", 24 * time.Hour: "1d0h", 75 * time.Hour: "3d3h",
	} {
		if got := ageText(age.Milliseconds()); got != want {
			t.Errorf("%s: %s, want %s", age, got, want)
		}
	}
}
