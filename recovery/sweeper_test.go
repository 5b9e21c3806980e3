package recovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/recovery"
	"writ/workflows"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// temporalClient keeps what it was asked to wake or start. Of the refused ids it does neither.
type temporalClient struct {
	client.Client // every other method panics
	mu            sync.Mutex
	started       []string
	inputs        []activities.Input
	options       []client.StartWorkflowOptions
	refused       map[string]bool
	each          func()
}

func (c *temporalClient) SignalWithStartWorkflow(_ context.Context, id, signal string, arg any, o client.StartWorkflowOptions, kind any, args ...any) (client.WorkflowRun, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.each != nil {
		c.each()
	}
	if kind != workflows.Type || len(args) != 1 || id != o.ID || signal != workflows.SignalWake || arg != nil {
		return nil, fmt.Errorf("started %v with %v", kind, args)
	}
	if c.refused[o.ID] {
		return nil, errors.New("temporal does not answer")
	}
	c.started, c.options, c.inputs = append(c.started, o.ID), append(c.options, o), append(c.inputs, args[0].(activities.Input))
	return nil, nil
}

func proposal(requestKey string) outbox.Proposal {
	key := intent.RequestKey(requestKey)
	return outbox.Proposal{Tenant: "acme", RequestKey: key, Principal: "till-7", Tool: "payments.capture", TaskQueue: "canary",
		Payload: []byte(`{}`), EffectContext: []byte(`{}`), Decision: []byte(`{}`), IdempotencyKey: intent.DeriveKey("acme", "payments.capture", key, 1),
		Rules: intent.Rules{Class: intent.Keyed, Timeout: time.Second, MaxAttempts: 1}, Traceparent: "00-caller"}
}

// newOutbox returns a fresh outbox and the pool that it works on.
func newOutbox(t *testing.T) (*outbox.Store, *pgxpool.Pool) {
	t.Helper()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	return outbox.New(pool), pool
}

