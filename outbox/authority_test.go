package outbox_test

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// inContext is the proposal in another effect context of its principal.
func inContext(p outbox.Proposal, change func(*intent.EffectContext)) outbox.Proposal {
	c := intent.EffectContext{Principal: p.Principal, Tenant: p.Tenant}
	change(&c)
	p.EffectContext = c.Canonical()
	p.Commitment = intent.Commitment(intent.Authorized{Fingerprint: p.Fingerprint, SpecDigest: p.SpecDigest, Context: p.EffectContext,
		Decision: p.Decision, Key: p.IdempotencyKey, Generation: 1})
	return p
}

func asAuditor(c *intent.EffectContext) { c.Roles = []string{"auditor"} }

// elsewhere differs in what only says where a request comes from.
func elsewhere(c *intent.EffectContext) { c.Process, c.Run, c.Risk = "retry", "run-2", 0.5 }

func TestAnEnqueuedKeyIsRefusedToAnotherAuthorityBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	b := start(t)
	large := bytes.Replace([]byte(`{"a":""}`), []byte(`""`), append(append([]byte(`"`), bytes.Repeat([]byte("x"), intent.MaxInline)...), '"'), 1)
	for name, c := range map[string]struct {
		payload []byte
		then    func(t *testing.T, mine outbox.Proposal)
	}{
		"due":            {nil, func(*testing.T, outbox.Proposal) {}},
		"due, and large": {large, func(*testing.T, outbox.Proposal) {}},
		"parked": {nil, func(t *testing.T, mine outbox.Proposal) {
			if err := b.Park(t.Context(), b.takeOne(t), intent.Errorf(intent.CodeUnknownTool, "not yet")); err != nil {
				t.Fatal(err)
			}
		}},
		"parked after a restore": {nil, func(t *testing.T, mine outbox.Proposal) {
			if err := b.Park(t.Context(), b.takeOne(t), intent.Errorf(intent.CodeOutboxRestored, "it may have run")); err != nil {
				t.Fatal(err)
			}
		}},
		"dropped": {nil, func(t *testing.T, mine outbox.Proposal) {
			if _, err := b.Drop(t.Context(), mine.ID(), withdrawn); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		b.exec(t, `DELETE FROM enqueued`)
		mine := propose(name, keyed())
		if c.payload != nil {
			mine.Payload = c.payload
			mine.Fingerprint = intent.Fingerprint(mine.Salt, requested(mine).Action)
		}
		if err := b.enqueue(t, requested(mine), true); err != nil {
			t.Fatal(err)
		}
		c.then(t, mine)
		other := inContext(mine, asAuditor)
		const state = `SELECT (e::text) FROM enqueued e WHERE request_key = $1`
		before := query[string](t, b, state, name)
		for door, ask := range map[string]func() error{
			"insert": func() error { _, err := b.Insert(t.Context(), other); return err },
			"insert ended": func() error {
				_, err := b.InsertEnded(t.Context(), other, outbox.End{To: intent.Refused}, seal)
				return err
			},
			"spec": func() error {
				_, err := b.SpecFor(t.Context(), other.RequestKey, requested(other).Action, other.EffectContext)
				return err
			},
			"enqueue": func() error { return b.enqueue(t, requested(other), true) },
		} {
			if err := ask(); intent.CodeOf(err) != intent.CodeContextMismatch {
				t.Errorf("%s, %s: %v", name, door, err)
			}
		}
		if after := query[string](t, b, state, name); after != before {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, before, after)
		}
	}
	for _, table := range []string{"intents", "blobs", "receipts"} {
		if n := query[int](t, b, `SELECT count(*)::int FROM `+table); n != 0 {
			t.Errorf("%d rows of %s were written", n, table)
		}
	}
}

func TestARequestFromElsewhereIsTheEnqueuedOne(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := propose("order-7", keyed())
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	again := inContext(mine, elsewhere)
	if err := b.enqueue(t, requested(again), true); err != nil {
		t.Error(err)
	}
	b.takeOne(t)
	if row := b.insert(t, again); !bytes.Equal(row.EffectContext, again.EffectContext) {
		t.Errorf("sealed is %s", row.EffectContext)
	}
	b.settle(t, 1) // it is at work
	b.setHold(t, outbox.Subject{Scope: outbox.HoldTenant, Name: mine.Tenant})
	b.settle(t, 0)
	b.wantEnqueued(t, 0)
}

func TestAnEnqueuedRequestIsNotDecidedOnWithLessRiskThanItsHostStated(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := inContext(propose("order-7", keyed()), func(c *intent.EffectContext) { c.Risk = 0.5 })
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Insert(t.Context(), inContext(mine, func(c *intent.EffectContext) { c.Risk = 0.25 })); intent.CodeOf(err) != intent.CodeContextMismatch {
		t.Errorf("with less risk: %v", err)
	}
	if row := b.insert(t, inContext(mine, func(c *intent.EffectContext) { c.Risk = 0.75 })); row.State != intent.Recorded {
		t.Errorf("with more risk it is %s", row.State)
	}
}

func TestNothingIsEnqueuedWithAnotherAuthorityThanItsIntentHas(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	row := b.insert(t, p)
	if err := b.enqueue(t, requested(inContext(p, asAuditor)), true); intent.CodeOf(err) != intent.CodeContextMismatch {
		t.Error(err)
	}
	if err := b.enqueue(t, requested(inContext(p, elsewhere)), true); err != nil {
		t.Error(err)
	}
	b.wantEnqueued(t, 0)
	if after := b.load(t, row.ID); after.Version != row.Version || !bytes.Equal(after.EffectContext, row.EffectContext) {
		t.Errorf("the intent changed: %+v", after)
	}
}

// The host's transaction is open while the intent of another caller is inserted.
func TestARequestWhoseKeyHasAnIntentOfAnotherAuthorityByNowIsParkedAndCanBeDropped(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	e := requested(inContext(p, asAuditor))
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := outbox.Enqueue(t.Context(), tx, e)
		b.insert(t, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if due := b.takeOne(t); !due.Known {
		t.Error("it is not seen that there is an intent")
	}
	b.settle(t, 0) // although the intent is at work
	if code := query[string](t, b, `SELECT error_code FROM enqueued WHERE parked_at IS NOT NULL AND error LIKE '%(roles)%'`); code != string(intent.CodeContextMismatch) {
		t.Errorf("it is parked with %q", code)
	}
	if dropped, err := b.Drop(t.Context(), p.ID(), withdrawn); err != nil || dropped.DroppedAt.IsZero() {
		t.Errorf("%+v, %v", dropped, err)
	}
	if row := b.load(t, p.ID()); row.State != intent.Recorded || row.Version != 1 {
		t.Errorf("the intent changed: %+v", row)
	}
}
