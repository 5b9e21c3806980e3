package outbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// requested is the enqueued request of the proposal's very action.
func requested(p outbox.Proposal) outbox.Enqueued {
	action := intent.Action{Tenant: p.Tenant, Principal: p.Principal, Tool: p.Tool, Payload: p.Payload}
	return outbox.Enqueued{RequestKey: p.RequestKey, Action: action, EffectContext: p.EffectContext}
}

func TestARequestIsForgottenWhenItsIntentRestsAndNotBefore(t *testing.T) {
	t.Parallel()
	waiting := propose("order-7", keyed())
	waiting.ConfirmWithin = time.Hour
	for name, tc := range map[string]struct {
		proposal outbox.Proposal
		then     func(t *testing.T, b bundle, row outbox.Row)
		underWay int
	}{
		"it was recorded": {propose("order-7", keyed()), func(*testing.T, bundle, outbox.Row) {}, 1},
		"an attempt is open": {propose("order-7", keyed()), func(t *testing.T, b bundle, row outbox.Row) {
			b.granted(t, row)
		}, 1},
		"it ended": {propose("order-7", keyed()), func(t *testing.T, b bundle, row outbox.Row) {
			granted := b.granted(t, row)
			ev := of(granted, intent.Applied, "")
			b.journal(t, granted.Row, &ev)
		}, 0},
		"it is in doubt": {propose("order-7", opaque()), func(t *testing.T, b bundle, row outbox.Row) {
			granted := b.granted(t, row)
			ev := of(granted, intent.Unknown, "")
			b.journal(t, granted.Row, &ev)
		}, 0},
		"it waits for a person": {waiting, func(*testing.T, bundle, outbox.Row) {}, 0},
		"it is tried again at once": {propose("order-7", keyed()), func(t *testing.T, b bundle, row outbox.Row) {
			granted := b.granted(t, row)
			b.evidence(t, granted.Row, of(granted, intent.NotApplied, "busy"))
		}, 1},
		"it is tried again in an hour": {propose("order-7", keyed()), func(t *testing.T, b bundle, row outbox.Row) {
			granted := b.granted(t, row)
			ev := of(granted, intent.NotApplied, "busy")
			ev.RetryAfterMS = time.Hour.Milliseconds()
			b.evidence(t, granted.Row, ev)
		}, 0},
		"it is held": {propose("order-7", keyed()), func(t *testing.T, b bundle, _ outbox.Row) {
			b.exec(t, `INSERT INTO holds (id, scope, name, automatic, principal, note, set_at) VALUES (gen_random_uuid(), 'tenant', 'acme', false, 'ada', '', writ_now())`)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			if err := b.enqueue(t, requested(tc.proposal), true); err != nil {
				t.Fatal(err)
			}
			b.settle(t, 0)
			b.takeOne(t)
			b.settle(t, 1)
			tc.then(t, b, b.insert(t, tc.proposal))
			b.settle(t, tc.underWay)
			b.wantEnqueued(t, tc.underWay)
		})
	}
}

func TestALargeRequestIsForgottenAsWell(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	p.Payload = []byte(`{"note":"` + strings.Repeat("x", intent.MaxInline) + `"}`)
	p.ConfirmWithin = time.Hour
	if err := b.enqueue(t, requested(p), true); err != nil {
		t.Fatal(err)
	}
	b.insert(t, p)
	if due := b.takeOne(t); !due.Known {
		t.Error("it is not seen that there is an intent")
	}
	b.settle(t, 0)
	b.wantEnqueued(t, 0)
}

func TestARequestWhoseKeyNamesAnotherActionByNowIsParked(t *testing.T) {
	t.Parallel()
	p := propose("order-7", keyed())
	for name, change := range map[string]func(*outbox.Enqueued){
		"payload":   func(e *outbox.Enqueued) { e.Action.Payload = []byte(`{}`) },
		"tool":      func(e *outbox.Enqueued) { e.Action.Tool = "payments.refund" },
		"principal": func(e *outbox.Enqueued) { e.Action.Principal = "till-8" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			e := requested(p)
			change(&e)
			// The host's transaction is open while the intent of another caller is inserted: an
			// enqueued request that is committed reserves its key.
			err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
				_, err := outbox.Enqueue(t.Context(), tx, e)
				b.insert(t, p)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			b.takeOne(t)
			b.settle(t, 0)
			if code := query[string](t, b, `SELECT error_code FROM enqueued WHERE parked_at IS NOT NULL AND error <> ''`); code != string(intent.CodeIdempotencyConflict) {
				t.Errorf("it is parked with %q", code)
			}
		})
	}
}

func TestNothingIsParkedThatHasAnIntent(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	if err := b.enqueue(t, requested(p), true); err != nil {
		t.Fatal(err)
	}
	due := b.takeOne(t)
	b.insert(t, p)
	if err := b.Park(t.Context(), due, intent.Errorf(intent.CodeInputSchema, "bad")); err != nil {
		t.Fatal(err)
	}
	b.settle(t, 1)
}

func TestWhatWasParkedWaitsForNobodyOnceItIsAnIntent(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	if err := b.enqueue(t, requested(p), true); err != nil {
		t.Fatal(err)
	}
	if err := b.Park(t.Context(), b.takeOne(t), intent.Errorf(intent.CodeUnknownTool, "not yet")); err != nil {
		t.Fatal(err)
	}
	row := b.insert(t, p) // somebody asked for the same without the queue
	if parked := query[int](t, b, `SELECT count(*) FROM enqueued WHERE parked_at IS NOT NULL`); parked != 0 {
		t.Errorf("%d are parked", parked)
	}
	b.settle(t, 1)
	b.setHold(t, outbox.Subject{Scope: outbox.HoldTenant, Name: row.Tenant})
	b.settle(t, 0)
	b.wantEnqueued(t, 0)
}

func TestARequestIsNotParkedWhoseIntentIsBeingInserted(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	if err := b.enqueue(t, requested(p), true); err != nil {
		t.Fatal(err)
	}
	due := b.takeOne(t)
	gate := b.begin(t, b.linger(t))
	inserted, parked := make(chan error, 1), make(chan error, 1)
	go func() { _, err := b.Insert(t.Context(), p); inserted <- err }()
	b.awaitWaiting(t, "intents", 1)
	go func() { parked <- b.Park(t.Context(), due, intent.Errorf(intent.CodeInputSchema, "bad")) }()
	b.awaitWaiting(t, "enqueued", 2)
	commit(t, gate)
	if err := errors.Join(<-inserted, <-parked); err != nil {
		t.Fatal(err)
	}
	b.settle(t, 1)
}

func TestIntentsAtWorkHideNoneThatRestsBehindThem(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("order-7", keyed())
	if err := b.enqueue(t, requested(p), true); err != nil {
		t.Fatal(err)
	}
	b.takeOne(t)
	row := b.insert(t, p)
	// As many more as are settled at once, at work and before this one in the order of ids.
	const more = `(jsonb_populate_record(r, jsonb_build_object('id', '00000000-0000-0000-0000-' || lpad(n::text, 12, '0'), 'request_key', n::text))).*`
	b.exec(t, `INSERT INTO intents SELECT `+more+` FROM intents r, generate_series(1, 1000) n`)
	b.exec(t, `INSERT INTO enqueued SELECT `+more+` FROM enqueued r, generate_series(1, 1000) n`)
	b.settle(t, 1001)

	granted := b.granted(t, row)
	ev := of(granted, intent.Applied, "")
	b.journal(t, granted.Row, &ev)
	b.settle(t, 1000)
}
