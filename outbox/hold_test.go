package outbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

var ada = outbox.Decider{Principal: "ada", Note: "the bank called"}

// banked are rules of a tool whose provider is the bank.
func banked() intent.Rules {
	rules := keyed()
	rules.Provider = "bank"
	return rules
}

var bank = outbox.Subject{Scope: outbox.HoldProvider, Name: "bank"}

func (b bundle) setHold(t *testing.T, on outbox.Subject) outbox.Hold {
	t.Helper()
	hold, err := b.SetHold(t.Context(), on, ada)
	if err != nil {
		t.Error(err)
	}
	return hold
}

func (b bundle) liftHold(t *testing.T, id uuid.UUID) outbox.Hold {
	t.Helper()
	hold, err := b.LiftHold(t.Context(), id, outbox.Decider{Principal: "grace", Note: "the bank is well"})
	if err != nil {
		t.Error(err)
	}
	return hold
}

func (b bundle) holds(t *testing.T, all bool) []outbox.Hold {
	t.Helper()
	list, err := b.Holds(t.Context(), all)
	if err != nil {
		t.Error(err)
	}
	return list
}

// inFlight returns the subject's attempts as "intent/number".
func (b bundle) inFlight(t *testing.T, on outbox.Subject) map[string]bool {
	t.Helper()
	list, err := b.InFlight(t.Context(), on)
	if err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	for _, f := range list {
		names[fmt.Sprintf("%s/%d", f.ID, f.Attempt)] = true
	}
	return names
}

// awaitLock returns when somebody waits for the advisory lock of the subject's holds, and fails
// if what is to wait ends before.
func (b bundle) awaitLock(t *testing.T, on outbox.Subject, ended <-chan struct{}) {
	t.Helper()
	const waits = `
		SELECT count(*) > 0 FROM pg_locks, writ_hold_lock($1, $2) key
		WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND ((classid::bigint << 32) | objid::bigint) = key`
	deadline := time.After(30 * time.Second)
	for !query[bool](t, b, waits, string(on.Scope), on.Name) {
		select {
		case <-ended:
			t.Fatalf("it did not wait for the hold of %s %s", on.Scope, on.Name)
		case <-deadline:
			t.Fatalf("nobody waits for the hold of %s %s", on.Scope, on.Name)
		default:
		}
	}
}

func TestNoClaimIsGrantedWhileAHoldStands(t *testing.T) {
	t.Parallel()
	for _, on := range []outbox.Subject{
		{Scope: outbox.HoldTool, Name: "payments.capture"}, bank, {Scope: outbox.HoldTenant, Name: "acme"},
	} {
		t.Run(string(on.Scope), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			waiting := b.insert(t, propose("waiting", banked()))
			other := propose("other", keyed())
			other.Tenant, other.Tool = "globex", "notifications.send"
			elsewhere := b.insert(t, other)

			hold := b.setHold(t, on)

			held := b.claim(t, waiting)
			want := intent.Step{Kind: intent.Wait, At: noon.Add(time.Minute), Reason: intent.ReasonHeld}
			if held.Granted || held.Payload != nil || held.Row.Next() != want {
				t.Errorf("claimed %+v; the row says %+v", held.Granted, held.Row.Next())
			}
			if n := query[int](t, b, `SELECT count(*) FROM attempts`); n != 0 {
				t.Errorf("%d attempts under the hold", n)
			}
			b.granted(t, elsewhere)
			list, err := b.HoldsOn(t.Context(), held.Row)
			if err != nil || len(list) != 1 || list[0].ID != hold.ID {
				t.Errorf("held by %+v, %v", list, err)
			}
			stopped, _, err := b.Held(t.Context(), "acme", "payments.capture", "bank")
			free, _, err2 := b.Held(t.Context(), "globex", "notifications.send", "")
			if err := errors.Join(err, err2); err != nil || !stopped || free {
				t.Errorf("held %v and %v, %v", stopped, free, err)
			}

			b.liftHold(t, hold.ID)
			b.granted(t, b.load(t, waiting.ID))
		})
	}
}

