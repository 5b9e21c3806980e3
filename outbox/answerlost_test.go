package outbox_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// write is one that may be repeated when nobody knows whether it was committed.
type write struct {
	// prepare returns the call, which names everything that makes it the same call again.
	prepare func(t *testing.T, b bundle, key string) func(on bundle) error
	// told is the code that the call is answered with if it was committed before: whoever asks
	// again is told what has been decided, and by whom. Empty: it gives the same result.
	told intent.Code
}

// onRow prepares a write about a row.
func onRow(row func(t *testing.T, b bundle, key string) outbox.Row, call func(t *testing.T, on bundle, row outbox.Row) error) func(*testing.T, bundle, string) func(bundle) error {
	return func(t *testing.T, b bundle, key string) func(bundle) error {
		prepared := row(t, b, key)
		return func(on bundle) error { return call(t, on, prepared) }
	}
}

func inState(state intent.State) func(*testing.T, bundle, string) outbox.Row {
	return func(t *testing.T, b bundle, key string) outbox.Row { return b.in(t, state, key) }
}

func parked(rules intent.Rules) func(*testing.T, bundle, string) outbox.Row {
	return func(t *testing.T, b bundle, key string) outbox.Row {
		row, _ := b.parkedIn(t, key, rules)
		return row
	}
}

func proposed(rules intent.Rules) func(*testing.T, bundle, string) outbox.Row {
	return func(t *testing.T, b bundle, key string) outbox.Row { return b.insert(t, propose(key, rules)) }
}

// operated prepares a decision of an operator about a row.
func operated(kind intent.DecisionKind, row func(*testing.T, bundle, string) outbox.Row) func(*testing.T, bundle, string) func(bundle) error {
	return onRow(row, func(t *testing.T, on bundle, row outbox.Row) error {
		_, err := on.decisionsOf(t)[kind](row.ID)
		return err
	})
}

