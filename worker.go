package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/recovery"
	"writ/tools"
	"writ/workflows"
)

// WorkerConfig says what a worker needs beside its tools.
type WorkerConfig struct {
	Config
	// TaskQueue is the Temporal task queue that the worker polls. Workers that share one
	// must host the same tools. In the grammar of names. Default: "writ".
	TaskQueue string
	// Policy is the host's rule about who may run what, for example what cedar.Load returns. A
	// policy.Checked is checked against the tools by NewWorker, and the text of a policy.Written is
	// kept in PostgreSQL. Default: policy.AllowRegistered.
	Policy policy.Policy
	// StoredPolicies lets the Cedar policies rule that Client.PutPolicies has put in force, in the
	// place of Policy. A change counts from the next decision on. While none are in force everything
	// is refused, and while those in force do not fit the worker's tools every decision is a
	// gate_error.
	StoredPolicies bool
	// Gates are asked before it: who scores a risk, and who answers for the consents and the data
	// classes that tools declare. Default: nobody scores, and Writ's own gates answer, which go by
	// what Client.GrantConsent, Client.AllowEgress and their like have recorded in PostgreSQL. With
	// policy.NoGate nobody answers, and a declared need is refused.
	Gates policy.Gates
	// Identity names the process in claims and in the Temporal UI, in the grammar of names.
	// Default: pid@host.
	Identity string
	// RecoverEvery is how often the worker looks for intents that stopped. Default: 5 s.
	// Negative: never; then another worker must.
	RecoverEvery time.Duration
	// DispatchEvery is how often the worker looks for requests that were enqueued, beside every
	// [Wake], for which it listens on one more connection. Default: 1 s. Negative: never; then
	// another worker must.
	DispatchEvery time.Duration
	// DispatchAtOnce bounds how many enqueued requests are worked on at the same time: no more are
	// started while the intents of so many, whoever started them, have neither ended nor come to
	// rest. At rest is what waits for a person, a hold, or longer than a minute for its next
	// attempt. A tenant that has none at work may have one started all the same, until there are
	// twice as many. Each further dispatcher may exceed it by 25. Default: 100.
	DispatchAtOnce int
	// StartWithin is how long Run waits for PostgreSQL and Temporal when it starts; what is missing
	// is logged. Default: until they answer. Negative: not at all.
	StartWithin time.Duration
	// StopGrace is how long running tools are waited for at the end. What is still running
	// then is recovered by another worker. Default: 10 s.
	StopGrace time.Duration
	// MaxResult is how many bytes of a tool's answer are kept; of a larger one the beginning,
	// with the size and digest of all of it. Default: 16 MiB; at most 256 MiB.
	MaxResult int
	// ConfirmWithin is how long an intent waits for a person to confirm it, by the database's
	// clock; then it is refused. Default: 24 h; at most 30 days.
	ConfirmWithin time.Duration
	// BreakerFailures is how many attempts in a row, within a minute, a provider may leave
	// unanswered before the circuit breaker holds everything that would be sent to it. It tries
	// the provider after 5 s, then ever more seldom down to every 5 min, and lifts the hold at
	// the first answer. Default: 10. Negative: it never holds anything.
	BreakerFailures int
}

// maxConfirmWithin bounds WorkerConfig.ConfirmWithin.
const maxConfirmWithin = 30 * 24 * time.Hour

func (c WorkerConfig) withDefaults() WorkerConfig {
	c.Config = c.Config.withDefaults()
	if c.TaskQueue == "" {
		c.TaskQueue = DefaultTaskQueue
	}
	if c.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		c.Identity = fmt.Sprintf("%d@%s", os.Getpid(), host)
	}
	if c.RecoverEvery == 0 {
		c.RecoverEvery = recovery.DefaultInterval
	}
	if c.DispatchEvery == 0 {
		c.DispatchEvery = recovery.DefaultDispatchInterval
	}
	if c.StopGrace == 0 {
		c.StopGrace = 10 * time.Second
	}
	c.Temporal.Identity = c.Identity
	return c
}

// Worker hosts tools and drives intents.
type Worker struct {
	*connection
	cfg      WorkerConfig
	registry *tools.Registry
	store    *outbox.Store
	sweeper  *recovery.Sweeper
	ready    chan struct{}
}

