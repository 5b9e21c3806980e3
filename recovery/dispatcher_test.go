package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/recovery"
	"writ/workflows"
)

// engine stands for Temporal and the workers behind it. By default it commits the row of a
// request and ends it.
type engine struct {
	client.Client // every other method panics
	b             backlog

	mu      sync.Mutex
	inputs  map[string]activities.Input
	started map[string]int // by request key
	queues  map[string]int
	// accept answers a request, and rests says whether its intent ends at once.
	accept func(ctx context.Context, in activities.Input) (workflows.Accepted, error)
	rests  bool
}

func (e *engine) NewWithStartWorkflowOperation(o client.StartWorkflowOptions, _ any, args ...any) client.WithStartWorkflowOperation {
	e.mu.Lock()
	defer e.mu.Unlock()
	in := args[0].(activities.Input)
	e.inputs[o.ID] = in
	e.started[string(in.Request.RequestKey)]++
	e.queues[o.TaskQueue]++
	return nil
}

func (e *engine) UpdateWithStartWorkflow(ctx context.Context, o client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	e.mu.Lock()
	in := e.inputs[o.UpdateOptions.WorkflowID]
	e.mu.Unlock()
	accepted, err := e.accept(ctx, in)
	return answer{accepted: accepted}, err
}

type answer struct {
	client.WorkflowUpdateHandle
	accepted workflows.Accepted
}

func (a answer) Get(_ context.Context, to any) error {
	*to.(*workflows.Accepted) = a.accepted
	return nil
}

// proposed is the row that a worker proposes for the request.
func proposed(r activities.Request) outbox.Proposal {
	return outbox.Proposal{Tenant: r.Context.Tenant, RequestKey: r.RequestKey, Principal: r.Context.Principal, Tool: r.Tool, TaskQueue: "canary",
		Payload: r.Payload, EffectContext: r.Context.Canonical(), Decision: []byte(`{}`), IdempotencyKey: intent.DeriveKey(r.Context.Tenant, r.Tool, r.RequestKey, 1),
		Rules: intent.Rules{Class: intent.Keyed, Timeout: time.Second, MaxAttempts: 1}}.Bound()
}

// commit is what a worker does with a request.
func (e *engine) commit(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
	r := *in.Request
	if r.PayloadRef != nil {
		staged, err := e.b.store.Staged(ctx, in.IntentID, *r.PayloadRef)
		if err != nil {
			return workflows.Accepted{}, err
		}
		r.Payload = staged.Body
	}
	p := proposed(r)
	p.Traceparent = in.Traceparent
	if e.rests {
		p.ConfirmWithin = time.Hour
	}
	if _, err := e.b.store.Insert(ctx, p); err != nil {
		return workflows.Accepted{}, err
	}
	return workflows.Accepted{State: intent.Recorded}, nil
}

func (e *engine) times(key string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.started[key]
}

// backlog is an outbox in which requests are enqueued, and in which payments.capture is published.
type backlog struct {
	pool  *pgxpool.Pool
	store *outbox.Store
}

