package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"writ/tools"
)

// Whoever may write to the tables can put anything there. What cannot be read is said to be so, with a code that
// does not ask to try again, is not confirmed, and hides nothing else.
func TestARowThatWasChangedByHandIsSaidToBeAndNotConfirmed(t *testing.T) {
	t.Parallel()
	const decides = `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, generation, decided_at, attempts, lookups, roles)
		SELECT id, 1, 'acknowledge', 'eve', '', commitment, 1, now(), 0, 0, `
	for name, c := range map[string]struct {
		statement string
		// get, confirm and deny are the codes of the commands; empty: it answers.
		get, confirm, deny string
	}{
		"a decision that is no JSON":       {`UPDATE intents SET decision = '{'`, "", "intent_altered", ""},
		"a decision that is null":          {`UPDATE intents SET decision = 'null'`, "", "intent_altered", ""},
		"a decision that is a list":        {`UPDATE intents SET decision = '[1]'`, "", "intent_altered", ""},
		"a decision of other types":        {`UPDATE intents SET decision = '{"allow":"yes","approvers":"x"}'`, "", "intent_altered", ""},
		"a decision that steers":           {`UPDATE intents SET decision = convert_to(E'{"reason":"\u202e\u001b[2J"}', 'UTF8')`, "", "intent_altered", ""},
		"a digest that is none":            {`UPDATE intents SET decision = '{"allow":true,"confirm":true,"policy":"cedar","policy_digest":"zz"}'`, "", "intent_altered", ""},
		"a context that is no JSON":        {`UPDATE intents SET effect_context = '{'`, "", "database_refused", "database_refused"},
		"a context of other types":         {`UPDATE intents SET effect_context = '{"roles":7}'`, "", "database_refused", "database_refused"},
		"a payload that is no JSON":        {`UPDATE intents SET payload = '{'`, "database_refused", "intent_altered", "database_refused"},
		"rules that are no rules":          {`UPDATE intents SET rules = '[]'`, "database_refused", "database_refused", "database_refused"},
		"a time without an end":            {`UPDATE intents SET confirm_by = 'infinity'`, "database_refused", "database_refused", "database_refused"},
		"a role that is none":              {decides + `'{NULL}' FROM intents`, "database_refused", "database_refused", "database_refused"},
		"a published tool that is no JSON": {`UPDATE tool_specs SET spec = '{'`, "database_refused", "database_refused", "not_awaiting_confirmation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newOutbox(t)
			store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true,
				InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}`)})
			p := proposal("order-1", "ada")
			p.Decision, p.EffectContext, p.ConfirmWithin = []byte(`{"allow":true,"confirm":true,"policy":"x"}`), []byte(`{"principal":"ada","tenant":"default"}`), time.Hour
			row, err := store.Insert(t.Context(), p.Bound())
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{`ALTER TABLE intents DISABLE TRIGGER USER`, c.statement, `ALTER TABLE intents ENABLE TRIGGER USER`} {
				if _, err := store.pool.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			id := row.ID.String()
			for _, asked := range []struct {
				code string
				args []string
			}{{c.get, []string{"intent", "get", id}}, {c.confirm, []string{"confirm", id, "--principal", "eve"}}, {c.deny, []string{"deny", id, "--principal", "eve"}}} {
				var f failure
				r := command(t, append(asked.args, "-o", "json", "--database-url", store.url, "--temporal-address", noTemporal)...)
				r.document(t, &f)
				if f.Error.Code != asked.code || f.Error.TryAgain || strings.ContainsAny(r.stdout, "\x1b\u202e") {
					t.Errorf("%s: status %d, %+v", asked.args[0], r.status, f.Error)
				}
				if text := command(t, "intent", "get", id, "--database-url", store.url); strings.ContainsAny(text.stdout, "\x1b\u202e") {
					t.Errorf("it steers the terminal: %q", text.stdout)
				}
			}
			var sent int
			if err := store.pool.QueryRow(t.Context(), `SELECT count(*) FROM attempts`).Scan(&sent); err != nil || sent != 0 {
				t.Errorf("%d attempts, %v", sent, err)
			}
			if strings.Contains(c.statement, "rules") || strings.Contains(c.statement, "confirm_by") {
				return // what is listed of an intent is in these
			}
			if r := command(t, "intent", "list", "-o", "json", "--database-url", store.url); r.status != 0 || !strings.Contains(r.stdout, id) {
				t.Errorf("list: status %d, %s", r.status, r.stderr)
			}
		})
	}
}