// writes are the guarded writes of the outbox, but for those of transactional tools, whose COMMIT
// has tests of its own.
func writes() map[string]write {
	asked := reconcilable()
	asked.MaxLookups = 1
	once := keyed()
	once.MaxAttempts = 1
	return map[string]write{
		"insert": {prepare: func(t *testing.T, _ bundle, key string) func(bundle) error {
			return func(on bundle) error { _, err := on.Insert(t.Context(), propose(key, keyed())); return err }
		}},
		"insert with a large payload": {prepare: func(t *testing.T, _ bundle, key string) func(bundle) error {
			p := propose(key, keyed())
			p.Payload = fmt.Appendf(nil, `{"note":"%s"}`, bytes.Repeat([]byte("x"), intent.MaxInline))
			return func(on bundle) error { _, err := on.Insert(t.Context(), p); return err }
		}},
		"insert ended": {prepare: func(t *testing.T, _ bundle, key string) func(bundle) error {
			end := outbox.End{To: intent.Refused, Reason: intent.ReasonRefused}
			return func(on bundle) error {
				_, err := on.InsertEnded(t.Context(), propose(key, keyed()), end, seal)
				return err
			}
		}},
		"claim": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			row := b.insert(t, propose(key, keyed()))
			req := outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-1", SpecDigest: behaviour}
			return func(on bundle) error {
				c, err := on.Claim(t.Context(), req)
				if err == nil && (!c.Granted || c.Attempt.Number != 1 || c.Attempt.Token != req.Token) {
					err = fmt.Errorf("it was not granted: %+v", c)
				}
				return err
			}
		}},
		"evidence": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			rules := keyed()
			rules.Provider = key // which did not answer, once
			c := b.granted(t, b.insert(t, propose(key, rules)))
			return func(on bundle) error {
				_, err := on.RecordEvidence(t.Context(), c.Row.ID, of(c, intent.Unknown, "connection_lost"), false, seal)
				return err
			}
		}},
		"evidence against an end": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			row, c := b.parkedIn(t, key, opaque())
			if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal); err != nil {
				t.Fatal(err)
			}
			return func(on bundle) error {
				_, err := on.RecordEvidence(t.Context(), row.ID, of(c, intent.Applied, ""), true, seal)
				return err
			}
		}},
		"journal": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			c := b.granted(t, b.insert(t, propose(key, keyed())))
			ev := of(c, intent.Applied, "")
			return func(on bundle) error {
				row, err := on.Journal(t.Context(), c.Row.ID, &ev, seal)
				if err == nil && row.State != intent.Completed {
					err = fmt.Errorf("it is %s", row.State)
				}
				return err
			}
		}},
		"journal that parks": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			c := b.granted(t, b.insert(t, propose(key, opaque())))
			ev := of(c, intent.Unknown, "timeout")
			return func(on bundle) error { _, err := on.Journal(t.Context(), c.Row.ID, &ev, seal); return err }
		}},
		"refuse": {prepare: onRow(proposed(keyed()), func(t *testing.T, on bundle, row outbox.Row) error {
			_, err := on.Refuse(t.Context(), denial(row), seal)
			return err
		})},
		"confirm": {told: intent.CodeNotAwaiting, prepare: onRow(inState(intent.AwaitingConfirmation), func(t *testing.T, on bundle, row outbox.Row) error {
			_, err := on.Confirm(t.Context(), row.ID, eve)
			return err
		})},
		"deny": {told: intent.CodeNotAwaiting, prepare: onRow(inState(intent.AwaitingConfirmation), func(t *testing.T, on bundle, row outbox.Row) error {
			_, err := on.Deny(t.Context(), denial(row), eve, seal)
			return err
		})},
		"cancel":                 {prepare: operated(intent.Cancel, proposed(keyed()))},
		"cancel while it runs":   {prepare: operated(intent.Cancel, inState(intent.Invoking))},
		"resolve as applied":     {prepare: operated(intent.ResolveApplied, parked(opaque()))},
		"resolve as not applied": {prepare: operated(intent.ResolveNotApplied, parked(opaque()))},
		"retry":                  {prepare: operated(intent.Retry, parked(once))},
		"inquire":                {prepare: operated(intent.Inquire, unclear)},
		"reissue":                {prepare: operated(intent.Reissue, inState(intent.Failed))},
		"acknowledge an alert":   {told: intent.CodeNoAlert, prepare: operated(intent.Acknowledge, alerted)},
		"revoke": {prepare: onRow(inState(intent.Invoking), func(t *testing.T, on bundle, row outbox.Row) error {
			_, err := on.Revoke(t.Context(), row.ID, row.Version, []byte(`{"allow":false}`))
			return err
		})},
		"renew": {prepare: onRow(spentUnder, func(t *testing.T, on bundle, row outbox.Row) error {
			after, err := on.Renew(t.Context(), renewal(row))
			if err == nil && after.Generation != 2 {
				err = fmt.Errorf("it has generation %d", after.Generation)
			}
			return err
		})},
		"begin a lookup": {prepare: onRow(askable, func(t *testing.T, on bundle, row outbox.Row) error {
			_, err := on.BeginLookup(t.Context(), outbox.LookupRequest{ID: row.ID, Version: row.Version, Token: lookupToken(1), Worker: "worker-1", Rules: asked})
			return err
		})},
		"record a lookup": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			grant := b.beginLookup(t, askable(t, b, key))
			found := outbox.Found{Token: lookupToken(grant.Number), Finding: intent.Unclear, Code: "http_503"}
			return func(on bundle) error { _, err := on.RecordLookup(t.Context(), grant.Row.ID, found, seal); return err }
		}},
		"insert under a budget": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			p := b.budgeted(t, key, outbox.OverDeny)
			return func(on bundle) error { _, err := on.Insert(t.Context(), p); return err }
		}},
		"insert what waits for a budget": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			p := b.budgeted(t, key, outbox.OverWait)
			b.insert(t, tooled(key+"-first", key))
			return func(on bundle) error { _, err := on.Insert(t.Context(), p); return err }
		}},
		"cancel what a budget has counted": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			row := b.insert(t, b.budgeted(t, key, outbox.OverDeny))
			return func(on bundle) error { _, err := on.Cancel(t.Context(), row.ID, eve, seal); return err }
		}},
		"admit what waits for a budget": {prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			p := b.budgeted(t, key, outbox.OverWait)
			first := b.insert(t, tooled(key+"-first", key))
			b.waits(t, p)
			if _, err := b.Cancel(t.Context(), first.ID, eve, seal); err != nil {
				t.Fatal(err)
			}
			return func(on bundle) error { _, err := on.AdmitWaiting(t.Context()); return err }
		}},
		"set a hold": {prepare: func(t *testing.T, _ bundle, key string) func(bundle) error {
			return func(on bundle) error {
				_, err := on.SetHold(t.Context(), outbox.Subject{Scope: outbox.HoldTool, Name: key}, eve)
				return err
			}
		}},
		"lift a hold": {told: intent.CodeHoldNotFound, prepare: func(t *testing.T, b bundle, key string) func(bundle) error {
			hold := b.setHold(t, outbox.Subject{Scope: outbox.HoldTool, Name: key})
			return func(on bundle) error { _, err := on.LiftHold(t.Context(), hold.ID, eve); return err }
		}},
	}
}

// tooled is a proposal of a tool that has the name.
func tooled(key, tool string) outbox.Proposal {
	p := propose(key, keyed())
	p.Tool = tool
	return p
}

