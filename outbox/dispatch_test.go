package outbox_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// backlog enqueues n requests of the tenant, due now.
func (b bundle) backlog(t *testing.T, tenant string, n int) {
	t.Helper()
	b.exec(t, `
		INSERT INTO enqueued (id, tenant, request_key, principal, tool, payload, effect_context, salt, fingerprint, traceparent, created_at, due_at)
		SELECT gen_random_uuid(), $1, 'order-' || n, 'till-7', 'payments.capture', '{}', '{}', decode(repeat('00', 16), 'hex'),
			decode(repeat('00', 32), 'hex'), '', writ_now(), writ_now()
		FROM generate_series(1, $2::int) n`, tenant, n)
}

func (b bundle) take(t *testing.T, take outbox.Take) []outbox.Due {
	t.Helper()
	due, _, err := b.TakeDue(t.Context(), take)
	if err != nil {
		t.Error(err)
	}
	return due
}

// takeOne is take where there must be one.
func (b bundle) takeOne(t *testing.T) outbox.Due {
	t.Helper()
	due := b.take(t, outbox.Take{Limit: 10})
	if len(due) != 1 {
		t.Fatalf("%d requests were taken, want 1", len(due))
	}
	return due[0]
}

func (b bundle) settle(t *testing.T, want int) {
	t.Helper()
	if underWay, err := b.Settle(t.Context()); err != nil || underWay != want {
		t.Fatalf("work is under way for %d requests, %v; want %d", underWay, err, want)
	}
}

func TestATenantsBacklogDoesNotHoldUpAnothersNextRequest(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.backlog(t, "acme", 10_000)
	b.backlog(t, "globex", 1)
	seen := map[string]int{}
	for _, due := range b.take(t, outbox.Take{Limit: 20}) {
		seen[due.Action.Tenant]++
	}
	if seen["acme"] != 10 || seen["globex"] != 1 {
		t.Errorf("taken: %v", seen)
	}
}

func TestTenantsTakeTurnsAlsoIfThereAreMoreOfThemThanPlaces(t *testing.T) {
	t.Parallel()
	b := start(t)
	for n := range 7 {
		b.backlog(t, fmt.Sprintf("tenant-%d", n), 2)
	}
	var turns []string
	for after := ""; ; {
		due, last, err := b.TakeDue(t.Context(), outbox.Take{After: after, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			break
		}
		var names []string
		for _, d := range due {
			names = append(names, strings.TrimPrefix(d.Action.Tenant, "tenant-"))
		}
		slices.Sort(names)
		turns = append(turns, strings.Join(names, ""))
		after = last
	}
	if want := []string{"012", "345", "016", "234", "56"}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
}

func TestATenantWithNothingUnderWayGetsOneBeyondTheLimitAndThenNoMore(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.backlog(t, "acme", 50)
	if due := b.take(t, outbox.Take{Limit: 10}); len(due) != 10 {
		t.Fatalf("%d are taken, want 10", len(due))
	}
	for _, tenant := range []string{"globex", "initech", "umbrella"} {
		b.backlog(t, tenant, 2)
	}
	tenants := func(due []outbox.Due) (all []string) {
		for _, d := range due {
			all = append(all, d.Action.Tenant)
		}
		slices.Sort(all)
		return all
	}
	if got, want := tenants(b.take(t, outbox.Take{Beyond: 2})), []string{"globex", "initech"}; !slices.Equal(got, want) {
		t.Errorf("beyond the limit %v are served, want %v", got, want)
	}
	if got, want := tenants(b.take(t, outbox.Take{Beyond: 20})), []string{"umbrella"}; !slices.Equal(got, want) {
		t.Errorf("then %v are served, want %v", got, want)
	}
	if due := b.take(t, outbox.Take{Beyond: 20}); len(due) != 0 {
		t.Errorf("a second one of a tenant is taken beyond the limit: %v", tenants(due))
	}
}

func TestARequestIsNotTakenBeforeItsTimeAndRestsLongerAfterEachTry(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	e := enqueued(`{"amount":"12.90"}`)
	e.NotBefore, e.Traceparent, e.EffectContext = noon.Add(time.Hour), "00-caller", []byte(`{"service":"shop"}`)
	if err := b.enqueue(t, e, true); err != nil {
		t.Fatal(err)
	}
	b.setClock(t, noon.Add(time.Hour-time.Microsecond))
	if due := b.take(t, outbox.Take{Limit: 10}); len(due) != 0 {
		t.Fatalf("before its time: %+v", due)
	}
	at := noon.Add(time.Hour)
	for try, rest := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		b.setClock(t, at)
		due := b.takeOne(t)
		if due.Tries != try+1 || due.ID != intent.IntentID("acme", "order-7") || due.RequestKey != "order-7" || string(due.Action.Payload) != `{"amount":"12.90"}` ||
			due.Action.Principal != "till-7" || due.Action.Tool != "payments.capture" || string(due.EffectContext) != `{"service":"shop"}` || due.Traceparent != "00-caller" || due.Known {
			t.Fatalf("try %d: %+v", try+1, due)
		}
		at = at.Add(rest)
		b.setClock(t, at.Add(-time.Microsecond))
		if due := b.take(t, outbox.Take{Limit: 10}); len(due) != 0 {
			t.Fatalf("try %d is repeated within %s", try+1, rest)
		}
	}
}