// The claim takes the hold's lock before it reads the row: what it read before would not show
// the hold that it waited for.
func TestAClaimThatWaitedForAHoldToBeSetSeesIt(t *testing.T) {
	t.Parallel()
	for _, on := range []outbox.Subject{
		{Scope: outbox.HoldTool, Name: "payments.capture"}, bank, {Scope: outbox.HoldTenant, Name: "acme"},
	} {
		t.Run(string(on.Scope), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			row := b.insert(t, propose("order-4711", banked()))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var c outbox.Claim
			ended := make(chan struct{})
			err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(writ_hold_lock($1, $2))`, string(on.Scope), on.Name); err != nil {
					return err
				}
				go func() { defer close(ended); c = b.claim(t, row) }()
				b.awaitLock(t, on, ended)
				_, err := tx.Exec(ctx, `INSERT INTO holds (id, scope, name, automatic, principal, note, set_at)
					VALUES (gen_random_uuid(), $1, $2, false, 'ada', '', writ_now())`, string(on.Scope), on.Name)
				return err
			})
			<-ended
			if err != nil || c.Granted || c.Row.Next().Reason != intent.ReasonHeld {
				t.Errorf("granted %v under the hold; the row says %+v; %v", c.Granted, c.Row.Next(), err)
			}
		})
	}
}

func TestSettingAHoldWaitsForTheClaimThatIsBeingGrantedAndNamesIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", banked()))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var c outbox.Claim
	claimed, set := make(chan struct{}), make(chan struct{})
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		// The claim stops in its middle, at the lock on the row.
		if _, err := tx.Exec(ctx, `SELECT FROM intents WHERE id = $1 FOR UPDATE`, row.ID[:]); err != nil {
			return err
		}
		go func() { defer close(claimed); c = b.claim(t, row) }()
		for !query[bool](t, b, sharedLock, string(bank.Scope), bank.Name) {
			if ctx.Err() != nil {
				return fmt.Errorf("the claim holds no lock on the provider: %w", ctx.Err())
			}
		}
		go func() { defer close(set); b.setHold(t, bank) }()
		b.awaitLock(t, bank, set)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-claimed
	<-set
	if !c.Granted {
		t.Fatalf("the claim that came first was not granted: %+v", c.Row.Next())
	}
	if flights := b.inFlight(t, bank); len(flights) != 1 || !flights[fmt.Sprintf("%s/1", row.ID)] {
		t.Errorf("in flight: %v", flights)
	}
}

func TestAfterAHoldIsSetOnlyTheListedAttemptsWereClaimed(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=12")
	rows := make([]outbox.Row, 20)
	for i := range rows {
		rows[i] = b.insert(t, propose(fmt.Sprintf("order-%d", i), banked()))
	}
	var group sync.WaitGroup
	begin := make(chan struct{})
	granted := make([]bool, len(rows))
	for i, row := range rows {
		group.Go(func() {
			<-begin
			granted[i] = b.claim(t, row).Granted
		})
	}
	var flights map[string]bool
	group.Go(func() {
		<-begin
		b.setHold(t, bank)
		flights = b.inFlight(t, bank)
	})
	close(begin)
	group.Wait()
	for i, row := range rows {
		if listed := flights[fmt.Sprintf("%s/1", row.ID)]; listed != granted[i] {
			t.Errorf("%s: granted %v, listed %v", row.RequestKey, granted[i], listed)
		}
	}
	for _, row := range rows {
		if row = b.load(t, row.ID); len(row.Attempts) == 0 && b.claim(t, row).Granted {
			t.Errorf("%s was claimed under the hold", row.RequestKey)
		}
	}
}

// In any other order, two claims could each wait for the other behind somebody who sets a hold.
func TestEveryClaimTakesTheLocksOfItsHoldsInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 4 { // with each name the keys are in another order
		p := propose("order-4711", banked())
		p.Tenant = fmt.Sprintf("acme-%d", i)
		row := b.insert(t, p)
		subjects := b.inOrderOfKeys(t, outbox.Subject{Scope: outbox.HoldTenant, Name: p.Tenant}, outbox.Subject{Scope: outbox.HoldTool, Name: p.Tool}, bank)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		ended := make(chan struct{})
		var has [3]bool
		err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			// The claim stops at the second of the three.
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(writ_hold_lock($1, $2))`, string(subjects[1].Scope), subjects[1].Name); err != nil {
				return err
			}
			go func() { defer close(ended); b.granted(t, row) }()
			b.awaitLock(t, subjects[1], ended)
			for i, on := range subjects {
				has[i] = query[bool](t, b, sharedLock, string(on.Scope), on.Name)
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		<-ended
		if has != [3]bool{true, false, false} {
			t.Errorf("while it waits for the second of %v, the claim has %v", subjects, has)
		}
	}
}

// sharedLock is whether somebody has the lock of a subject's holds as claims have it.
const sharedLock = `
	SELECT count(*) > 0 FROM pg_locks, writ_hold_lock($1, $2) key
	WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock' AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND ((classid::bigint << 32) | objid::bigint) = key`

func (b bundle) inOrderOfKeys(t *testing.T, subjects ...outbox.Subject) []outbox.Subject {
	t.Helper()
	key := func(on outbox.Subject) int64 {
		return query[int64](t, b, `SELECT writ_hold_lock($1, $2)`, string(on.Scope), on.Name)
	}
	slices.SortFunc(subjects, func(x, y outbox.Subject) int { return cmp.Compare(key(x), key(y)) })
	return subjects
}

func TestAHoldIsSetOnceAndItsHistoryIsKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	first := b.setHold(t, bank)
	want := outbox.Hold{ID: first.ID, Subject: bank, Decider: outbox.Decider{Principal: "ada", Note: "the bank called"}, SetAt: noon}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("set %+v\nwant %+v", first, want)
	}
	b.setClock(t, noon.Add(time.Minute))
	again, err := b.SetHold(t.Context(), bank, outbox.Decider{Principal: "grace"})
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("again: %+v, %v", again, err)
	}
	lifted := b.liftHold(t, first.ID)
	want.LiftedAt, want.Lifter = noon.Add(time.Minute), outbox.Decider{Principal: "grace", Note: "the bank is well"}
	if !reflect.DeepEqual(lifted, want) {
		t.Errorf("lifted %+v\nwant %+v", lifted, want)
	}
	if list := b.holds(t, false); len(list) != 0 {
		t.Errorf("still standing: %+v", list)
	}
	b.setClock(t, noon.Add(time.Hour))
	second := b.setHold(t, bank)
	if list := b.holds(t, true); second.ID == first.ID || !reflect.DeepEqual(list, []outbox.Hold{second, lifted}) {
		t.Errorf("the history is %+v", list)
	}
}