// budgeted sets a budget of one open intent for a tool that has the name of the key, and returns a
// proposal of it.
func (b bundle) budgeted(t *testing.T, key string, over outbox.BudgetOver) outbox.Proposal {
	t.Helper()
	on := outbox.BudgetSubject{Tenant: "acme", Tool: key, Kind: outbox.BudgetConcurrency}
	if _, err := b.SetBudget(t.Context(), on, "1", over, eve); err != nil {
		t.Fatal(err)
	}
	return tooled(key, key)
}

// alerted returns an intent that was said not to have happened, and did.
func alerted(t *testing.T, b bundle, key string) outbox.Row {
	t.Helper()
	row, c := b.parkedIn(t, key, opaque())
	if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal); err != nil {
		t.Fatal(err)
	}
	return b.evidence(t, row, of(c, intent.Applied, ""))
}

// spentUnder is spent with the key.
func spentUnder(t *testing.T, b bundle, key string) outbox.Row {
	t.Helper()
	c := b.granted(t, b.insert(t, propose(key, keyed())))
	b.evidence(t, c.Row, of(c, intent.NotApplied, "http_429"))
	b.setClock(t, noon.Add(48*time.Hour))
	return b.load(t, c.Row.ID)
}

// askable returns an intent whose provider is to be asked, once.
func askable(t *testing.T, b bundle, key string) outbox.Row {
	t.Helper()
	rules := reconcilable()
	rules.MaxLookups = 1
	c := b.granted(t, b.insert(t, propose(key, rules)))
	b.evidence(t, c.Row, of(c, intent.Unknown, "connection_lost"))
	b.setClock(t, noon.Add(time.Hour))
	return b.load(t, c.Row.ID)
}

// unclear returns an intent in doubt whose provider did not say.
func unclear(t *testing.T, b bundle, key string) outbox.Row {
	t.Helper()
	grant := b.beginLookup(t, askable(t, b, key))
	row := b.recordLookup(t, grant.Row, outbox.Found{Token: lookupToken(grant.Number), Finding: intent.Unclear, Code: "http_503"})
	return b.journal(t, row, nil)
}

// books is everything that a write may have left under the key, whose name a hold and a provider
// may have too.
func (b bundle) books(t *testing.T, key string) string {
	t.Helper()
	id := intent.IntentID("acme", intent.RequestKey(key))
	return query[string](t, b, `
		SELECT concat_ws('; ',
			(SELECT concat_ws(' ', state, version, generation, due_at, ended_at, alert, revoked_at) FROM intents WHERE id = $1),
			(SELECT string_agg(concat_ws(' ', number, generation, outcome, code), ', ' ORDER BY number) FROM attempts WHERE intent_id = $1),
			(SELECT string_agg(concat_ws(' ', number, generation, finding, code), ', ' ORDER BY number) FROM lookups WHERE intent_id = $1),
			(SELECT string_agg(concat_ws(' ', number, kind, principal), ', ' ORDER BY number) FROM decisions WHERE intent_id = $1),
			(SELECT string_agg(concat_ws(' ', generation, number, convert_from(body, 'UTF8')), ', ' ORDER BY generation, number) FROM receipts WHERE intent_id = $1),
			(SELECT count(*) || ' blobs' FROM blobs WHERE intent_id = $1),
			(SELECT string_agg(concat_ws(' ', scope, set_at, lifted_at, lifted_by), ', ' ORDER BY set_at) FROM holds WHERE name = $2),
			(SELECT concat_ws(' ', failures, since) FROM breakers WHERE provider = $2),
			(SELECT used || ' used' FROM budgets JOIN budget_counters ON budget_id = id WHERE tool = $2),
			(SELECT count(*) || ' charges, released ' || count(released_at) FROM budget_charges WHERE intent_id = $1),
			(SELECT count(*) || ' waits' FROM budget_waits WHERE intent_id = $1))`, id[:], key)
}

func TestAWriteWhoseCommitIsNotAnsweredIsWrittenOnceWhenItIsRepeated(t *testing.T) {
	t.Parallel()
	for name, w := range writes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			prepare := func(key string) func(bundle) error {
				b.setClock(t, noon)
				return w.prepare(t, b, key)
			}
			call, before := prepare("undisturbed"), b.books(t, "undisturbed")
			if err := call(b); err != nil {
				t.Fatal(err)
			}
			want := b.books(t, "undisturbed")
			if want == before {
				t.Fatalf("it writes nothing: %s", want)
			}
			for key, c := range accidents() {
				call := prepare(key)
				engine, armed := b.over(t)
				armed.Store(&c.accident)
				if err := call(engine); intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
					t.Fatalf("%s: %v", key, err)
				}
				told := intent.Code("")
				if c.committed {
					told = w.told
				}
				if err := call(engine); intent.CodeOf(err) != told || told == "" && err != nil {
					t.Errorf("%s: repeated: %v", key, err)
				}
				if got := b.books(t, key); got != want {
					t.Errorf("%s: the books say\n%s\nwant\n%s", key, got, want)
				}
			}
		})
	}
}