// NewWorker returns a worker that hosts the tools. Their specs are frozen now. The error
// is about the configuration or a spec.
func NewWorker(_ context.Context, cfg WorkerConfig, list ...tools.Tool) (*Worker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		return nil, err
	}
	var published []tools.Published
	for _, t := range registry.All() {
		published = append(published, t.Spec.Publish())
	}
	hosted := activities.Hosted(published)
	if checked, ok := cfg.Policy.(policy.Checked); ok {
		if cfg.Policy, err = checked.ForTools(hosted); err != nil {
			return nil, err
		}
	}
	conn, err := connect(cfg.Config)
	if err != nil {
		return nil, err
	}
	store := outbox.New(conn.pool)
	if cfg.StoredPolicies {
		cfg.Policy = &storedPolicies{store: store, hosted: hosted, read: map[string]storedSet{}}
	}
	w := &Worker{connection: conn, cfg: cfg, registry: registry, store: store, ready: make(chan struct{})}
	// A Temporal that lost its store knows no search attributes, and starts nothing without them.
	w.sweeper = recovery.NewSweeper(w.store, w.temporal, cfg.Logger).Needs(w.registered)
	return w, nil
}

func (c WorkerConfig) check() error {
	for _, name := range []struct{ what, value string }{{"task queue", c.TaskQueue}, {"worker identity", c.Identity}} {
		if err := intent.CheckName(name.what, name.value); err != nil {
			return intent.Errorf(intent.CodeInvalidConfig, "%w", err)
		}
	}
	if err := checkLimit("MaxResult", c.MaxResult, maxMaxResult); err != nil {
		return err
	}
	if err := checkAtOnce(c.DispatchAtOnce); err != nil {
		return err
	}
	if c.ConfirmWithin < 0 || c.ConfirmWithin > maxConfirmWithin {
		return intent.Errorf(intent.CodeInvalidConfig, "ConfirmWithin is %s; choose up to %s, or 0 for the default", c.ConfirmWithin, maxConfirmWithin)
	}
	if c.StoredPolicies && c.Policy != nil {
		return intent.Errorf(intent.CodeInvalidConfig, "Policy and StoredPolicies are both set; choose one of them")
	}
	return policy.CheckHost(c.Policy, c.Gates)
}

// Identity names the process in claims and in the Temporal UI.
func (w *Worker) Identity() string { return w.cfg.Identity }

// TaskQueue is the Temporal task queue that the worker polls.
func (w *Worker) TaskQueue() string { return w.cfg.TaskQueue }

// Ready is closed when the worker's tools are published and it polls for work.
func (w *Worker) Ready() <-chan struct{} { return w.ready }