func newBacklog(t *testing.T) (backlog, *engine) {
	t.Helper()
	store, pool := newOutbox(t)
	b := backlog{pool: pool, store: store}
	spec := outbox.Spec{Name: "payments.capture", Digest: intent.SpecDigest([]byte(`{}`)), JSON: []byte(`{}`), TaskQueue: "canary"}
	if err := b.store.PublishSpecs(t.Context(), []outbox.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	e := &engine{b: b, inputs: map[string]activities.Input{}, started: map[string]int{}, queues: map[string]int{}, rests: true}
	e.accept = e.commit
	return b, e
}

func (b backlog) enqueue(t *testing.T, tenant, key, tool, payload string) {
	t.Helper()
	request := outbox.Enqueued{RequestKey: intent.RequestKey(key), Traceparent: "00-caller",
		Action:        intent.Action{Tenant: tenant, Principal: "till-7", Tool: tool, Payload: []byte(payload)},
		EffectContext: intent.EffectContext{Principal: "till-7", Tenant: tenant, Service: "shop"}.Canonical()}
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := outbox.Enqueue(t.Context(), tx, request)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// enqueueMany enqueues order-0 to order-(n-1) of acme.
func (b backlog) enqueueMany(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		b.enqueue(t, "acme", fmt.Sprintf("order-%d", i), "payments.capture", `{}`)
	}
}

func (b backlog) setAhead(t *testing.T, interval string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT clock_timestamp() + interval '%s' $$`, interval))
	if err != nil {
		t.Fatal(err)
	}
}

// state says of every request that is left: key, tries, code, and whether it is parked.
func (b backlog) state(t *testing.T) string {
	t.Helper()
	var state string
	const query = `SELECT coalesce(string_agg(concat_ws(' ', request_key, tries, nullif(error_code, ''), CASE WHEN parked_at IS NOT NULL THEN 'parked' END), ', '
		ORDER BY request_key), '') FROM enqueued`
	if err := b.pool.QueryRow(t.Context(), query).Scan(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

func (b backlog) intents(t *testing.T) (n int) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM intents`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func dispatcher(b backlog, e *engine, atOnce int) *recovery.Dispatcher {
	return recovery.NewDispatcher(b.store, e, slog.New(slog.DiscardHandler), atOnce)
}

// dispatch dispatches what is due and then what has come to rest by that, and returns the codes of
// what has no intent.
func dispatch(t *testing.T, d *recovery.Dispatcher) map[string]intent.Code {
	t.Helper()
	codes := map[string]intent.Code{}
	for range 2 {
		err := d.Dispatch(t.Context(), func(due outbox.Due, err error) {
			if err != nil {
				codes[string(due.RequestKey)] = intent.CodeOf(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return codes
}

func TestAnEnqueuedRequestBecomesTheIntentThatAClientWouldHaveMadeAndIsForgotten(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueue(t, "acme", "order-7", "payments.capture", `{"amount":"12.90"}`)
	if codes := dispatch(t, dispatcher(b, e, 0)); len(codes) != 0 {
		t.Fatalf("%v", codes)
	}
	in := e.inputs[workflows.ID(intent.IntentID("acme", "order-7"))]
	want := activities.Request{Tool: "payments.capture", RequestKey: "order-7", Payload: []byte(`{"amount":"12.90"}`), Detached: true,
		Context: intent.EffectContext{Principal: "till-7", Tenant: "acme", Service: "shop"}}
	if fmt.Sprint(*in.Request) != fmt.Sprint(want) || in.Traceparent != "00-caller" || e.queues["canary"] != 1 {
		t.Errorf("it was started with %+v, %+v on %v", in, *in.Request, e.queues)
	}
	if b.state(t) != "" || b.intents(t) != 1 || e.times("order-7") != 1 {
		t.Errorf("left: %q, %d intents, started %v", b.state(t), b.intents(t), e.started)
	}
}

func TestALargeRequestGoesThroughTemporalAsAReference(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueue(t, "acme", "order-7", "payments.capture", `{"note":"`+strings.Repeat("x", intent.MaxInline)+`"}`)
	dispatch(t, dispatcher(b, e, 0))
	in := e.inputs[workflows.ID(intent.IntentID("acme", "order-7"))]
	if in.Request.PayloadRef == nil || len(in.Request.Payload) != 0 || b.state(t) != "" {
		t.Errorf("sent: %d bytes, %+v; left: %q", len(in.Request.Payload), in.Request.PayloadRef, b.state(t))
	}
}

func TestWhatCannotBecomeAnIntentIsParkedWithItsReasonWhileTheRestFlow(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 60)
	b.enqueue(t, "acme", "poison-schema", "payments.capture", `{"amount":7}`)
	b.enqueue(t, "acme", "poison-tool", "payments.captuer", `{}`)
	e.accept = func(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
		if in.Request.RequestKey == "poison-schema" {
			return workflows.Accepted{Rejection: &activities.Rejection{Code: intent.CodeInputSchema, Message: "amount is no text", Of: in.Request.Mark()}}, nil
		}
		return e.commit(ctx, in)
	}
	d := dispatcher(b, e, 0)
	for try, want := range []string{
		"poison-schema 1 input_schema_violation parked, poison-tool 1 unknown_tool",
		"poison-schema 1 input_schema_violation parked, poison-tool 2 unknown_tool", "", "", "", "", "",
		"poison-schema 1 input_schema_violation parked, poison-tool 8 unknown_tool parked",
	} {
		b.setAhead(t, fmt.Sprintf("%d minutes", 6*try))
		dispatch(t, d)
		if got := b.state(t); want != "" && got != want {
			t.Fatalf("after %d minutes: %q, want %q", 6*try, got, want)
		}
	}
	if b.intents(t) != 60 || e.times("poison-schema") != 1 || e.times("poison-tool") != 0 {
		t.Errorf("%d intents, started %v", b.intents(t), e.started)
	}
}

func TestARejectionOfAnotherRequestWithTheSameKeyParksNothing(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 1)
	met := 0
	e.accept = func(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
		if met++; met <= 2 {
			return workflows.Accepted{Rejection: &activities.Rejection{Code: intent.CodeInputSchema, Of: intent.Digest{1}}}, nil
		}
		return e.commit(ctx, in)
	}
	if codes := dispatch(t, dispatcher(b, e, 0)); len(codes) != 0 || b.state(t) != "" {
		t.Errorf("%v, left: %q", codes, b.state(t))
	}
}

func TestARequestThatTemporalRefusesIsPutOffAndTheRestFlow(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 3)
	e.accept = func(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
		if in.Request.RequestKey == "order-1" {
			return workflows.Accepted{}, serviceerror.NewInvalidArgument("no")
		}
		return e.commit(ctx, in)
	}
	if codes := dispatch(t, dispatcher(b, e, 0)); codes["order-1"] != intent.CodeTemporalRefused || b.state(t) != "order-1 1 temporal_refused" {
		t.Errorf("%v, left: %q", codes, b.state(t))
	}
}

func TestTemporalMayBeAwayForAsLongAsItLikesAndNothingIsParkedNorCounted(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 40)
	var away atomic.Bool
	away.Store(true)
	e.accept = func(context.Context, activities.Input) (workflows.Accepted, error) {
		return workflows.Accepted{}, serviceerror.NewUnavailable("away")
	}
	var asked atomic.Int32
	d := dispatcher(b, e, 0).Needs(func(context.Context) error {
		if asked.Add(1) > 1 && away.Load() { // it goes away when the first requests were taken
			return errors.New("away")
		}
		return nil
	})
	for hours := range 30 {
		b.setAhead(t, fmt.Sprintf("%d hours", hours))
		if err := d.Dispatch(t.Context(), func(outbox.Due, error) {}); err == nil && hours > 0 {
			t.Fatal("it dispatches without Temporal")
		}
	}
	var tries, parked int
	if err := b.pool.QueryRow(t.Context(), `SELECT sum(tries), count(parked_at) FROM enqueued`).Scan(&tries, &parked); err != nil || tries != 0 || parked != 0 {
		t.Fatalf("%d tries are counted and %d requests parked, %v", tries, parked, err)
	}
	away.Store(false)
	e.accept = e.commit
	if codes := dispatch(t, d); len(codes) != 0 || b.state(t) != "" || b.intents(t) != 40 {
		t.Errorf("%v, left: %q, %d intents", codes, b.state(t), b.intents(t))
	}
}

func TestNoMoreWorkIsUnderWayThanTheBoundAllows(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 120)
	e.rests = false // the intents do not end by themselves
	most := 0
	var mu sync.Mutex
	e.accept = func(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
		accepted, err := e.commit(ctx, in)
		mu.Lock()
		defer mu.Unlock()
		var open int
		if err := b.pool.QueryRow(ctx, `SELECT count(*) FROM intents WHERE state = 'recorded'`).Scan(&open); err != nil {
			return accepted, err
		}
		most = max(most, open)
		if open == 30 { // as many as may be: end them all
			_, err = b.pool.Exec(ctx, `UPDATE intents SET state = 'cancelled', ended_at = now(), due_at = NULL, version = version + 1 WHERE state = 'recorded'`)
		}
		return accepted, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dispatcher(b, e, 30).Run(ctx, 10*time.Millisecond)
	}()
	await(t, "the backlog is drained", func() bool { return b.state(t) == "" })
	cancel()
	<-done
	if most != 30 || b.intents(t) != 120 {
		t.Errorf("at most %d of %d intents were under way, want 30 of 120", most, b.intents(t))
	}
}

func TestATenantWhoseIntentsFillTheBoundDoesNotHoldUpAnothersNextOne(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	e.rests = false
	b.enqueueMany(t, 40)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dispatcher(b, e, 30).Run(ctx, 10*time.Millisecond)
	}()
	defer func() { cancel(); <-done }()
	await(t, "the bound is full", func() bool { return b.intents(t) == 30 })
	tenants := []string{"globex", "initech", "umbrella"}
	for _, tenant := range tenants {
		b.enqueue(t, tenant, tenant+"-1", "payments.capture", `{}`)
		b.enqueue(t, tenant, tenant+"-2", "payments.capture", `{}`)
	}
	await(t, "each tenant has its first one", func() bool { return b.intents(t) == 33 })
	for _, tenant := range tenants {
		if e.times(tenant+"-1")+e.times(tenant+"-2") != 1 {
			t.Errorf("of %s %d and %d are started, want one", tenant, e.times(tenant+"-1"), e.times(tenant+"-2"))
		}
	}
	_, err := b.pool.Exec(t.Context(), `UPDATE intents SET state = 'cancelled', ended_at = now(), due_at = NULL, version = version + 1 WHERE tenant = 'acme'`)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "all are started when there is room", func() bool { return b.intents(t) == 46 })
}

