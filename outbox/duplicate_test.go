package outbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// guarded is a proposal of a request without a key of its own, whose tool looks back for
// ten minutes.
func guarded(number byte) outbox.Proposal {
	p := propose(string(intent.MintedRequestKey(uuid.UUID{number, 6: 0x40, 8: 0x80})), keyed())
	p.Guard = &outbox.Guard{Window: 10 * time.Minute, Checked: true, FreshKey: intent.GuardKey{number}}
	return p
}

func actionOf(p outbox.Proposal) intent.Action {
	return intent.Action{Tenant: p.Tenant, Principal: p.Principal, Tool: p.Tool, Payload: p.Payload}
}

// repeats returns the intent that the proposal would repeat.
func (b bundle) repeats(t *testing.T, p outbox.Proposal) outbox.Duplicate {
	t.Helper()
	found, err := b.FindDuplicate(t.Context(), actionOf(p), p.ID())
	if err != nil {
		t.Error(err)
	}
	return found
}

func TestASubmissionIsFoundByLaterOnesUntilItsWindowHasPassed(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	first, second := guarded(1), guarded(2)
	if found := b.repeats(t, first); found != (outbox.Duplicate{}) {
		t.Errorf("in an empty outbox: %+v", found)
	}
	b.insert(t, first)
	for after, want := range map[time.Duration]outbox.Duplicate{
		0:                                 {Of: first.ID()},
		12 * time.Second:                  {Of: first.ID(), Ago: 12 * time.Second},
		10*time.Minute - time.Microsecond: {Of: first.ID(), Ago: 10*time.Minute - time.Microsecond},
		10 * time.Minute:                  {},
		365 * 24 * time.Hour:              {},
	} {
		b.setClock(t, noon.Add(after))
		if found := b.repeats(t, second); found != want {
			t.Errorf("after %s: %+v, want %+v", after, found, want)
		}
		if found := b.repeats(t, first); found.Of != (intent.ID{}) {
			t.Errorf("after %s it repeats itself: %+v", after, found)
		}
	}
}

func TestWhatDiffersInAnythingIsNoRepeat(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.insert(t, guarded(1))
	for what, change := range map[string]func(p *outbox.Proposal){
		"tenant":    func(p *outbox.Proposal) { p.Tenant = "globex" },
		"principal": func(p *outbox.Proposal) { p.Principal = "till-8" },
		"tool":      func(p *outbox.Proposal) { p.Tool = "payments.refund" },
		"payload":   func(p *outbox.Proposal) { p.Payload = []byte(`{"amount":"12.91"}`) },
	} {
		other := guarded(2)
		if change(&other); !b.repeats(t, other).Of.IsZero() {
			t.Errorf("another %s is taken for a repeat", what)
		}
	}
	if b.repeats(t, guarded(2)).Of != guarded(1).ID() {
		t.Error("the same is not")
	}
}

func TestWhatProvablyDidNotHappenIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := start(t)
	first, again := guarded(1), guarded(2)
	c := b.granted(t, b.insert(t, first))
	if b.repeats(t, again).Of != first.ID() {
		t.Error("one that is being sent is no repeat")
	}
	ev := of(c, intent.NotApplied, "card_declined")
	ev.Final = true
	if row := b.journal(t, c.Row, &ev); row.State != intent.Failed {
		t.Fatalf("%+v", row)
	}
	if found := b.repeats(t, again); !found.Of.IsZero() {
		t.Errorf("a failed one is repeated: %+v", found)
	}
	row := b.insert(t, again)
	if _, err := b.Refuse(t.Context(), outbox.Refusal{ID: row.ID, Version: row.Version, Decision: []byte(`{}`)}, seal); err != nil {
		t.Fatal(err)
	}
	if found := b.repeats(t, guarded(3)); !found.Of.IsZero() {
		t.Errorf("a refused one is repeated: %+v", found)
	}
	row = b.insert(t, guarded(4))
	if _, err := b.Cancel(t.Context(), row.ID, eve, seal); err != nil {
		t.Fatal(err)
	}
	if found := b.repeats(t, guarded(5)); !found.Of.IsZero() {
		t.Errorf("a cancelled one is repeated: %+v", found)
	}
}

