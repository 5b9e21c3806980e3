package writ

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
	"writ/workflows"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fakeTemporal answers each started workflow with the next of the given runs.
type fakeTemporal struct {
	client.Client // every other method panics
	runs          []func() (workflows.Result, error)
	started       []client.StartWorkflowOptions
	inputs        []activities.Input
	// refuse is what every start fails with; nil: none does.
	refuse error
	// signalled is called for every signal; nil: nobody hears it.
	signalled func()
}

func (f *fakeTemporal) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	run := f.runs[min(len(f.started), len(f.runs)-1)]
	f.started = append(f.started, o)
	f.inputs = append(f.inputs, args[0].(activities.Input))
	return fakeRun{run: run}, nil
}

func (f *fakeTemporal) SignalWithStartWorkflow(_ context.Context, _, _ string, _ any, o client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.started = append(f.started, o)
	f.inputs = append(f.inputs, args[0].(activities.Input))
	if f.signalled != nil {
		f.signalled()
	}
	return nil, nil
}

type fakeRun struct {
	client.WorkflowRun
	run func() (workflows.Result, error)
}

func (r fakeRun) Get(_ context.Context, into any) (err error) {
	*into.(*workflows.Result), err = r.run()
	return err
}

// engine is a client and the activities of a worker over one outbox, without Temporal.
type engine struct {
	*Client
	temporal *fakeTemporal
	steps    *activities.Activities
	// decision is that of the rows that tests write; empty: allowed, by no policies.
	decision string
}

func newEngine(t *testing.T) engine {
	t.Helper()
	return newEngineOver(t, pgtest.Schema(t))
}

func newEngineOver(t *testing.T, url string, change ...func(*tools.Spec)) engine {
	t.Helper()
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	spec := tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true}
	for _, c := range change {
		c(&spec)
	}
	registry, err := tools.NewRegistry(tools.New(spec, func(context.Context, tools.Invocation) (tools.Result, error) {
		return tools.JSON(map[string]bool{"captured": true})
	}))
	if err != nil {
		t.Fatal(err)
	}
	e := engine{temporal: &fakeTemporal{}}
	e.Client = &Client{connection: &connection{pool: pool, temporal: e.temporal, log: slog.New(slog.DiscardHandler)}, store: outbox.New(pool)}
	e.steps = activities.New(activities.Config{Store: e.store, Registry: registry, Policy: policy.NewEngine(nil, slog.New(slog.DiscardHandler)),
		TaskQueue: "canary", Worker: "worker-1", Logger: slog.New(slog.DiscardHandler)})
	published := outbox.Spec{Name: spec.Name, Digest: spec.Digest(), JSON: []byte(`{}`), TaskQueue: "canary"}
	if err := e.store.PublishSpecs(t.Context(), []outbox.Spec{published}); err != nil {
		t.Fatal(err)
	}
	return e
}

// persist authorizes the request and commits its row, as a workflow would.
func (e engine) persist(t *testing.T, r Request) (activities.Progress, error) {
	t.Helper()
	p, err := r.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	in := p.input(t.Context())
	progress, err := e.steps.Authorize(t.Context(), in)
	if err == nil {
		progress, err = e.steps.Persist(t.Context(), activities.PersistInput{Input: in, Decision: progress.Decision})
	}
	return progress, err
}

// accept is persist for a request that is accepted.
func (e engine) accept(t *testing.T, r Request) activities.Progress {
	t.Helper()
	progress, err := e.persist(t, r)
	if err != nil || progress.State != intent.Recorded {
		t.Fatalf("%+v, %v", progress, err)
	}
	return progress
}

// complete drives the accepted request to its end.
func (e engine) complete(t *testing.T, r Request) {
	t.Helper()
	p, err := r.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.steps.Invoke(t.Context(), activities.InvokeInput{IntentID: p.id, Tool: r.Tool, Version: 1})
	if err == nil {
		_, err = e.steps.Journal(t.Context(), activities.JournalInput{Input: activities.Input{IntentID: p.id}, Evidence: out.Evidence})
	}
	if err != nil {
		t.Fatal(err)
	}
}

var capture = Request{Tool: "payments.capture", RequestKey: "order-4711", Principal: "till-7", Payload: []byte(`{"amount":"12.90"}`)}