func TestOnlyAHoldThatStandsIsLifted(t *testing.T) {
	t.Parallel()
	b := start(t)
	hold := b.setHold(t, bank)
	b.liftHold(t, hold.ID)
	for id, says := range map[uuid.UUID]string{hold.ID: "grace lifted it", uuid.New(): "there is no hold"} {
		_, err := b.LiftHold(t.Context(), id, ada)
		if intent.CodeOf(err) != intent.CodeHoldNotFound || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestWhatAHoldCameTooLateForIsListedUntilItIsKnownOrItsLeaseEnds(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	open := b.granted(t, b.insert(t, propose("open", banked())))
	known := b.granted(t, b.insert(t, propose("known", banked())))
	b.evidence(t, known.Row, of(known, intent.NotApplied, "http_429"))
	b.insert(t, propose("waiting", banked()))
	list, err := b.InFlight(t.Context(), bank)
	want := []outbox.Flight{{ID: open.Row.ID, Tenant: "acme", RequestKey: "open", Tool: "payments.capture", Attempt: 1, Worker: "worker-1",
		ClaimedAt: noon, LeaseUntil: noon.Add(15 * time.Second)}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("in flight: %+v, %v", list, err)
	}
	b.setClock(t, noon.Add(15*time.Second))
	if late := b.inFlight(t, bank); len(late) != 0 {
		t.Errorf("after its lease: %v", late)
	}
}