func TestWhatHappenedAfterAllIsRepeatedAlthoughItsIntentFailed(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := guarded(1)
	first.Rules = opaque()
	c := b.granted(t, b.insert(t, first))
	lost := of(c, intent.Unknown, "connection_lost")
	row := b.journal(t, c.Row, &lost)
	row, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied},
		outbox.Decider{Principal: "eve", Note: "not in their list"}, seal)
	if err != nil || row.State != intent.Failed {
		t.Fatalf("%+v, %v", row, err)
	}
	if found := b.repeats(t, guarded(2)); !found.Of.IsZero() {
		t.Errorf("what did not happen is repeated: %+v", found)
	}
	b.evidence(t, row, of(c, intent.Applied, ""))
	if found := b.repeats(t, guarded(2)); found.Of != first.ID() {
		t.Errorf("what happened after all is no repeat: %+v", found)
	}
}

func TestARepeatIsInsertedOnlyUnderADecisionThatKnowsOfIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := guarded(1)
	b.insert(t, first)
	b.commits.Take()
	for name, of := range map[string]intent.ID{"of none": {}, "of another one": guarded(9).ID()} {
		p := guarded(2)
		p.SuspectedDuplicateOf = of
		if row, err := b.Insert(t.Context(), p); !errors.Is(err, outbox.ErrDuplicateChanged) {
			t.Errorf("decided on the repeat %s: %+v, %v", name, row, err)
		}
		if _, err := b.Load(t.Context(), p.ID()); intent.CodeOf(err) != intent.CodeIntentNotFound {
			t.Errorf("decided on the repeat %s: a row was written: %v", name, err)
		}
	}
	if count := b.commits.Take(); count.Flushed != 0 {
		t.Errorf("%+v", count)
	}
	p := guarded(2)
	p.SuspectedDuplicateOf = first.ID()
	if row := b.insert(t, p); row.SuspectedDuplicateOf != first.ID() || row.State != intent.Recorded {
		t.Errorf("%+v", row)
	}
	if count := b.commits.Take(); count.Flushed != 1 || count.Relaxed != 0 || count.Unsaid != 0 {
		t.Errorf("the guard has commits of its own: %+v", count)
	}
	// Of three, the third repeats the first.
	if found := b.repeats(t, guarded(3)); found.Of != first.ID() {
		t.Errorf("%+v", found)
	}
}

func TestACallersOwnKeySaysThatItIsNoRepeatAndIsRepeatedAllTheSame(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.insert(t, guarded(1))
	own := propose("order-4711", keyed())
	own.Guard = &outbox.Guard{Window: 10 * time.Minute, FreshKey: intent.GuardKey{7}}
	if row := b.insert(t, own); !row.SuspectedDuplicateOf.IsZero() {
		t.Errorf("%+v", row)
	}
	b.exec(t, `DELETE FROM duplicate_guards WHERE intent_id <> $1`, own.ID().String())
	if found := b.repeats(t, guarded(2)); found.Of != own.ID() {
		t.Errorf("%+v", found)
	}
}