func TestAnEndedIntentIsAnsweredWithoutTemporal(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	e.complete(t, capture)
	done, err := e.Execute(t.Context(), capture)
	if err != nil || done.Intent.State != intent.Completed || string(done.Answer.JSON) != `{"captured":true}` || len(e.temporal.started) != 0 {
		t.Errorf("%+v, %v; started %d", done, err, len(e.temporal.started))
	}
	if receipt, err := e.Receipt(t.Context(), done.Intent.ID); err != nil || string(receipt) != string(done.Receipt) {
		t.Errorf("%s, %v", receipt, err)
	}
	accepted, err := e.Submit(t.Context(), capture)
	if err != nil || accepted.State != intent.Completed {
		t.Errorf("submitted: %+v, %v", accepted, err)
	}
}

func TestAnotherActionUnderTheSameKeyIsAConflictThatRevealsNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	other := capture
	other.Payload = []byte(`{"amount":"99.00"}`)
	for name, ask := range map[string]func() error{
		"execute": func() error { _, err := e.Execute(t.Context(), other); return err },
		"submit":  func() error { _, err := e.Submit(t.Context(), other); return err },
	} {
		err := ask()
		if intent.CodeOf(err) != intent.CodeIdempotencyConflict || strings.Contains(err.Error(), "12.90") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(e.temporal.started) != 0 {
		t.Error("a workflow was started")
	}
}

func TestALargePayloadIsStagedOnceAndReachesTemporalAsAReference(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	large := capture
	large.Payload = []byte(`{"a":"` + strings.Repeat("x", intent.MaxInline) + `"}`)
	var carried []activities.Input
	run := func() (workflows.Result, error) {
		in := e.temporal.inputs[len(e.temporal.inputs)-1]
		carried = append(carried, in)
		if len(carried) == 1 {
			return workflows.Result{}, &temporal.TerminatedError{}
		}
		progress, err := e.steps.Authorize(t.Context(), in)
		if err == nil {
			_, err = e.steps.Persist(t.Context(), activities.PersistInput{Input: in, Decision: progress.Decision})
		}
		if err != nil {
			t.Error(err)
		}
		e.complete(t, large)
		return workflows.Result{IntentID: in.IntentID, State: intent.Completed}, nil
	}
	e.temporal.runs = []func() (workflows.Result, error){run}
	done, err := e.Execute(t.Context(), large)
	if err != nil || string(done.Intent.Payload) != string(large.Payload) {
		t.Fatalf("%v, with a payload of %d bytes", err, len(done.Intent.Payload))
	}
	if len(carried) != 2 || carried[0].Request.PayloadRef == nil || *carried[0].Request.PayloadRef != *carried[1].Request.PayloadRef {
		t.Fatalf("%d runs: %+v", len(carried), carried)
	}
	for _, in := range carried {
		if len(in.Request.Payload) != 0 {
			t.Errorf("Temporal has the payload too: %d bytes", len(in.Request.Payload))
		}
	}
}

func TestAToolThatNobodyPublishedIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	r := capture
	r.Tool = "payments.captures"
	done, err := e.Execute(t.Context(), r)
	if intent.CodeOf(err) != intent.CodeUnknownTool || done.Intent.RequestKey != "order-4711" {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestARunThatWasStoppedIsStartedAgain(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	id := intent.IntentID(DefaultTenant, "order-4711")
	e.temporal.runs = []func() (workflows.Result, error){
		func() (workflows.Result, error) { return workflows.Result{}, &temporal.TerminatedError{} },
		func() (workflows.Result, error) {
			e.accept(t, capture)
			return workflows.Result{}, temporal.NewCanceledError()
		},
		func() (workflows.Result, error) {
			e.complete(t, capture)
			return workflows.Result{IntentID: id, State: intent.Completed}, nil
		},
	}
	done, err := e.Execute(t.Context(), capture)
	if err != nil || done.Intent.State != intent.Completed || len(e.temporal.started) != 3 {
		t.Errorf("%+v, %v; started %d times", done, err, len(e.temporal.started))
	}
	for _, o := range e.temporal.started {
		if o.ID != workflows.ID(id) || o.TaskQueue != "canary" {
			t.Errorf("%+v", o)
		}
	}
}

func TestARejectionOfTheCallersOwnRequestIsItsError(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	mine, err := capture.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
		return workflows.Result{Rejection: &activities.Rejection{Code: intent.CodeInvalidPayload, Message: "another's", Offset: -1, Of: intent.Digest{1}}}, nil
	}, func() (workflows.Result, error) {
		return workflows.Result{Rejection: &activities.Rejection{Code: intent.CodeInvalidPayload, Message: "no currency", Offset: -1, Of: mine.request.Mark()}}, nil
	}}
	_, err = e.Execute(t.Context(), capture)
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != intent.CodeInvalidPayload || failure.Message != "no currency" || failure.Effect != intent.NotApplied {
		t.Errorf("%+v", err)
	}
}

