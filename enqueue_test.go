package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"writ/intent"
	"writ/telemetry"
	"writ/workflows"
)

// enqueue enqueues in a transaction of a host, which is committed unless that fails.
func (e engine) enqueue(t *testing.T, r Request, o EnqueueOptions) (Enqueued, error) {
	t.Helper()
	var enqueued Enqueued
	err := pgx.BeginFunc(t.Context(), e.pool, func(tx pgx.Tx) (err error) {
		enqueued, err = Enqueue(t.Context(), tx, r, o)
		return err
	})
	return enqueued, err
}

// enqueued is enqueue where it must succeed.
func (e engine) enqueued(t *testing.T, r Request, o EnqueueOptions) Enqueued {
	t.Helper()
	enqueued, err := e.enqueue(t, r, o)
	if err != nil {
		t.Fatal(err)
	}
	return enqueued
}

func (e engine) wantRows(t *testing.T, table string, want int) {
	t.Helper()
	var n int
	if err := e.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != want {
		t.Errorf("%d rows are in %s, want %d: %v", n, table, want, err)
	}
}

func TestAnOrderAndItsIntentAreThereTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if _, err := e.pool.Exec(t.Context(), `CREATE TABLE orders (number int PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	fallen := errors.New("the customer left")
	for _, end := range []error{fallen, nil} {
		err := pgx.BeginFunc(t.Context(), e.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `INSERT INTO orders VALUES (4711)`); err != nil {
				return err
			}
			if _, err := Enqueue(t.Context(), tx, capture, EnqueueOptions{}); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		want := 0
		if end == nil {
			want = 1
		}
		e.wantRows(t, "orders", want)
		e.wantRows(t, "enqueued", want)
	}
	if len(e.temporal.started) != 0 {
		t.Error("a workflow was started")
	}
}

func TestWhatIsEnqueuedHasTheIdentityTheContextAndTheTraceOfItsRequest(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	ctx := telemetry.WithTraceparent(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r := Request{Tool: "payments.capture", Principal: "till-7", Service: "shop", Payload: []byte(` {"b":1.0,"a":""} `)}
	due := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
	var enqueued Enqueued
	err := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) (err error) {
		enqueued, err = Enqueue(ctx, tx, r, EnqueueOptions{NotBefore: due})
		return err
	})
	if err != nil || !strings.HasPrefix(string(enqueued.RequestKey), intent.ReservedPrefix) {
		t.Fatalf("%+v, %v", enqueued, err)
	}
	var id [16]byte
	var tenant, payload, traceparent string
	var effectContext []byte
	var notBefore, dueAt time.Time
	err = e.pool.QueryRow(t.Context(), `SELECT id, tenant, convert_from(payload, 'UTF8'), traceparent, effect_context, not_before, due_at FROM enqueued`).
		Scan(&id, &tenant, &payload, &traceparent, &effectContext, &notBefore, &dueAt)
	if err != nil {
		t.Fatal(err)
	}
	if intent.ID(id) != enqueued.ID || enqueued.ID != intent.IntentID(DefaultTenant, enqueued.RequestKey) || tenant != DefaultTenant || payload != `{"a":"","b":1}` {
		t.Errorf("%x %s %s", id, tenant, payload)
	}
	if !notBefore.Equal(due) || !dueAt.Equal(due) || !strings.Contains(string(effectContext), `"service":"shop"`) {
		t.Errorf("not before %s, due %s, of %s", notBefore, dueAt, effectContext)
	}
	if got := trace.SpanContextFromContext(telemetry.WithTraceparent(t.Context(), traceparent)).TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the trace is %s", got)
	}
}

func TestARequestThatCannotBeEnqueuedIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, c := range map[string]struct {
		change func(*Request, *EnqueueOptions)
		code   intent.Code
	}{
		"no principal":         {func(r *Request, _ *EnqueueOptions) { r.Principal = "" }, intent.CodeUnauthenticated},
		"a list":               {func(r *Request, _ *EnqueueOptions) { r.Payload = []byte(`[]`) }, intent.CodePayloadNotObject},
		"an object in a text":  {func(r *Request, _ *EnqueueOptions) { r.Payload = []byte(`"{}"`) }, intent.CodePayloadNotObject},
		"a payload too large":  {func(_ *Request, o *EnqueueOptions) { o.MaxPayload = 3 }, intent.CodePayloadTooLarge},
		"a limit of no size":   {func(_ *Request, o *EnqueueOptions) { o.MaxPayload = -1 }, intent.CodeInvalidConfig},
		"seconds for a moment": {func(_ *Request, o *EnqueueOptions) { o.NotBefore = time.Unix(time.Now().UnixMilli(), 0) }, intent.CodeInvalidRequest},
	} {
		r, o := capture, EnqueueOptions{}
		c.change(&r, &o)
		if _, err := e.enqueue(t, r, o); intent.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	e.wantRows(t, "enqueued", 0)
}

func TestARequestKeyNamesOneActionOverWhatIsEnqueuedAndWhatIsAnIntent(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	e.complete(t, capture)
	same := e.enqueued(t, capture, EnqueueOptions{})
	if same.ID != intent.IntentID(DefaultTenant, intent.RequestKey(capture.RequestKey)) {
		t.Errorf("the id is %s", same.ID)
	}
	other := capture
	other.Payload = []byte(`{"amount":"99.00"}`)
	if _, err := e.enqueue(t, other, EnqueueOptions{}); intent.CodeOf(err) != intent.CodeIdempotencyConflict || strings.Contains(err.Error(), "12.90") {
		t.Errorf("another action: %v", err)
	}
	e.wantRows(t, "enqueued", 0)
}

func TestAKeyThatWasTakenBehindASnapshotSendsTheHostBackToItsBeginning(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		r := capture
		r.RequestKey = string(level)
		tx, err := e.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `SELECT count(*) FROM enqueued`); err != nil { // takes the snapshot
			t.Fatal(err)
		}
		e.enqueued(t, r, EnqueueOptions{})
		_, err = Enqueue(t.Context(), tx, r, EnqueueOptions{})
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != intent.CodeTransactionConflict || !refused.TryAgain || refused.Effect != intent.NotApplied {
			t.Errorf("%s: %v", level, err)
		}
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		e.enqueued(t, r, EnqueueOptions{})
	}
}

func TestATransactionThatTakesNothingIsNotMistakenForADefect(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, spoil := range map[string]func(tx pgx.Tx) error{
		"failed":    func(tx pgx.Tx) error { _, err := tx.Exec(t.Context(), `SELECT 1/0`); return ignored(err) },
		"read-only": func(tx pgx.Tx) error { _, err := tx.Exec(t.Context(), `SET TRANSACTION READ ONLY`); return err },
		"ended":     func(tx pgx.Tx) error { return tx.Commit(t.Context()) },
	} {
		tx, err := e.pool.Begin(t.Context())
		if err == nil {
			err = spoil(tx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Enqueue(t.Context(), tx, capture, EnqueueOptions{}); intent.CodeOf(err) != intent.CodeTransactionUnusable {
			t.Errorf("%s: %v", name, err)
		}
		if err := tx.Rollback(t.Context()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Fatal(err)
		}
	}
	e.wantRows(t, "enqueued", 0)
}

func TestASearchPathThatDoesNotNameTheOutboxIsSaidToBeWrongAndTheTransactionGoesOn(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, spoil := range map[string]string{
		"no outbox":                 `SET LOCAL search_path = pg_temp`,
		"the host's table of names": `CREATE TEMPORARY TABLE intents (id int) ON COMMIT DROP`,
	} {
		err := pgx.BeginFunc(t.Context(), e.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), spoil); err != nil {
				return err
			}
			if _, err := Enqueue(t.Context(), tx, capture, EnqueueOptions{}); intent.CodeOf(err) != intent.CodeMigrationRequired || !strings.Contains(err.Error(), "search_path") {
				t.Errorf("%s: %v", name, err)
			}
			_, err := tx.Exec(t.Context(), `SELECT 1`)
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	e.wantRows(t, "enqueued", 0)
}

func TestNoTransactionAtAllIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Enqueue(t.Context(), nil, capture, EnqueueOptions{}); intent.CodeOf(err) != intent.CodeTransactionUnusable {
		t.Error(err)
	}
}

func TestATimeThatHasPassedIsNowHoweverLongAgoItWas(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for _, year := range []int{-1_000_000, -5000, -1, 0, 1, 1500, 1970, 2020} {
		r := capture
		r.RequestKey = fmt.Sprint("year", year)
		enqueued := e.enqueued(t, r, EnqueueOptions{NotBefore: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
		shown, err := e.Get(t.Context(), enqueued.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(shown); err != nil {
			t.Errorf("year %d: %v", year, err)
		}
		var due bool
		if err := e.pool.QueryRow(t.Context(), `SELECT due_at <= writ_now() FROM enqueued WHERE id = $1`, enqueued.ID[:]).Scan(&due); err != nil || !due {
			t.Errorf("year %d: it is not due, %v", year, err)
		}
	}
}

// ignored is the error of a statement that has to fail.
func ignored(err error) error {
	if err == nil {
		return errors.New("the statement did not fail")
	}
	return nil
}

func TestAnotherActionUnderAnEnqueuedKeyIsAConflictBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.enqueued(t, capture, EnqueueOptions{})
	other := capture
	other.Payload = []byte(`{"amount":"99.00"}`)
	for name, ask := range map[string]func() error{
		"execute": func() error { _, err := e.Execute(t.Context(), other); return err },
		"submit":  func() error { _, err := e.Submit(t.Context(), other); return err },
	} {
		if err := ask(); intent.CodeOf(err) != intent.CodeIdempotencyConflict || strings.Contains(err.Error(), "12.90") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(e.temporal.started) != 0 {
		t.Error("a workflow was started")
	}
	// Whoever starts a workflow past the client is told the same by the worker.
	progress, err := e.persist(t, other)
	if err != nil || progress.Rejection == nil || progress.Rejection.Code != intent.CodeIdempotencyConflict {
		t.Errorf("%+v, %v", progress, err)
	}
	e.wantRows(t, "intents", 0)
}

func TestTheEnqueuedActionItselfRunsAtOnceWhenItIsAskedForDirectly(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.enqueued(t, capture, EnqueueOptions{NotBefore: time.Now().Add(time.Hour)})
	e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
		e.accept(t, capture)
		e.complete(t, capture)
		return workflows.Result{}, nil
	}}
	if done, err := e.Execute(t.Context(), capture); err != nil || done.Intent.State != intent.Completed {
		t.Errorf("%+v, %v", done, err)
	}
}