// await polls until the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestSeveralDispatchersStartEachRequestOnce(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 100)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := dispatcher(b, e, 0).Dispatch(t.Context(), func(outbox.Due, error) {}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	dispatch(t, dispatcher(b, e, 0))
	for key, times := range e.started {
		if times != 1 {
			t.Errorf("%s was started %d times", key, times)
		}
	}
	if b.state(t) != "" || b.intents(t) != 100 {
		t.Errorf("left: %q, %d intents", b.state(t), b.intents(t))
	}
}

// A dispatcher dies, by the end of its context, at each of its steps; the next one finishes.
func TestADispatcherThatDiesAtAnyStepLosesNothingAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"before the start", "after the start", "after the commit"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b, e := newBacklog(t)
			b.enqueueMany(t, 10)
			ctx, die := context.WithCancel(t.Context())
			e.accept = func(call context.Context, in activities.Input) (workflows.Accepted, error) {
				switch step {
				case "before the start":
					die()
					return workflows.Accepted{}, context.Canceled
				case "after the commit":
					defer die()
					return e.commit(context.WithoutCancel(call), in)
				}
				die() // the answer is lost
				if _, err := e.commit(context.WithoutCancel(call), in); err != nil {
					return workflows.Accepted{}, err
				}
				return workflows.Accepted{}, context.Canceled
			}
			dispatcher(b, e, 0).Run(ctx, time.Hour)
			e.accept = e.commit
			b.setAhead(t, "16 seconds")
			dispatch(t, dispatcher(b, e, 0))
			if b.state(t) != "" || b.intents(t) != 10 {
				t.Errorf("left: %q, %d intents", b.state(t), b.intents(t))
			}
		})
	}
}