func TestACallerThatStopsWaitingLearnsWhetherItWasAccepted(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	stopped := func(r Request) *Error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
			cancel()
			return workflows.Result{}, ctx.Err()
		}}
		_, err := e.Execute(ctx, r)
		var failure *Error
		if !errors.As(err, &failure) || failure.Code != intent.CodeNotYetKnown || failure.Effect != intent.Unknown || !failure.TryAgain {
			t.Fatalf("%+v", err)
		}
		return failure
	}
	if said := stopped(capture).Message; !strings.Contains(said, "not known whether") || !strings.Contains(said, `"order-4711"`) {
		t.Errorf("%s", said)
	}
	e.accept(t, capture)
	if said := stopped(capture).Message; !strings.Contains(said, "was accepted and goes on") {
		t.Errorf("%s", said)
	}
}

func TestAnAnswerThatTemporalDoesNotGiveIsUnknown(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
		return workflows.Result{}, errors.New("connection refused")
	}}
	_, err := e.Execute(t.Context(), capture)
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != intent.CodeTemporalUnavailable || failure.Effect != intent.Unknown || !failure.TryAgain {
		t.Errorf("%+v", err)
	}
}

func TestAnEndThatTemporalDoesNotTellIsToldFromTheRow(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
		e.accept(t, capture)
		e.complete(t, capture)
		return workflows.Result{}, errors.New("context deadline exceeded")
	}}
	done, err := e.Execute(t.Context(), capture)
	if err != nil || done.Intent.State != intent.Completed || done.Receipt == nil {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestAnIntentIsShownWithWhatHappensNext(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	v, err := e.Get(t.Context(), intent.IntentID(DefaultTenant, "order-4711"))
	if err != nil || v.State != intent.Recorded || v.Next.Kind != intent.Invoke || string(v.Payload) != `{"amount":"12.90"}` || v.Class != intent.Keyed || v.Attempts == nil {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := e.Get(t.Context(), intent.IntentID(DefaultTenant, "nobody")); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("%v", err)
	}
	if _, err := e.Receipt(t.Context(), v.ID); intent.CodeOf(err) != intent.CodeReceiptNotFound {
		t.Errorf("%v", err)
	}
	list, err := e.Tools(t.Context())
	if err != nil || len(list) != 1 || list[0].TaskQueue != "canary" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestACallerLearnsItsIntentAlsoIfTheRestOfItCannotBeRead(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	hide := func(from, to string) {
		t.Helper()
		if _, err := e.pool.Exec(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
			t.Fatal(err)
		}
	}
	e.accept(t, capture)
	hide("blobs", "away")
	accepted, err := e.Submit(t.Context(), capture)
	var failure *Error
	if !errors.As(err, &failure) || failure.Effect != intent.Unknown || accepted.RequestKey != "order-4711" || accepted.ID.IsZero() || accepted.State != intent.Recorded {
		t.Errorf("submitted: %+v, %v", accepted, err)
	}
	hide("away", "blobs")
	e.complete(t, capture)
	hide("blobs", "away")
	done, err := e.Execute(t.Context(), capture)
	if !errors.As(err, &failure) || failure.Effect != intent.Applied || !strings.Contains(failure.Message, "completed") || done.Intent.RequestKey != "order-4711" || done.Intent.State != intent.Completed {
		t.Errorf("executed: %+v, %v", done.Intent, err)
	}
}

func TestTheLargePayloadOfARejectedRequestDoesNotStay(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	large := capture
	large.Payload = []byte(`{"a":"` + strings.Repeat("x", intent.MaxInline) + `"}`)
	staged := func() (n int) {
		t.Helper()
		if err := e.pool.QueryRow(t.Context(), `SELECT count(*) FROM blobs`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	e.temporal.runs = []func() (workflows.Result, error){func() (workflows.Result, error) {
		if staged() != 1 {
			t.Error("the payload was not staged")
		}
		of := e.temporal.inputs[0].Request.Mark()
		return workflows.Result{Rejection: &activities.Rejection{Code: intent.CodeInputSchema, Message: "no amount", Offset: -1, Of: of}}, nil
	}}
	if _, err := e.Execute(t.Context(), large); intent.CodeOf(err) != intent.CodeInputSchema || staged() != 0 {
		t.Errorf("%v; %d payloads stay", err, staged())
	}
}