func TestARequestThatWasTriedAsOftenAsCanBeCountedHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.backlog(t, "acme", 2)
	b.exec(t, `UPDATE enqueued SET tries = 2147483647 WHERE id = (SELECT id FROM enqueued ORDER BY id LIMIT 1)`)
	due := b.take(t, outbox.Take{Limit: 2})
	if len(due) != 2 || due[0].Tries+due[1].Tries != 2147483647+1 {
		t.Errorf("taken: %+v", due)
	}
}

func TestManyDispatchersTakeEachRequestOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	for n := range 5 {
		b.backlog(t, fmt.Sprintf("tenant-%d", n), 40)
	}
	var mu sync.Mutex
	taken := map[intent.ID]int{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for misses := 0; misses < 20; { // one that finds all rows locked looks again
				due := b.take(t, outbox.Take{Limit: 7})
				if len(due) == 0 {
					misses++
				}
				mu.Lock()
				for _, d := range due {
					taken[d.ID]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, times := range taken {
		if times != 1 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
	if len(taken) != 200 {
		t.Errorf("%d of 200 requests were taken", len(taken))
	}
}

func TestWhatIsDueLaterThanAskedForIsNotTaken(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.backlog(t, "acme", 1)
	b.setClock(t, noon.Add(time.Minute))
	if due := b.take(t, outbox.Take{Limit: 1, Until: noon.Add(-time.Second)}); len(due) != 0 {
		t.Errorf("taken: %+v", due)
	}
	if due := b.take(t, outbox.Take{Limit: 1, Until: noon}); len(due) != 1 {
		t.Errorf("taken: %+v", due)
	}
}

func TestWhatIsSaidOfATryIsKeptAndOnlyOfTheLastOne(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.backlog(t, "acme", 1)
	state := func() string {
		return query[string](t, b, `SELECT concat_ws(' ', tries, error_code, error, due_at - '2026-03-01T12:00:00Z', dispatched_at IS NOT NULL, parked_at IS NOT NULL) FROM enqueued`)
	}
	first := b.takeOne(t)
	why := intent.Errorf(intent.CodeTemporalRefused, "no")
	steps := []struct {
		what string
		do   func() error
		want string
	}{
		{"put off", func() error { return b.Postpone(t.Context(), first, why) }, "1 temporal_refused no 00:00:15 f f"},
		{"given back by who has it no more", func() error { return b.GiveBack(t.Context(), outbox.Due{ID: first.ID, Tries: 2}) }, "1 temporal_refused no 00:00:15 f f"},
		{"given back", func() error { return b.GiveBack(t.Context(), first) }, "0 temporal_refused no 00:00:00 f f"},
		{"parked", func() error { return b.Park(t.Context(), first, intent.Errorf(intent.CodeInputSchema, "bad")) }, "0 input_schema_violation bad f t"},
		{"put off when it is parked", func() error { return b.Postpone(t.Context(), outbox.Due{ID: first.ID}, why) }, "0 input_schema_violation bad f t"},
		{"given back when it is parked", func() error { return b.GiveBack(t.Context(), outbox.Due{ID: first.ID}) }, "0 input_schema_violation bad f t"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if got := state(); got != step.want {
			t.Fatalf("%s: %q, want %q", step.what, got, step.want)
		}
	}
	b.setClock(t, noon.Add(time.Hour))
	if due := b.take(t, outbox.Take{Limit: 1}); len(due) != 0 {
		t.Errorf("a parked request is taken: %+v", due)
	}
}