func TestARequestThatWasRunDirectlyMeanwhileIsForgottenWithoutAStart(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 1)
	request := activities.Request{Tool: "payments.capture", RequestKey: "order-0", Payload: []byte(`{}`),
		Context: intent.EffectContext{Principal: "till-7", Tenant: "acme", Service: "shop"}}
	if _, err := e.commit(t.Context(), activities.Input{IntentID: intent.IntentID("acme", "order-0"), Request: &request}); err != nil {
		t.Fatal(err)
	}
	if codes := dispatch(t, dispatcher(b, e, 0)); len(codes) != 0 || b.state(t) != "" || e.times("order-0") != 0 {
		t.Errorf("%v, left: %q, started %d times", codes, b.state(t), e.times("order-0"))
	}
}

func TestAQueueWithoutAWorkerIsLeftAloneAndTheRestFlow(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	nobodys := outbox.Spec{Name: "letters.print", Digest: intent.SpecDigest([]byte(`{}`)), JSON: []byte(`{}`), TaskQueue: "empty"}
	if err := b.store.PublishSpecs(t.Context(), []outbox.Spec{nobodys}); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		b.enqueue(t, "acme", fmt.Sprintf("letter-%d", i), "letters.print", `{}`)
	}
	b.enqueueMany(t, 5)
	e.accept = func(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
		if in.Request.Tool == "letters.print" {
			return workflows.Accepted{}, context.DeadlineExceeded
		}
		return e.commit(ctx, in)
	}
	codes := dispatch(t, dispatcher(b, e, 10))
	var waiting int
	const query = `SELECT count(*) FROM enqueued WHERE error_code = 'not_yet_known' AND tries = 1 AND parked_at IS NULL AND dispatched_at IS NULL`
	if err := b.pool.QueryRow(t.Context(), query).Scan(&waiting); err != nil || waiting != 60 || len(codes) != 60 {
		t.Errorf("%d of 60 wait for a worker, %d are reported, %v", waiting, len(codes), err)
	}
	// Only those are handed over that were taken before the first one found nobody.
	if e.queues["empty"] > 10 || b.intents(t) != 5 {
		t.Errorf("%d were handed to a queue without a worker, %d of 5 others are intents", e.queues["empty"], b.intents(t))
	}
}

func TestWhatWasTakenAndCouldNotBeHandedOnIsGivenBack(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	b.enqueueMany(t, 3)
	if _, err := b.pool.Exec(t.Context(), `ALTER TABLE tool_specs RENAME TO no_specs`); err != nil {
		t.Fatal(err)
	}
	if err := dispatcher(b, e, 10).Dispatch(t.Context(), nil); err == nil {
		t.Fatal("it dispatched without knowing where the workers are")
	}
	var given int
	const untouched = `SELECT count(*) FROM enqueued WHERE tries = 0 AND dispatched_at IS NULL AND due_at <= writ_now()`
	if err := b.pool.QueryRow(t.Context(), untouched).Scan(&given); err != nil {
		t.Fatal(err)
	}
	if given != 3 {
		t.Errorf("%d of 3 requests are due as before", given)
	}
}
