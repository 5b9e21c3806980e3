package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/receipts"
	"writ/tools"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bundle is an outbox in a schema of the test's own, and a worker that hosts the tools.
type bundle struct {
	*activities.Activities
	store   *outbox.Store
	pool    *pgxpool.Pool
	commits *pgtest.Commits
	// ahead is how far the schema's clock is ahead of the server's.
	ahead *time.Duration
}

func start(t *testing.T, p policy.Policy, list ...tools.Tool) bundle {
	t.Helper()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, commits := pgtest.Pool(t, url)
	b := bundle{store: outbox.New(pool), pool: pool, commits: commits, ahead: new(time.Duration)}
	return b.worker(t, p, list...)
}

// worker is the same outbox with another worker.
func (b bundle) worker(t *testing.T, p policy.Policy, list ...tools.Tool) bundle {
	t.Helper()
	return b.following(t, p, nil, list...)
}

// following is worker with a policy that follows PostgreSQL; see activities.Config.
func (b bundle) following(t *testing.T, p policy.Policy, follow func(context.Context, string) error, list ...tools.Tool) bundle {
	t.Helper()
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	b.Activities = activities.New(activities.Config{
		Store: b.store, Registry: registry, Policy: policy.NewEngine(p, slog.New(slog.DiscardHandler)), TaskQueue: "writ", Worker: "worker-1",
		Logger: slog.New(slog.DiscardHandler), Follow: follow,
	})
	return b
}