// overdue returns an outbox with n intents whose workflows are lost.
func overdue(t *testing.T, n int) (*outbox.Store, []outbox.Proposal) {
	t.Helper()
	store, pool := newOutbox(t)
	var proposals []outbox.Proposal
	for i := range n {
		p := proposal(fmt.Sprintf("order-%d", i))
		if _, err := store.Insert(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		proposals = append(proposals, p)
	}
	_, err := pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT clock_timestamp() + interval '1 hour' $$`)
	if err != nil {
		t.Fatal(err)
	}
	return store, proposals
}

func TestALostIntentIsStartedAgainFromItsRowAlone(t *testing.T) {
	t.Parallel()
	store, proposals := overdue(t, 1)
	temporal := &temporalClient{}
	sweeper := recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler))
	if started, err := sweeper.Sweep(t.Context()); err != nil || started != 1 {
		t.Fatalf("%d, %v", started, err)
	}
	id := proposals[0].ID()
	if want := (activities.Input{IntentID: id, Traceparent: "00-caller"}); !reflect.DeepEqual(temporal.inputs[0], want) {
		t.Errorf("input %+v, want %+v", temporal.inputs[0], want)
	}
	o := temporal.options[0]
	if o.ID != workflows.ID(id) || o.TaskQueue != "canary" || o.WorkflowIDConflictPolicy != enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING ||
		o.WorkflowIDReusePolicy != enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE {
		t.Errorf("options %+v", o)
	}
	// It has its time to make progress before it is taken again.
	if started, err := sweeper.Sweep(t.Context()); err != nil || started != 0 {
		t.Errorf("again: %d, %v", started, err)
	}
}

func TestOneThatCannotBeStartedDoesNotHoldUpTheRest(t *testing.T) {
	t.Parallel()
	store, proposals := overdue(t, 205) // more than two batches
	temporal := &temporalClient{refused: map[string]bool{}}
	for _, p := range proposals[:101] { // all of the first batch
		temporal.refused[workflows.ID(p.ID())] = true
	}
	sweeper := recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler))
	if started, err := sweeper.Sweep(t.Context()); err != nil || started != 104 {
		t.Errorf("started %d of 104, %v", started, err)
	}
}

// slowTemporal answers nothing before a second one is asked for, or not at all.
type slowTemporal struct {
	client.Client // every other method panics
	never         bool
	mu            sync.Mutex
	waiting       int
	second        chan struct{}
}

func (c *slowTemporal) SignalWithStartWorkflow(ctx context.Context, _, _ string, _ any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	c.mu.Lock()
	if c.waiting++; c.waiting == 2 && !c.never {
		close(c.second)
	}
	c.mu.Unlock()
	select {
	case <-c.second:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestOverdueIntentsAreStartedSeveralAtATime(t *testing.T) {
	t.Parallel()
	store, _ := overdue(t, 2)
	temporal := &slowTemporal{second: make(chan struct{})}
	sweeper := recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler)).Within(time.Minute)
	if started, err := sweeper.Sweep(t.Context()); err != nil || started != 2 {
		t.Errorf("%d, %v", started, err)
	}
}

func TestASweepThatTemporalHoldsUpEndsWhileItsIntentsAreStillItsOwn(t *testing.T) {
	t.Parallel()
	store, _ := overdue(t, 205)
	temporal, told := &slowTemporal{never: true, second: make(chan struct{})}, 0
	var log bytes.Buffer
	sweeper := recovery.NewSweeper(store, temporal, slog.New(slog.NewTextHandler(&log, nil))).Within(time.Millisecond)
	err := sweeper.SweepEach(t.Context(), func(st outbox.Stalled, err error) {
		if intent.CodeOf(err) != intent.CodeTemporalUnavailable {
			t.Errorf("of %s it is said: %v", st.ID, err)
		}
		told++
	})
	if log.Len() > 0 { // whoever sweeps says it, once
		t.Errorf("it says of each of them what it returns of all: %s", &log)
	}
	if intent.CodeOf(err) != intent.CodeTemporalUnavailable || told != 100 || temporal.waiting > 10 {
		t.Errorf("%v; told of %d, Temporal was asked for %d", err, told, temporal.waiting)
	}
	// The rest was not put off, and is there for whoever comes next.
	rest := recovery.NewSweeper(store, &temporalClient{}, slog.New(slog.DiscardHandler))
	if started, err := rest.Sweep(t.Context()); err != nil || started != 105 {
		t.Errorf("of the rest: %d, %v", started, err)
	}
}

func TestManySweepersStartEachIntentOnce(t *testing.T) {
	t.Parallel()
	store, _ := overdue(t, 120)
	temporal := &temporalClient{}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler)).Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, id := range temporal.started {
		if seen[id] {
			t.Errorf("%s was started twice", id)
		}
		seen[id] = true
	}
	if len(seen) != 120 {
		t.Errorf("%d were started", len(seen))
	}
}

func TestASweeperRunsUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	store, _ := overdue(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	temporal := &temporalClient{each: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler)).Run(ctx, time.Millisecond)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it still runs")
	}
	if len(temporal.started) != 1 {
		t.Errorf("started %v", temporal.started)
	}
}

func TestASweepWithoutADatabaseSaysSo(t *testing.T) {
	t.Parallel()
	pool, _ := pgtest.Pool(t, "postgres://writ@127.0.0.1:1/writ?connect_timeout=2")
	_, err := recovery.NewSweeper(outbox.New(pool), &temporalClient{}, slog.New(slog.DiscardHandler)).Sweep(t.Context())
	if intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
		t.Errorf("%v", err)
	}
}

func TestASweepThatTemporalIsNotReadyForPutsNothingOff(t *testing.T) {
	t.Parallel()
	store, _ := overdue(t, 3)
	temporal, away := &temporalClient{}, errors.New("no search attributes")
	var missing error
	sweeper := recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler)).Needs(func(context.Context) error { return missing })
	missing = away
	if started, err := sweeper.Sweep(t.Context()); started != 0 || !errors.Is(err, away) {
		t.Errorf("%d, %v", started, err)
	}
	missing = nil
	if started, err := sweeper.Sweep(t.Context()); started != 3 || err != nil {
		t.Errorf("when it is ready: %d, %v", started, err)
	}
}

func TestASweeperThatIsWokenStartsWhatABudgetHasRoomForBeforeItsInterval(t *testing.T) {
	t.Parallel()
	store, _ := newOutbox(t)
	on := outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetConcurrency}
	if _, err := store.SetBudget(t.Context(), on, "1", outbox.OverWait, outbox.Decider{Principal: "eve"}); err != nil {
		t.Fatal(err)
	}
	insert := func(key string) outbox.Row {
		row, err := store.Insert(t.Context(), proposal(key))
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	first, second := insert("order-1"), insert("order-2")
	woken := make(chan struct{}, 1)
	temporal := &temporalClient{each: func() { woken <- struct{}{} }}
	s := recovery.NewSweeper(store, temporal, slog.New(slog.DiscardHandler))
	if asked, err := s.Sweep(t.Context()); err != nil || asked != 0 {
		t.Errorf("%d were started before there was room: %v", asked, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, time.Hour) })
	seal := func(context.Context, pgx.Tx, outbox.Row, string, *outbox.Answer) error { return nil }
	row, err := store.Cancel(t.Context(), first.ID, outbox.Decider{Principal: "eve"}, seal)
	if err != nil || !row.Freed {
		t.Fatalf("%+v, %v", row, err)
	}
	s.Wake()
	select {
	case <-woken:
	case <-time.After(time.Minute):
		t.Error("it was not started")
	}
	stop()
	running.Wait()
	if len(temporal.started) != 1 || temporal.started[0] != workflows.ID(second.ID) {
		t.Errorf("%v were started", temporal.started)
	}
}
