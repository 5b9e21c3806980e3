package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/receipts"
	"writ/tools"
)

func TestAReceiptIsShownWithWhatWasAddedToIt(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id := store.contradicted(t, "order-1").String()
	if r := store.writ(t, "doubt", "acknowledge", id, "--note", "paid back"); r.status != 0 {
		t.Fatal(r.stderr) // an alert that is dealt with is still in the journal
	}
	r := command(t, "receipt", "get", id, "-o", "json", "--database-url", store.url)
	var document struct {
		receipts.Receipt
		Amendments []receipts.Receipt `json:"amendments"`
	}
	r.document(t, &document)
	if r.status != 0 || document.State != intent.Failed || document.Outcome != intent.NotApplied || document.Number != 0 || len(document.Amendments) != 1 {
		t.Fatalf("status %d, %s", r.status, r.stdout)
	}
	if a := document.Amendments[0]; a.Number != 1 || a.Outcome != intent.Applied || a.Reason != intent.ReasonAppliedAfterAll || a.AmendedAt.IsZero() {
		t.Errorf("%+v", a)
	}
	if stored := store.receipt(t, id); !strings.HasSuffix(r.stdout, ","+string(stored[1:])+"\n") {
		t.Errorf("%s\ndoes not end with the members of\n%s", r.stdout, stored)
	}
	text := command(t, "receipt", "get", id, "--database-url", store.url).stdout
	for _, want := range []string{"amendment 1.1", "applied_after_all, the outcome is applied by now", "amendment 1.1, attempt 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestAReceiptNamesAsWhatAndForWhomSomebodyAskedAndDecided(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "agent-7")
	p.EffectContext = intent.EffectContext{Principal: "agent-7", Tenant: "default", Roles: []string{"support"}, OnBehalfOf: []string{"ada"}}.Canonical()
	p.Decision, p.ConfirmWithin = []byte(`{"allow":true,"confirm":true}`), time.Hour
	row, err := store.Insert(t.Context(), p.Bound())
	if err != nil {
		t.Fatal(err)
	}
	id := row.ID.String()
	if r := command(t, "deny", id, "--principal", "agent-8", "--role", "finance", "--on-behalf-of", "grace",
		"--database-url", store.url, "--temporal-address", noTemporal); r.status != 0 {
		t.Fatal(r.stderr)
	}
	r := command(t, "receipt", "get", id, "--database-url", store.url)
	for _, want := range []string{`(?m)^principal +agent-7$`, `(?m)^roles +support$`, `(?m)^on behalf of +ada$`, `(?m)^deny +by agent-8 for grace as finance at `} {
		if !regexp.MustCompile(want).MatchString(r.stdout) {
			t.Errorf("it does not say %q:\n%s", want, r.stdout)
		}
	}
}

// receipt returns the stored bytes of an intent's receipt.
func (r records) receipt(t *testing.T, id string) []byte {
	t.Helper()
	parsed, err := intent.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := receipts.Get(t.Context(), r.pool, parsed)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestTheReceiptOfAnEarlierGenerationSaysThatTheIntentHasGoneOn(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, answered(intent.NotApplied))
	id := p.ID().String()
	if r := command(t, "receipt", "get", id, "--database-url", store.url); r.stderr != "" || strings.Contains(r.stdout, "issued again") {
		t.Errorf("before:\n%s%s", r.stdout, r.stderr)
	}
	if r := store.writ(t, "reissue", id); r.status != 0 {
		t.Fatal(r.stderr)
	}
	r := command(t, "receipt", "get", id, "--database-url", store.url)
	if r.status != 0 || !strings.Contains(r.stdout, "1; the intent was issued again and is recorded in generation 2") ||
		!strings.Contains(r.stderr, "warning: this receipt is the end of generation 1") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	r = command(t, "receipt", "get", id, "-o", "json", "--database-url", store.url)
	var document struct {
		State  intent.State `json:"state"`
		GoneOn goneOn       `json:"gone_on"`
	}
	r.document(t, &document)
	if want := (goneOn{2, intent.Recorded, intent.NotApplied}); document.State != intent.Failed || document.GoneOn != want {
		t.Errorf("%+v", document)
	}
	if !strings.Contains(r.stderr, "warning: this receipt is the end of generation 1") {
		t.Errorf("standard error: %q", r.stderr)
	}
}

func TestTheReceiptAsTextShowsTheLookupsThatItRestsOn(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	p.Rules = tools.Spec{Name: p.Tool, SideEffectful: true, Reconcilable: true, Lookup: tools.LookupContract{SettleDelay: tools.Immediate}}.Rules()
	row := store.asked(t, p, outbox.Found{Finding: intent.Found, EffectID: "tr_1", Effects: 2})
	if _, err := store.Journal(t.Context(), row.ID, nil, activities.Seal); err != nil {
		t.Fatal(err)
	}
	text := command(t, "receipt", "get", p.ID().String(), "--database-url", store.url).stdout
	for _, want := range []string{"attempt 1", "unknown", "lookup 1", "found, tr_1, 2 effects"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestAnEffectThatWasThereAlreadyIsNotSaidToBeTheIntents(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	first, later := proposal("order-1", "ada"), proposal("order-2", "ada")
	store.refusedAsThere(t, store.allowed(t, first))
	r := command(t, "intent", "watch", first.ID().String(), "--database-url", store.url)
	if r.status != 4 || !strings.Contains(r.stdout, "did not happen by this intent: it was there already") ||
		!strings.Contains(r.stderr, "to ask again can only say the same") || strings.Contains(r.stderr, "new request key") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	later.Rules.InitialBackoff, later.Rules.MaxBackoff = 0, 0
	store.refusedAsThere(t, store.lost(t, later))
	if r = command(t, "intent", "watch", later.ID().String(), "--database-url", store.url); r.status != 0 || !strings.Contains(r.stdout, "was there already when it was sent again") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// refusedAsThere makes the next attempt of an intent, which the provider refuses because the
// effect is there, and ends it by that.
func (r records) refusedAsThere(t *testing.T, row outbox.Row) {
	t.Helper()
	claim, err := r.Claim(t.Context(), outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "w-1", SpecDigest: row.SpecDigest})
	if err != nil || !claim.Granted {
		t.Fatalf("%+v, %v", claim, err)
	}
	there := outbox.Evidence{Attempt: claim.Attempt.Number, Token: claim.Attempt.Token, Outcome: intent.NotApplied, Code: "already_captured", Already: true, Final: true}
	_, err = r.RecordEvidence(t.Context(), row.ID, there, true, activities.Seal)
	if err == nil {
		_, err = r.Journal(t.Context(), row.ID, nil, activities.Seal)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// asked writes an intent whose first attempt left its effect open, and what a lookup then said.
func (r records) asked(t *testing.T, p outbox.Proposal, says outbox.Found) outbox.Row {
	t.Helper()
	row := r.lost(t, p)
	asking := outbox.LookupRequest{ID: row.ID, Version: row.Version, Token: uuid.New(), Worker: "w-1", Rules: row.Rules}
	if _, err := r.BeginLookup(t.Context(), asking); err != nil {
		t.Fatal(err)
	}
	says.Token = asking.Token
	row, err := r.RecordLookup(t.Context(), row.ID, says, activities.Seal)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// lost writes an intent whose first attempt left its effect open.
func (r records) lost(t *testing.T, p outbox.Proposal) outbox.Row {
	t.Helper()
	row := r.allowed(t, p)
	claim, err := r.Claim(t.Context(), outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "w-1", SpecDigest: p.SpecDigest})
	if err != nil || !claim.Granted {
		t.Fatalf("%+v, %v", claim, err)
	}
	lost := outbox.Evidence{Attempt: 1, Token: claim.Attempt.Token, Outcome: intent.Unknown, Code: "connection_lost"}
	if row, err = r.RecordEvidence(t.Context(), row.ID, lost, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
	return row
}

// allowed writes an intent that may be sent.
func (r records) allowed(t *testing.T, p outbox.Proposal) outbox.Row {
	t.Helper()
	decision, err := policy.Decision{Allow: true, Policy: "allow-registered"}.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	p.Decision = decision
	row, err := r.Insert(t.Context(), p.Bound())
	if err != nil {
		t.Fatal(err)
	}
	return row
}