// later moves the schema's clock forward.
func (b bundle) later(t *testing.T, d time.Duration) {
	t.Helper()
	*b.ahead += d
	b.exec(t, fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT clock_timestamp() + interval '%d microseconds' $$`, b.ahead.Microseconds()))
}

func (b bundle) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// rows counts what is written of intents, attempts and receipts.
func (b bundle) rows(t *testing.T) (n int) {
	t.Helper()
	const query = `SELECT (SELECT count(*) FROM intents) + (SELECT count(*) FROM attempts) + (SELECT count(*) FROM receipts)`
	if err := b.pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (b bundle) row(t *testing.T, in activities.Input) outbox.Row {
	t.Helper()
	row, err := b.store.Load(t.Context(), in.IntentID)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// result returns the recorded answer.
func (b bundle) result(t *testing.T, id intent.ID) (mediaType string, body []byte, err error) {
	t.Helper()
	answer, body, err := b.store.Result(t.Context(), id)
	if answer == nil {
		return "", body, err
	}
	return answer.MediaType, body, err
}

func (b bundle) receipt(t *testing.T, in activities.Input) receipts.Receipt {
	t.Helper()
	body, err := receipts.Get(t.Context(), b.pool, in.IntentID)
	if err != nil {
		t.Fatal(err)
	}
	r, err := receipts.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask is the input of a caller who waits for the tool's answer.
func ask(tool string, change ...func(*activities.Request)) activities.Input {
	r := activities.Request{
		Tool: tool, RequestKey: "order-4711", Payload: json.RawMessage(`{"amount":"12.90"}`),
		Context: intent.EffectContext{Principal: "till-7", Tenant: "acme", AuthenticationSource: intent.AuthenticatedDirect},
	}
	for _, c := range change {
		c(&r)
	}
	return activities.Input{IntentID: intent.IntentID(r.Context.Tenant, r.RequestKey), Request: &r,
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
}

func detached(r *activities.Request) { r.Detached = true }

// drive obeys the steps as the workflow does until the intent ended, is parked or is
// rejected, and returns where it stands and what was done. Waits pass at once.
func (b bundle) drive(t *testing.T, in activities.Input) (p activities.Progress, steps []string) {
	t.Helper()
	return b.driveFrom(t, in, b.authorize(t, in))
}

// driveFrom is drive from a step on.
func (b bundle) driveFrom(t *testing.T, in activities.Input, p activities.Progress) (_ activities.Progress, steps []string) {
	t.Helper()
	fromRow := activities.Input{IntentID: in.IntentID}
	for range 100 {
		steps = append(steps, string(p.Step.Kind))
		switch p.Step.Kind {
		case activities.StepPersist:
			p = b.persist(t, in, p)
		case activities.StepAnswer:
			out := b.invoke(t, p, in)
			if out.Evidence == nil {
				if p.Step.Kind = activities.StepPersist; out.Progress.Step.Kind != "" {
					p = out.Progress
				}
				continue
			}
			p = b.journal(t, activities.JournalInput{Input: in, Evidence: out.Evidence, Decision: p.Decision})
		case intent.Invoke:
			out := b.invoke(t, p, fromRow)
			if p = out.Progress; out.Evidence != nil {
				p = b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
			}
		case intent.Reconcile:
			p = b.reconcile(t, p, in)
		case intent.Settle, intent.Park, intent.Renew:
			p = b.journal(t, activities.JournalInput{Input: fromRow})
		case intent.Wait:
			b.later(t, time.Duration(p.WaitMS)*time.Millisecond)
			p = b.authorize(t, fromRow)
		case intent.Stop, activities.StepReject:
			return p, steps
		default:
			t.Fatalf("unknown step %+v", p.Step)
		}
	}
	t.Fatalf("it never comes to rest: %v", steps)
	return p, steps
}

func (b bundle) authorize(t *testing.T, in activities.Input) activities.Progress {
	t.Helper()
	p, err := b.Authorize(t.Context(), in)
	if err != nil {
		t.Fatalf("authorize: %v", err)
	}
	return p
}

func (b bundle) persist(t *testing.T, in activities.Input, p activities.Progress) activities.Progress {
	t.Helper()
	p, err := b.Persist(t.Context(), activities.PersistInput{Input: in, Decision: p.Decision, Version: p.Version, DecidedAt: p.DecidedAt, DecidedAgain: p.DecidedAgain})
	if err != nil {
		t.Fatalf("persist: %v", err)
	}
	return p
}

// recorded authorizes and persists in.
func (b bundle) recorded(t *testing.T, in activities.Input) activities.Progress {
	t.Helper()
	p := b.persist(t, in, b.authorize(t, in))
	if p.State != intent.Recorded {
		t.Fatalf("%+v", p)
	}
	return p
}

func (b bundle) invoke(t *testing.T, p activities.Progress, in activities.Input) activities.InvokeOutput {
	t.Helper()
	out, err := b.Invoke(context.WithoutCancel(t.Context()), invocation(p, in))
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	return out
}

// invocation is the activity's input without heartbeats, which need Temporal.
func invocation(p activities.Progress, in activities.Input) activities.InvokeInput {
	input := activities.InvokeInput{IntentID: in.IntentID, Tool: p.Labels.Tool, Version: p.Version, DecidedAt: p.DecidedAt}
	if p.Step.Kind == activities.StepAnswer {
		input.Answer = in.Request
	}
	return input
}

func (b bundle) reconcile(t *testing.T, p activities.Progress, in activities.Input) activities.Progress {
	t.Helper()
	p, err := b.Reconcile(t.Context(), activities.ReconcileInput{IntentID: in.IntentID, Tool: p.Labels.Tool, Version: p.Version})
	if err != nil {
		t.Fatalf("reconcile: %v", err)
	}
	return p
}

func (b bundle) journal(t *testing.T, in activities.JournalInput) activities.Progress {
	t.Helper()
	p, err := b.Journal(t.Context(), in)
	if err != nil {
		t.Fatalf("journal: %v", err)
	}
	return p
}

// provider is the outside world: it gives its answers in order, the last one for ever,
// and keeps what it was asked.
type provider struct {
	mu      sync.Mutex
	answers []func() (tools.Result, error)
	calls   []tools.Invocation
}

func (p *provider) invoke(_ context.Context, inv tools.Invocation) (tools.Result, error) {
	p.mu.Lock()
	answer := p.answers[min(len(p.calls), len(p.answers)-1)]
	p.calls = append(p.calls, inv)
	p.mu.Unlock()
	return answer()
}

func (p *provider) asked() []tools.Invocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func applied() (tools.Result, error) { return tools.JSON(map[string]bool{"captured": true}) }

func answering(err error) func() (tools.Result, error) {
	return func() (tools.Result, error) { return tools.Result{}, err }
}

// The specs that the tests use, one of each class.
func keyed() tools.Spec {
	return tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, Retryable: true, Timeout: 20 * time.Second,
		Retry: tools.RetryPolicy{MaxAttempts: 3}}
}

func opaque() tools.Spec {
	return tools.Spec{Name: "notifications.send", SideEffectful: true, Retryable: true, Timeout: 20 * time.Second}
}

func read() tools.Spec {
	return tools.Spec{Name: "echo", Retryable: true, Timeout: 20 * time.Second, Retry: tools.RetryPolicy{MaxAttempts: 3}}
}

// hosting is start with one tool of that spec.
func hosting(t *testing.T, spec tools.Spec, answers ...func() (tools.Result, error)) (bundle, *provider) {
	t.Helper()
	p := &provider{answers: answers}
	return start(t, nil, tools.New(spec, p.invoke)), p
}
