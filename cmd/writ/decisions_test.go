package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"writ"
	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// told is what somebody is told who decides; the code is empty if the decision is taken.
type told struct {
	code    intent.Code
	message string
	status  int // of the command; the library has none
}

// door is a way to decide.
type door func(t *testing.T, r records, id intent.ID, verb string, by writ.Decider, shown intent.DigestPrefix) told

func throughTheCommandLine(t *testing.T, r records, id intent.ID, verb string, by writ.Decider, shown intent.DigestPrefix) told {
	args := []string{verb, id.String(), "--principal", by.Principal, "-o", "json"}
	for _, name := range by.OnBehalfOf {
		args = append(args, "--on-behalf-of", name)
	}
	if shown != "" {
		args = append(args, "--commitment", string(shown))
	}
	got := r.writ(t, args...)
	var f failure
	got.document(t, &f)
	return told{intent.Code(f.Error.Code), f.Error.Message, got.status}
}

func throughTheLibrary(t *testing.T, r records, id intent.ID, verb string, by writ.Decider, shown intent.DigestPrefix) told {
	c, err := writ.Dial(t.Context(), writ.Config{
		DatabaseURL: r.url, Temporal: client.Options{HostPort: noTemporal}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if verb == "deny" {
		_, err = c.Deny(t.Context(), id, by)
	} else {
		_, err = c.ConfirmShown(t.Context(), id, shown, by)
	}
	var e *writ.Error
	if errors.As(err, &e) {
		return told{code: e.Code, message: e.Message}
	}
	return told{}
}

// at stops the clock of the outbox.
func (r records) at(t *testing.T, now time.Time) {
	t.Helper()
	r.exec(t, `CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '`+now.Format(time.RFC3339Nano)+`' $$`)
}

func (r records) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := r.pool.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Who decides in the table below. The intent was asked for by agent-7, who acts for ada.
var (
	eve    = outbox.Decider{Principal: "eve"}
	denial = func(t *testing.T, r records, row outbox.Row) {
		t.Helper()
		refusal, err := activities.Denial(row, eve)
		if err == nil {
			_, err = r.Deny(t.Context(), refusal, eve, activities.Seal)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	confirmation = func(t *testing.T, r records, row outbox.Row) {
		t.Helper()
		if _, err := r.Confirm(t.Context(), row.ID, eve); err != nil {
			t.Fatal(err)
		}
	}
	fromTheEnd = func(d time.Duration) func(*testing.T, records, outbox.Row) {
		return func(t *testing.T, r records, row outbox.Row) { t.Helper(); r.at(t, row.ConfirmBy.Add(d)) }
	}
)

// Each that is not taken has its own answer, and records nothing.
var decisions = map[string]struct {
	// approvers is how many must confirm the intent; 0 is 1. before happens to it first.
	approvers int
	before    func(t *testing.T, r records, row outbox.Row)
	verb      string       // default: confirm
	by        writ.Decider // default: bob
	shown     intent.DigestPrefix
	// of is the intent that is named, if it is not that one.
	of     func(row outbox.Row) intent.ID
	code   intent.Code
	status int
	says   string
	// recorded is how many decisions stand then, and sealed whether there is a receipt.
	recorded int
	sealed   bool
}{
	"confirm":                          {recorded: 1},
	"deny":                             {verb: "deny", recorded: 1, sealed: true},
	"deny, by who asked":               {verb: "deny", by: writ.Decider{Principal: "agent-7"}, recorded: 1, sealed: true},
	"confirm after deny":               {before: denial, code: intent.CodeNotAwaiting, status: 7, says: "eve denied it", recorded: 1, sealed: true},
	"deny after deny":                  {before: denial, verb: "deny", code: intent.CodeNotAwaiting, status: 7, says: "eve denied it", recorded: 1, sealed: true},
	"deny after confirm":               {before: confirmation, verb: "deny", code: intent.CodeNotAwaiting, status: 7, says: "eve confirmed it", recorded: 1},
	"confirm after confirm":            {before: confirmation, code: intent.CodeNotAwaiting, status: 7, says: "eve confirmed it", recorded: 1},
	"one of two":                       {approvers: 2, recorded: 1},
	"the second of two":                {approvers: 2, before: confirmation, recorded: 2},
	"deny after one of two":            {approvers: 2, before: confirmation, verb: "deny", recorded: 2, sealed: true},
	"twice by one of two":              {approvers: 2, before: confirmation, by: writ.Decider{Principal: "eve"}, code: intent.CodeAlreadyConfirmed, status: 7, says: "1 of 2", recorded: 1},
	"a millisecond before the end":     {approvers: 2, before: fromTheEnd(-time.Millisecond), recorded: 1},
	"at the end":                       {before: fromTheEnd(0), code: intent.CodeConfirmationExpired, status: 3, says: "had to be confirmed by"},
	"a millisecond after the end":      {before: fromTheEnd(time.Millisecond), code: intent.CodeConfirmationExpired, status: 3, says: "had to be confirmed by"},
	"deny a millisecond after the end": {before: fromTheEnd(time.Millisecond), verb: "deny", code: intent.CodeConfirmationExpired, status: 3, says: "had to be confirmed by"},
	"something else was shown":         {shown: intent.Short(intent.Digest{7}), code: intent.CodeCommitmentChanged, status: 7, says: "0700000000000000"},
	"the payload was changed by hand": {before: func(t *testing.T, r records, row outbox.Row) {
		r.exec(t, `ALTER TABLE intents DISABLE TRIGGER ALL`)
		r.exec(t, `UPDATE intents SET payload = '{"amount":"9999.00"}' WHERE id = '`+row.ID.String()+`'`)
		r.exec(t, `ALTER TABLE intents ENABLE TRIGGER ALL`)
	}, code: intent.CodeIntentAltered, status: 3, says: "somebody changed"},
	"by who asked":             {by: writ.Decider{Principal: "agent-7"}, code: intent.CodeSelfConfirmation, status: 3, says: "agent-7 asked for"},
	"by an agent of who asked": {by: writ.Decider{Principal: "agent-8", OnBehalfOf: []string{"agent-7"}}, code: intent.CodeSelfConfirmation, status: 3, says: "acts for agent-7"},
	"by whom it acts for":      {by: writ.Decider{Principal: "ada"}, code: intent.CodeSelfConfirmation, status: 3, says: "agent-7 acted for"},
	"by another agent of hers": {by: writ.Decider{Principal: "agent-8", OnBehalfOf: []string{"ada"}}, code: intent.CodeSelfConfirmation, status: 3, says: "acts for ada"},
	"by Writ itself":           {by: writ.Decider{Principal: "writ:breaker"}, code: intent.CodeSystemPrincipal, status: 3, says: "writ:"},
	"the same key in another tenant": {of: func(row outbox.Row) intent.ID { return intent.IntentID("globex", row.RequestKey) },
		code: intent.CodeIntentNotFound, status: 2, says: "no intent"},
	"one that does not wait": {of: func(outbox.Row) intent.ID { return intent.IntentID("default", "plain") },
		code: intent.CodeNotAwaiting, status: 7, says: "is recorded"},
	"one that has ended": {of: func(outbox.Row) intent.ID { return intent.IntentID("default", "ended") },
		code: intent.CodeNotAwaiting, status: 7, says: "is completed"},
}

func TestEveryDecisionHasItsOwnAnswerThroughEachDoor(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]door{"command line": throughTheCommandLine, "library": throughTheLibrary} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newOutbox(t)
			r.ended(t, proposal("ended", "ada"), answered(intent.Applied))
			plain := proposal("plain", "ada")
			plain.Decision = []byte(`{"allow":true}`)
			if _, err := r.Insert(t.Context(), plain.Bound()); err != nil {
				t.Fatal(err)
			}
			for what, c := range decisions {
				r.at(t, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
				p := proposal(intent.RequestKey(what), "agent-7")
				p.EffectContext = intent.EffectContext{Principal: "agent-7", Tenant: "default", OnBehalfOf: []string{"ada"}}.Canonical()
				p.Decision, p.ConfirmWithin, p.Approvers = []byte(`{"allow":true,"confirm":true}`), 24*time.Hour, c.approvers
				row, err := r.Insert(t.Context(), p.Bound())
				if err != nil {
					t.Fatal(err)
				}
				if c.before != nil {
					c.before(t, r, row)
				}
				id := row.ID
				if c.of != nil {
					id = c.of(row)
				}
				verb, by := "confirm", writ.Decider{Principal: "bob"}
				if c.verb != "" {
					verb = c.verb
				}
				if c.by.Principal != "" {
					by = c.by
				}
				got := decide(t, r, id, verb, by, c.shown)
				if got.code != c.code || !strings.Contains(got.message, c.says) || name == "command line" && got.status != c.status {
					t.Errorf("%s: status %d, %s: %s; want %d, %s that says %q", what, got.status, got.code, got.message, c.status, c.code, c.says)
				}
				r.stands(t, what, row.ID, c.recorded, c.sealed)
			}
		})
	}
}

// stands fails unless so many decisions stand on the intent, and in its receipt if it has one.
func (r records) stands(t *testing.T, what string, id intent.ID, recorded int, sealed bool) {
	t.Helper()
	list, err := r.Decisions(t.Context(), id)
	if err != nil || len(list) != recorded {
		t.Errorf("%s: %+v are recorded, %v", what, list, err)
	}
	var inReceipts, receipts int
	const query = `
		SELECT count(*), coalesce(sum(jsonb_array_length(convert_from(body, 'UTF8')::jsonb -> 'decisions')), 0) FROM receipts WHERE intent_id = $1`
	if err := r.pool.QueryRow(context.WithoutCancel(t.Context()), query, id[:]).Scan(&receipts, &inReceipts); err != nil {
		t.Fatal(err)
	}
	if sealed && (receipts != 1 || inReceipts != recorded) || !sealed && receipts != 0 {
		t.Errorf("%s: %d receipts with %d decisions", what, receipts, inReceipts)
	}
}

func TestWhoeverDecidesWithoutANameIsNobody(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("default", "nobody")
	if got := throughTheLibrary(t, records{url: nowhere}, id, "confirm", writ.Decider{}, ""); got.code != intent.CodeUnauthenticated {
		t.Errorf("%+v", got)
	}
	if got := throughTheCommandLine(t, records{url: nowhere}, id, "confirm", writ.Decider{}, ""); got.code != intent.CodeInvalidName || got.status != 2 {
		t.Errorf("%+v", got)
	}
}