func TestAToolWithoutAGuardLeavesNoMark(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.insert(t, propose("order-4711", keyed()))
	if n := query[int](t, b, `SELECT (SELECT count(*) FROM duplicate_guards) + (SELECT count(*) FROM guard_keys)`); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// The same request again, whose first answer was lost: it joins its intent.
func TestTheSameRequestAgainIsNotItsOwnRepeat(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.insert(t, guarded(1))
	again := b.insert(t, guarded(1))
	if again.ID != first.ID || !again.SuspectedDuplicateOf.IsZero() {
		t.Errorf("%+v", again)
	}
	if n := query[int](t, b, `SELECT count(*) FROM duplicate_guards`); n != 1 {
		t.Errorf("%d marks", n)
	}
}

func TestOfThirtyTwoRepeatsAtOnceExactlyOneIsTheFirst(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=16")
	rows := make([]outbox.Row, 32)
	var group sync.WaitGroup
	for i := range rows {
		group.Go(func() {
			p := guarded(byte(i))
			for {
				row, err := b.Insert(t.Context(), p)
				if !errors.Is(err, outbox.ErrDuplicateChanged) {
					if rows[i] = row; err != nil {
						t.Error(err)
					}
					return
				}
				p.SuspectedDuplicateOf = b.repeats(t, p).Of
			}
		})
	}
	group.Wait()
	named := map[intent.ID]int{}
	for _, row := range rows {
		named[row.SuspectedDuplicateOf]++
	}
	if len(named) != 2 || named[intent.ID{}] != 1 {
		t.Fatalf("the intents repeat %v", named)
	}
	for _, row := range rows {
		if row.SuspectedDuplicateOf.IsZero() && named[row.ID] != len(rows)-1 {
			t.Errorf("%s is the first, and the others repeat %v", row.ID, named)
		}
	}
	if n := query[int](t, b, `SELECT count(*) FROM guard_keys`); n != 1 {
		t.Errorf("%d keys for one day", n)
	}
}

func TestTheKeyChangesEveryDayAndRepeatsAreFoundAcrossMidnight(t *testing.T) {
	t.Parallel()
	b := start(t)
	midnight := noon.Add(12 * time.Hour)
	b.setClock(t, midnight.Add(-time.Minute))
	b.insert(t, guarded(1))
	b.setClock(t, midnight.Add(time.Minute))
	second := guarded(2)
	if found := b.repeats(t, second); found.Of != guarded(1).ID() {
		t.Fatalf("%+v", found)
	}
	second.SuspectedDuplicateOf = guarded(1).ID()
	b.insert(t, second)
	if n := query[int](t, b, `SELECT count(DISTINCT digest) FROM duplicate_guards`); n != 2 {
		t.Errorf("the two days have %d digests of one action", n)
	}
	if keys := query[string](t, b, `SELECT string_agg(get_byte(key, 0)::text, ' ' ORDER BY day) FROM guard_keys`); keys != "1 2" {
		t.Errorf("keys %s", keys)
	}
}

func TestMarksAndKeysAreDeletedWhenTheirWindowHasPassedAndNotBefore(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	short, long := guarded(1), guarded(2)
	short.Payload = []byte(`{"amount":"1.00"}`)
	long.Guard.Window = 7 * 24 * time.Hour // after a shorter one on the same day
	b.insert(t, short)
	b.insert(t, long)
	left := func() string {
		return query[string](t, b, `SELECT format('%s marks, %s keys', (SELECT count(*) FROM duplicate_guards), (SELECT count(*) FROM guard_keys))`)
	}
	week := 7 * 24 * time.Hour
	for _, step := range []struct {
		after   time.Duration
		dropped int
		left    string
	}{
		{10*time.Minute - time.Microsecond, 0, "2 marks, 1 keys"},
		{10 * time.Minute, 1, "1 marks, 1 keys"},
		{week - time.Microsecond, 0, "1 marks, 1 keys"},
		{week, 1, "0 marks, 1 keys"},
		{week + 12*time.Hour - time.Microsecond, 0, "0 marks, 1 keys"}, // another intent of that day may have lasted as long
		{week + 12*time.Hour, 1, "0 marks, 0 keys"},
	} {
		b.setClock(t, noon.Add(step.after))
		dropped, err := b.DropExpiredGuards(t.Context(), 10)
		if err != nil || dropped != step.dropped || left() != step.left {
			t.Errorf("after %s: dropped %d, %v; left %s, want %d and %s", step.after, dropped, err, left(), step.dropped, step.left)
		}
	}
}

func TestMarksAreDroppedInBatches(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	for i := range 5 {
		p := guarded(byte(i))
		p.Payload = fmt.Appendf(nil, `{"amount":%d}`, i)
		b.insert(t, p)
	}
	b.setClock(t, noon.Add(time.Hour))
	for _, want := range []int{2, 2, 1, 0} {
		if dropped, err := b.DropExpiredGuards(t.Context(), 2); err != nil || dropped != want {
			t.Errorf("%d, %v; want %d", dropped, err, want)
		}
	}
}

func TestOnlyARequestWithoutAKeyWaitsForOthersOfItsAction(t *testing.T) {
	t.Parallel()
	b := start(t)
	keyless, named := guarded(1), propose("order-4711", keyed())
	named.Guard = &outbox.Guard{Window: 10 * time.Minute, FreshKey: intent.GuardKey{2}}
	digest := intent.GuardDigest(intent.GuardKey{}, actionOf(named))
	other, err := b.pool.Acquire(t.Context()) // a submission of the same action that is not committed yet
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	lock := int64(binary.BigEndian.Uint64(digest[:]))
	if _, err := other.Exec(t.Context(), `SELECT pg_advisory_lock_shared($1)`, lock); err != nil {
		t.Fatal(err)
	}
	b.insert(t, named)
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := b.Insert(ctx, keyless); err == nil {
		t.Error("a request without a key does not wait for one that it may repeat")
	}
	if _, err := other.Exec(t.Context(), `SELECT pg_advisory_unlock_shared($1)`, lock); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Insert(t.Context(), keyless); !errors.Is(err, outbox.ErrDuplicateChanged) {
		t.Errorf("it does not see the one with a key: %v", err)
	}
}