// Run waits until PostgreSQL and Temporal answer, see StartWithin, and hosts the tools until ctx
// ends, then stops polling, waits StopGrace for running tools and returns nil. It may be called
// once; it closes the worker's connections. If ctx ends before the worker is ready, the error is
// about what was missing.
func (w *Worker) Run(ctx context.Context) error {
	defer w.close()
	begun := time.Now()
	if w.cfg.Gates.Development {
		w.cfg.Logger.Warn("this worker is in the development profile: what nobody consented to or let leave is run all the same, and each run says so")
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	failed := make(chan error, 1)
	polling, err := w.poll(ctx, begun, func(err error) { failed <- err })
	if err != nil {
		return err
	}
	close(w.ready)
	sweeping, stopSweeping := context.WithCancel(ctx)
	var background sync.WaitGroup
	if w.cfg.RecoverEvery > 0 {
		background.Go(func() { w.sweeper.Run(sweeping, w.cfg.RecoverEvery) })
	}
	if w.cfg.DispatchEvery > 0 {
		dispatcher := recovery.NewDispatcher(w.store, w.temporal, w.cfg.Logger, w.cfg.DispatchAtOnce).Needs(w.registered)
		background.Go(func() { dispatcher.Run(sweeping, w.cfg.DispatchEvery) })
	}
	select {
	case <-ctx.Done():
	case fatal := <-failed:
		err = temporalError(fatal)
	}
	stopSweeping()
	polling.Stop()
	background.Wait()
	return err
}

// prepare makes the world ready for the first task: the tools are published and the
// search attributes registered before anything is polled.
func (w *Worker) prepare(ctx context.Context) error {
	specs, err := w.specs()
	if err != nil {
		return err
	}
	publish := func(ctx context.Context) error {
		if err := w.store.CheckPooler(ctx); err != nil {
			return err
		}
		if err := w.store.PublishSpecs(ctx, specs); err != nil {
			return err
		}
		return w.preparePolicies(ctx)
	}
	return w.start(ctx, w.cfg.StartWithin, publish, w.registered)
}

// registered makes Temporal ready for workflows.
func (w *Worker) registered(ctx context.Context) error {
	return registerSearchAttributes(ctx, w.connection, w.cfg.Temporal.Namespace)
}

// poll begins to poll. Temporal may have gone since prepare, so this waits for it as well, for what
// is left of StartWithin.
func (w *Worker) poll(ctx context.Context, begun time.Time, fatal func(error)) (worker.Worker, error) {
	within := w.cfg.StartWithin
	if within > 0 {
		within = max(within-time.Since(begun), time.Nanosecond)
	}
	var polling worker.Worker
	err := w.start(ctx, within, func(context.Context) error {
		polling = w.newPoller(fatal)
		if err := polling.Start(); err != nil {
			return temporalStartError(err)
		}
		return nil
	})
	return polling, err
}

func (w *Worker) specs() ([]outbox.Spec, error) {
	var specs []outbox.Spec
	for _, t := range w.registry.All() {
		raw, err := json.Marshal(t.Spec.Publish())
		if err != nil {
			return nil, fmt.Errorf("spec of %s: %w", t.Spec.Name, err)
		}
		canonical, err := intent.Canonicalize(raw)
		if err != nil {
			return nil, fmt.Errorf("spec of %s: %w", t.Spec.Name, err)
		}
		specs = append(specs, outbox.Spec{Name: t.Spec.Name, Digest: t.Digest, JSON: canonical, TaskQueue: w.cfg.TaskQueue})
	}
	return specs, nil
}

func (w *Worker) newPoller(fatal func(error)) worker.Worker {
	poller := worker.New(w.temporal, w.cfg.TaskQueue, worker.Options{
		Identity:                     w.cfg.Identity,
		StickyScheduleToStartTimeout: workflows.StickyTimeout,
		// A keyed tool's lost worker must be noticed within its heartbeat timeout of two
		// seconds, so heartbeats must not be held back for longer than this.
		MaxHeartbeatThrottleInterval:     500 * time.Millisecond,
		DefaultHeartbeatThrottleInterval: 500 * time.Millisecond,
		WorkerStopTimeout:                w.cfg.StopGrace,
		OnFatalError:                     fatal,
	})
	var follow func(context.Context, string) error
	if stored, ok := w.cfg.Policy.(*storedPolicies); ok {
		follow = stored.follow
	}
	steps := activities.New(activities.Config{
		Store: w.store, Registry: w.registry, Policy: policy.NewEngine(w.cfg.Policy, w.cfg.Logger).With(activities.WithGates(w.cfg.Gates, w.store)),
		TaskQueue: w.cfg.TaskQueue, Worker: w.cfg.Identity, Logger: w.cfg.Logger,
		MaxPayload: w.cfg.MaxPayload, MaxResult: w.cfg.MaxResult, ConfirmWithin: w.cfg.ConfirmWithin,
		BreakerFailures: w.cfg.BreakerFailures, Follow: follow, Freed: w.sweeper.Wake,
	})
	poller.RegisterWorkflowWithOptions(workflows.ToolExecute, workflow.RegisterOptions{Name: workflows.Type})
	poller.RegisterWorkflowWithOptions(workflows.ToolSchedule, workflow.RegisterOptions{Name: workflows.TypeScheduled})
	for name, step := range map[string]any{
		activities.NameAuthorize: steps.Authorize,
		activities.NamePersist:   steps.Persist,
		activities.NameInvoke:    steps.Invoke,
		activities.NameJournal:   steps.Journal,
		activities.NameReconcile: steps.Reconcile,
		activities.NameCancel:    steps.Cancel,
	} {
		poller.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: name})
	}
	return poller
}
