package recovery_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/outbox"
	"writ/recovery"
)

// turns counts how often a dispatcher has looked for what is due.
type turns struct {
	count atomic.Int32
	// during is called at the end of each look, before it is counted, while the dispatcher waits.
	during func(look int32)
}

type looking struct{}

func (l *turns) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "leap") {
		return context.WithValue(ctx, looking{}, true)
	}
	return ctx
}

func (l *turns) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(looking{}) == nil {
		return
	}
	if l.during != nil {
		l.during(l.count.Load() + 1)
	}
	l.count.Add(1)
}

// await waits until there have been n.
func (l *turns) await(t *testing.T, n int32) {
	t.Helper()
	await(t, "the dispatcher looks", func() bool { return l.count.Load() >= n })
	if now := l.count.Load(); now != n {
		t.Fatalf("the dispatcher has looked %d times, want %d", now, n)
	}
}

// idle is a dispatcher that looked twice, at its start and once it listened, and would look again in
// an hour. Its connections have the schema's name.
func idle(t *testing.T, during func(b backlog, look int32)) (backlog, *engine, *turns) {
	t.Helper()
	b, e := newBacklog(t)
	seen := &turns{}
	if during != nil {
		seen.during = func(look int32) { during(b, look) }
	}
	cfg := b.pool.Config()
	cfg.ConnConfig.Tracer = seen
	cfg.ConnConfig.RuntimeParams["application_name"] = cfg.ConnConfig.RuntimeParams["search_path"]
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dispatcher(backlog{pool: pool, store: outbox.New(pool)}, e, 0).Run(ctx, time.Hour)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		pool.Close()
	})
	seen.await(t, 2)
	return b, e, seen
}

func (b backlog) wake(t *testing.T) {
	t.Helper()
	if err := outbox.Wake(t.Context(), b.pool); err != nil {
		t.Error(err)
	}
}

func TestACommittedRequestIsDispatchedWhenItsHostWakesTheDispatchers(t *testing.T) {
	t.Parallel()
	b, e, seen := idle(t, nil)
	b.enqueue(t, "acme", "order-1", "payments.capture", `{}`)
	if e.times("order-1") != 0 || seen.count.Load() != 2 {
		t.Fatal("nobody has woken it")
	}
	b.wake(t)
	await(t, "it is dispatched and forgotten", func() bool { return b.state(t) == "" })
	if e.times("order-1") != 1 || b.intents(t) != 1 {
		t.Errorf("started: %v", e.started)
	}
}

func TestAWakeWhileItsHostHasNotCommittedDoesNoHarm(t *testing.T) {
	t.Parallel()
	b, e, seen := idle(t, nil)
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := outbox.Enqueued{RequestKey: "order-1", Traceparent: "00-caller",
		Action:        intent.Action{Tenant: "acme", Principal: "till-7", Tool: "payments.capture", Payload: []byte(`{}`)},
		EffectContext: intent.EffectContext{Principal: "till-7", Tenant: "acme"}.Canonical()}
	if _, err := outbox.Enqueue(t.Context(), tx, request); err != nil {
		t.Fatal(err)
	}
	b.wake(t)
	seen.await(t, 3)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wake(t)
	seen.await(t, 4)
	if e.times("order-1") != 0 || b.intents(t) != 0 {
		t.Errorf("what was rolled back is started: %v", e.started)
	}
}

func TestAWakeThatComesWhileTheDispatcherLooksIsNotLost(t *testing.T) {
	t.Parallel()
	b, _, _ := idle(t, func(b backlog, look int32) {
		if look == 3 { // it has found nothing
			b.enqueue(t, "acme", "order-1", "payments.capture", `{}`)
			b.wake(t)
		}
	})
	b.wake(t)
	await(t, "it is dispatched", func() bool { return b.intents(t) == 1 })
}

func TestADispatcherWhoseListenerIsCutOffListensAgainAndLooksForWhatItMissed(t *testing.T) {
	t.Parallel()
	b, _, seen := idle(t, nil)
	const cut = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = current_schema() AND query LIKE '%regnamespace%'`
	var listeners int
	if err := b.pool.QueryRow(t.Context(), cut).Scan(&listeners); err != nil || listeners != 1 {
		t.Fatalf("%d connections listen, %v", listeners, err)
	}
	seen.await(t, 3)
	b.enqueue(t, "acme", "order-1", "payments.capture", `{}`)
	b.wake(t)
	await(t, "it is dispatched", func() bool { return b.intents(t) == 1 })
}

func TestAFloodOfWakesMakesADispatcherLookNoMoreOftenThanItMay(t *testing.T) {
	t.Parallel()
	woken := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(t.Context())
	var flooding sync.WaitGroup
	flooding.Go(func() {
		for {
			select {
			case woken <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer flooding.Wait()
	defer stop()
	begun := time.Now()
	for range 8 {
		recovery.Rest(ctx, time.Hour, woken)
	}
	if took := time.Since(begun); took < 8*recovery.WakeGap {
		t.Errorf("it rested 8 times within %s", took)
	}
}
