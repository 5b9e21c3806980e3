package outbox_test

import (
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

var denied = outbox.End{To: intent.Refused, Reason: intent.ReasonRefused}

// refuses inserts a request that the policy refuses.
func (b bundle) refuses(t *testing.T, p outbox.Proposal) outbox.Row {
	t.Helper()
	p.Decision = []byte(`{"allow":false,"code":"gate_error"}`)
	row, err := b.InsertEnded(t.Context(), p.Bound(), denied, seal)
	if err != nil || row.State != intent.Refused {
		t.Fatalf("%s, %v", row.State, err)
	}
	return row
}

func TestARefusedIntentIsDecidedAgainUnderItsKeyAndWithAReceiptForEachDecision(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-4711", opaque())
	refused := b.refuses(t, p)
	b.commits.Take()
	p.Rules, p.SpecDigest, p.TaskQueue = keyed(), intent.SpecDigest([]byte(`{"name":"payments.capture","v":2}`)), "other"
	again := b.insert(t, p.Over(refused))
	if count := b.commits.Take(); count.Flushed != 1 {
		t.Errorf("%+v", count)
	}
	if again.State != intent.Recorded || again.Generation != 2 || again.Version != refused.Version+1 || again.IdempotencyKey != refused.IdempotencyKey ||
		again.Commitment == refused.Commitment || !again.EndedAt.IsZero() || again.DueAt.IsZero() || again.Next().Kind != intent.Invoke {
		t.Fatalf("%+v", again)
	}
	if again.Rules.Class != intent.Keyed || again.SpecDigest != p.SpecDigest || again.TaskQueue != "other" || string(again.Decision) != `{"allow":true}` {
		t.Errorf("it is not decided under the tool of now: %+v", again)
	}
	if stale := b.insert(t, p.Over(refused)); stale.Version != again.Version {
		t.Errorf("the same decision again: version %d after %d", stale.Version, again.Version)
	}
	c, err := b.Claim(t.Context(), outbox.ClaimRequest{ID: again.ID, Version: again.Version, DecidedAt: again.ReadAt, Worker: "worker-1", SpecDigest: p.SpecDigest})
	if err != nil || !c.Granted || c.Attempt.Generation != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	ev := of(c, intent.Applied, "")
	if done := b.journal(t, c.Row, &ev); done.State != intent.Completed {
		t.Errorf("%s", done.State)
	}
	if got := b.receipt(t, refused.ID); got != "refused refused 0  and completed effect_applied 1 application/json, 17 of 17 bytes" {
		t.Errorf("receipts %q", got)
	}
}

func TestARefusalIsFollowedByAnotherOneOrByAWaitForPeople(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	first := b.refuses(t, p)
	p.Decision = []byte(`{"allow":false,"code":"policy_denied"}`)
	second, err := b.InsertEnded(t.Context(), p.Over(first), denied, seal)
	if err != nil || second.State != intent.Refused || second.Generation != 2 || string(second.Decision) != string(p.Decision) || second.EndedAt.IsZero() {
		t.Fatalf("%+v, %v", second, err)
	}
	if stale, err := b.InsertEnded(t.Context(), p.Over(first), denied, seal); err != nil || stale.Version != second.Version {
		t.Errorf("over a refusal that another has followed: %+v, %v", stale, err)
	}
	p.Decision, p.ConfirmWithin, p.Approvers = []byte(`{"allow":true,"approvers":2,"confirm":true}`), time.Hour, 2
	waits := b.insert(t, p.Over(second))
	if waits.State != intent.AwaitingConfirmation || waits.Generation != 3 || waits.ConfirmBy != noon.Add(time.Hour) || waits.DueAt != waits.ConfirmBy || waits.Approvers != 2 {
		t.Fatalf("%+v", waits)
	}
	for _, who := range []string{"ada", "eve"} {
		if waits, err = b.Confirm(t.Context(), waits.ID, outbox.Decider{Principal: who}); err != nil {
			t.Fatal(err)
		}
	}
	if waits.State != intent.Recorded {
		t.Errorf("%s", waits.State)
	}
	if got := b.receipt(t, first.ID); got != "refused refused 0  and refused refused 0 " {
		t.Errorf("receipts %q", got)
	}
}

func TestOfManyDecisionsOnOneRefusalOneStands(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-4711", keyed())
	refused := b.refuses(t, p)
	rows := make([]outbox.Row, 50)
	var all sync.WaitGroup
	for i := range rows {
		all.Go(func() {
			var err error
			if rows[i], err = b.Insert(t.Context(), p.Over(refused)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, row := range rows {
		if row.Generation != 2 || row.Version != refused.Version+1 || row.State != intent.Recorded {
			t.Errorf("generation %d, version %d, %s", row.Generation, row.Version, row.State)
		}
	}
}

func TestEveryOtherEndAndThePeoplesNoStand(t *testing.T) {
	t.Parallel()
	b := start(t)
	ends := map[string]outbox.Row{}
	for _, state := range states {
		if state != intent.Refused {
			ends[string(state)] = b.in(t, state, "is-"+string(state))
		}
	}
	waits := propose("denied", keyed())
	waits.ConfirmWithin = time.Hour
	row := b.insert(t, waits)
	ended, err := b.Deny(t.Context(), denial(row), eve, seal)
	if err != nil || ended.State != intent.Refused {
		t.Fatalf("%+v, %v", ended, err)
	}
	ends["denied"] = ended
	for name, before := range ends {
		p := propose(string(before.RequestKey), keyed())
		after, err := b.Insert(t.Context(), p.Over(before))
		if err != nil || after.Version != before.Version || after.State != before.State {
			t.Errorf("%s: %s at version %d, was %d, %v", name, after.State, after.Version, before.Version, err)
		}
		if refusedAgain, err := b.InsertEnded(t.Context(), p.Over(before), denied, seal); err != nil || refusedAgain.Version != before.Version {
			t.Errorf("%s: refused at version %d, was %d, %v", name, refusedAgain.Version, before.Version, err)
		}
	}
}

// The database lets a refused row into exactly this transition, whoever writes it.
func TestTheDatabaseKeepsARefusalButForANewDecisionOnTheSameRequest(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.refuses(t, propose("order-4711", keyed()))
	const again = `UPDATE intents SET version = version + 1, state = 'recorded', generation = generation + 1, ended_at = NULL, commitment = sha256('again')`
	for name, change := range map[string]string{
		"in the same generation": `UPDATE intents SET version = version + 1, state = 'recorded', ended_at = NULL`,
		"two generations on":     `UPDATE intents SET version = version + 1, state = 'recorded', generation = generation + 2, ended_at = NULL, commitment = sha256('again')`,
		"under another key":      again + `, idempotency_key = gen_random_uuid()::text`,
		"as if it had been sent": again + `, first_sent_at = writ_now()`,
		"for what was refused":   `UPDATE intents SET version = version + 1, state = 'recorded', generation = generation + 1, ended_at = NULL`,
		"unconfirmed":            again + `, confirm_by = writ_now() + interval '1 h'`,
		"as completed":           `UPDATE intents SET version = version + 1, state = 'completed', generation = generation + 1, commitment = sha256('again')`,
		"waiting for ever":       `UPDATE intents SET version = version + 1, state = 'awaiting_confirmation', generation = generation + 1, ended_at = NULL, commitment = sha256('again')`,
		"with another payload":   again + `, payload = '{}'`,
		"for somebody else":      again + `, principal = 'mallory'`,
		"in another context":     again + `, effect_context = '{}'`,
	} {
		if _, err := b.pool.Exec(t.Context(), change); !refused(t, err) {
			t.Errorf("%s: it was accepted", name)
		}
	}
	for name, fact := range map[string]string{
		"denied":    `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, decided_at) SELECT id, 1, 'deny', 'eve', '', commitment, writ_now() FROM intents`,
		"cancelled": `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, decided_at) SELECT id, 1, 'cancel', 'eve', '', commitment, writ_now() FROM intents`,
		"sent": `INSERT INTO attempts (intent_id, number, generation, token, worker, claimed_at, lease_until, send_by)
			SELECT id, 1, 1, gen_random_uuid(), 'w', writ_now(), writ_now(), writ_now() FROM intents`,
	} {
		tx, err := b.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tx.Exec(t.Context(), fact); err != nil {
			t.Fatal(err)
		}
		if _, err = tx.Exec(t.Context(), again); !refused(t, err) {
			t.Errorf("%s: it was accepted", name)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(t, again)
	if now := b.load(t, row.ID); now.Generation != 2 || now.State != intent.Recorded {
		t.Errorf("%+v", now)
	}
}

// What was refused before the database lost commits may have been decided on again, and sent, in them.
func TestARefusalFromBeforeARestoreIsDecidedAgainAsPossiblySent(t *testing.T) {
	t.Parallel()
	const lost, nothing = false, true
	for name, tc := range map[string]struct {
		rules       intent.Rules
		nothingLost bool
		// before and after say whether it was refused before the restore, and after it.
		before, after bool
		want          intent.StepKind
	}{
		"keyed, within the window":        {keyed(), lost, true, false, intent.Invoke},
		"looked up":                       {reconcilable(), lost, true, false, intent.Reconcile},
		"opaque":                          {opaque(), lost, true, false, intent.Park},
		"a read":                          {ofClass(intent.Read), lost, true, false, intent.Invoke},
		"opaque, nothing lost":            {opaque(), nothing, true, false, intent.Invoke},
		"opaque, refused since":           {opaque(), lost, false, true, intent.Invoke},
		"keyed, refused since":            {keyed(), lost, false, true, intent.Invoke},
		"looked up, its row may be lost":  {reconcilable(), lost, false, true, intent.Reconcile},
		"opaque, refused once more since": {opaque(), lost, true, true, intent.Park},
		"keyed, refused once more since":  {keyed(), lost, true, true, intent.Invoke},
		"looked up, refused once more":    {reconcilable(), lost, true, true, intent.Reconcile},
		"looked up, nothing lost":         {reconcilable(), nothing, true, true, intent.Invoke},
		"transactional, it is here":       {ofClass(intent.Transactional), lost, true, false, intent.Invoke},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			p := propose("order-4711", tc.rules)
			var row outbox.Row
			if tc.before {
				row = b.refuses(t, p)
			}
			b.setClock(t, noon.Add(time.Hour))
			b.loseCommits(t)
			if tc.before {
				now := b.load(t, row.ID)
				may, err := now.DecidesAgain()
				if doubt := tc.rules.Class.LeavesDoubt(); doubt != (intent.CodeOf(err) == intent.CodeOutboxRestored) || may == doubt {
					t.Errorf("before somebody said so: %v, %v", may, err)
				}
			}
			b.afterRestore(t, outbox.Restore{NothingLost: tc.nothingLost})
			b.setClock(t, noon.Add(2*time.Hour))
			if tc.after {
				no := p
				if tc.before {
					no = p.Over(row)
				}
				row = b.refuses(t, no)
			}
			again := b.insert(t, p.Over(row))
			if again.Next().Kind != tc.want || again.IdempotencyKey != row.IdempotencyKey {
				t.Fatalf("%s, next %+v, want %s", again.State, again.Next(), tc.want)
			}
			presumed := !tc.nothingLost && tc.rules.Class.LeavesDoubt() && (tc.before || tc.rules.Class == intent.Reconcilable)
			if presumed != (len(again.Attempts) == 1) {
				t.Errorf("%+v", again.Attempts)
			}
			b.setClock(t, noon.Add(48*time.Hour))
			if late := b.load(t, row.ID); presumed && tc.rules.Class == intent.Keyed && late.Next().Kind != intent.Park {
				t.Errorf("when the provider may have forgotten the key: %+v", late.Next())
			}
		})
	}
}

func TestWhatIsDecidedAgainIsCountedAnewAndWhatWasRefusedIsNot(t *testing.T) {
	t.Parallel()
	b := start(t)
	on := outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetIntents, Window: time.Hour}
	b.allow(t, on, "1")
	p := propose("order-4711", keyed())
	row, err := b.Refuse(t.Context(), denial(b.insert(t, p)), seal) // admitted, and refused before it was sent
	if err != nil {
		t.Fatal(err)
	}
	b.uses(t, "0")
	again := b.insert(t, p.Over(row))
	b.uses(t, "1")
	if row, err = b.Refuse(t.Context(), denial(again), seal); err != nil {
		t.Fatal(err)
	}
	b.uses(t, "0")
	b.insert(t, propose("order-4712", keyed()))
	if _, err = b.Insert(t.Context(), p.Over(row)); intent.CodeOf(err) != intent.CodeBudgetExceeded {
		t.Errorf("%v", err)
	}
	b.uses(t, "1")
	if now := b.load(t, row.ID); now.Generation != 2 || now.State != intent.Refused {
		t.Errorf("generation %d, %s", now.Generation, now.State)
	}
}

func TestWhatABudgetRefusedWaitsWhenItIsDecidedAgainUnderOneThatLetsWait(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.allowWaiting(t, atOnce, "1")
	first := b.insert(t, propose("order-4711", keyed()))
	p := propose("order-4712", keyed())
	refused := b.refuses(t, p)
	waiting := b.waits(t, p.Over(refused))
	for range 2 { // a lost answer, and one who saw the refusal as well
		if same := b.waits(t, p.Over(refused)); same.Generation != 2 || same.Version != waiting.Version {
			t.Errorf("generation %d at version %d, waited at %d", same.Generation, same.Version, waiting.Version)
		}
	}
	b.admits(t, []outbox.Row{waiting})
	b.uses(t, "1")
	ended(intent.Applied)(b, t, first)
	b.admits(t, []outbox.Row{waiting}, 0)
	b.uses(t, "1")
	counted := query[string](t, b, `SELECT string_agg(generation || ' ' || amount, ', ') FROM budget_charges WHERE intent_id = '`+waiting.ID.String()+`'`)
	if counted != "2 1" {
		t.Errorf("counted %q", counted)
	}
	ended(intent.Applied)(b, t, b.load(t, waiting.ID))
	b.uses(t, "0")
}

func TestWhatIsDecidedAgainLeavesItsMarkAnew(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	p.Guard = &outbox.Guard{Window: time.Hour, FreshKey: intent.GuardKey{1}}
	row, err := b.Refuse(t.Context(), denial(b.insert(t, p)), seal)
	if err != nil {
		t.Fatal(err)
	}
	other := intent.IntentID("acme", "another")
	action := intent.Action{Tenant: p.Tenant, Principal: p.Principal, Tool: p.Tool, Payload: p.Payload}
	if found, err := b.FindDuplicate(t.Context(), action, other); err != nil || !found.Of.IsZero() {
		t.Errorf("a refused intent is repeated by nobody: %+v, %v", found, err)
	}
	b.setClock(t, noon.Add(50*time.Minute))
	b.insert(t, p.Over(row))
	b.setClock(t, noon.Add(100*time.Minute))
	if found, err := b.FindDuplicate(t.Context(), action, other); err != nil || found.Of != row.ID || found.Ago != 50*time.Minute {
		t.Errorf("%+v, %v", found, err)
	}
}
