package outbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

func (b bundle) takeStalled(t *testing.T, limit int) []outbox.Stalled {
	t.Helper()
	list, err := b.TakeStalled(t.Context(), limit)
	if err != nil {
		t.Error(err)
	}
	return list
}

func TestOnlyWhatIsOverdueIsTaken(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	p := propose("recorded", keyed())
	recorded := b.insert(t, p)
	claimed := b.granted(t, b.insert(t, propose("claimed", keyed()))).Row
	remembers := keyed()
	remembers.Window = intent.Forever
	waiting := b.granted(t, b.insert(t, propose("waiting for the provider", remembers)))
	later := of(waiting, intent.NotApplied, "http_429")
	later.RetryAfterMS = (48 * time.Hour).Milliseconds()
	b.journal(t, waiting.Row, &later)
	parked := b.granted(t, b.insert(t, propose("parked", opaque())))
	open := of(parked, intent.Unknown, "timeout")
	b.journal(t, parked.Row, &open)
	completed := b.granted(t, b.insert(t, propose("completed", keyed())))
	applied := of(completed, intent.Applied, "")
	b.journal(t, completed.Row, &applied)

	for _, at := range []struct {
		after time.Duration
		want  []intent.ID
	}{
		{15*time.Second - time.Millisecond, nil},
		{15 * time.Second, []intent.ID{recorded.ID}}, // no worker took it
		{30*time.Second - time.Millisecond, nil},
		{30 * time.Second, []intent.ID{recorded.ID, claimed.ID}}, // its lease and the grace are over
		{48 * time.Hour, []intent.ID{recorded.ID, claimed.ID}},
		{48*time.Hour + 15*time.Second, []intent.ID{recorded.ID, claimed.ID, waiting.Row.ID}},
		{365 * 24 * time.Hour, []intent.ID{recorded.ID, claimed.ID, waiting.Row.ID}}, // never what ended or is parked
	} {
		b.setClock(t, noon.Add(at.after))
		taken := map[intent.ID]outbox.Stalled{}
		for _, st := range b.takeStalled(t, 10) {
			taken[st.ID] = st
		}
		if len(taken) != len(at.want) {
			t.Errorf("%s after noon: took %+v, want %d", at.after, taken, len(at.want))
		}
		for _, id := range at.want {
			if _, ok := taken[id]; !ok {
				t.Errorf("%s after noon: %s was not taken", at.after, id)
			}
		}
		want := outbox.Stalled{ID: recorded.ID, Tool: p.Tool, Tenant: p.Tenant, RequestKey: p.RequestKey, TaskQueue: p.TaskQueue, Traceparent: p.Traceparent, State: intent.Recorded}
		if st, ok := taken[recorded.ID]; ok {
			if st.Since, st.Alarm = (time.Time{}), false; st != want { // those have tests of their own
				t.Errorf("took %+v, want %+v", st, want)
			}
		}
	}
	if row := b.load(t, recorded.ID); row.Version != recorded.Version {
		t.Error("being taken is no fact about the intent")
	}
}

func TestEachOverdueIntentIsTakenByOneOfManyWorkers(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=8")
	b.setClock(t, noon)
	for i := range 40 {
		b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed()))
	}
	b.setClock(t, noon.Add(time.Minute))
	var mu sync.Mutex
	taken := map[intent.ID]int{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				list := b.takeStalled(t, 3)
				mu.Lock()
				for _, st := range list {
					taken[st.ID]++
				}
				mu.Unlock()
				if len(list) == 0 {
					return
				}
			}
		})
	}
	group.Wait()
	for id, times := range taken {
		if times != 1 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
	if len(taken) != 40 {
		t.Errorf("%d were taken", len(taken))
	}
}

func TestALockedRowDoesNotHoldUpTheRest(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	locked := b.insert(t, propose("locked", keyed()))
	b.setClock(t, noon.Add(time.Second))
	free := b.insert(t, propose("free", keyed()))
	b.setClock(t, noon.Add(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM intents WHERE id = $1 FOR UPDATE`, locked.ID[:]); err != nil {
			return err
		}
		list, err := b.TakeStalled(ctx, 1)
		if len(list) != 1 || list[0].ID != free.ID {
			t.Errorf("took %+v, want only %s", list, free.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheOldestIsTakenFirstAndGoesToTheEndOfTheLine(t *testing.T) {
	t.Parallel()
	b := start(t)
	var want []intent.ID
	for i := range 3 {
		b.setClock(t, noon.Add(time.Duration(i)*time.Second))
		want = append(want, b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed())).ID)
	}
	b.setClock(t, noon.Add(time.Hour))
	for i := range 6 {
		if i == 3 { // none of them could be helped, and their new due times have passed
			b.setClock(t, noon.Add(2*time.Hour))
		}
		if list := b.takeStalled(t, 1); len(list) != 1 || (i < 3 && list[0].ID != want[i]) {
			t.Fatalf("number %d: took %+v", i, list)
		}
	}
}

func TestASweepThatFindsNothingWritesNothing(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", keyed()))
	const stamp = `SELECT xmin::text || ' ' || xmax::text || ' ' || ctid::text FROM intents WHERE id = $1`
	before := query[string](t, b, stamp, row.ID[:])
	b.commits.Take()
	if list := b.takeStalled(t, 100); len(list) != 0 {
		t.Fatalf("took %+v", list)
	}
	if after := query[string](t, b, stamp, row.ID[:]); after != before {
		t.Errorf("the row was touched: %s became %s", before, after)
	}
	if count := b.commits.Take(); count != (pgtest.CommitCount{}) {
		t.Errorf("%+v", count)
	}
}
