package writ

import (
	"context"
	"sync"
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/recovery"
)

// RecoveryConfig says what a [Recovery] needs.
type RecoveryConfig struct {
	Config
	// Every is how often [Recovery.Run] looks for intents that stopped. Default: 5 s.
	Every time.Duration
	// DispatchEvery is how often [Recovery.Run] looks for requests that were enqueued, beside every
	// [Wake], for which it listens on one more connection. Default: 1 s.
	DispatchEvery time.Duration
	// DispatchAtOnce is the one of [WorkerConfig].
	DispatchAtOnce int
	// StartWithin is how long [Recovery.Run] waits for PostgreSQL and Temporal when it starts.
	// Default: until they answer. Negative: not at all.
	StartWithin time.Duration
}

// Recovery starts intents again that stopped, from their rows alone, and hosts no tools. Every
// [Worker] does the same beside its work; a Recovery is for a process of its own and for an
// operator. Any number of them may run at once: each intent is taken by one.
type Recovery struct {
	*connection
	cfg        RecoveryConfig
	store      *outbox.Store
	sweeper    *recovery.Sweeper
	dispatcher *recovery.Dispatcher
	ready      chan struct{}
}

// Overdue is an intent that made no progress by its due time.
type Overdue struct {
	ID         intent.ID         `json:"intent_id"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
	Tool       string            `json:"tool"`
	State      intent.State      `json:"state"`
	DueAt      time.Time         `json:"due_at"`
}

// Recovered is an intent, or an enqueued request, that recovery took.
type Recovered struct {
	ID         intent.ID         `json:"intent_id"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
	Tool       string            `json:"tool"`
	// Enqueued says that it was no intent yet, but a request that a host had enqueued.
	Enqueued bool `json:"enqueued,omitempty"`
	// Err says why it has no running workflow; nil: it has one. It comes up again after 15 s; what
	// was enqueued ever later, after up to 5 min, unless its code says that it is parked.
	Err error `json:"-"`
}

// NewRecovery returns a Recovery. Connections are opened when they are first used; the error is
// about the configuration. Close it after use.
func NewRecovery(cfg RecoveryConfig) (*Recovery, error) {
	cfg.Config = cfg.Config.withDefaults()
	if cfg.Every < 0 {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "Every is %s; choose more than 0, or 0 for the default", cfg.Every)
	}
	if cfg.Every == 0 {
		cfg.Every = recovery.DefaultInterval
	}
	if cfg.DispatchEvery < 0 {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "DispatchEvery is %s; choose more than 0, or 0 for the default", cfg.DispatchEvery)
	}
	if cfg.DispatchEvery == 0 {
		cfg.DispatchEvery = recovery.DefaultDispatchInterval
	}
	if err := checkAtOnce(cfg.DispatchAtOnce); err != nil {
		return nil, err
	}
	conn, err := connect(cfg.Config)
	if err != nil {
		return nil, err
	}
	store := outbox.New(conn.pool)
	r := &Recovery{connection: conn, cfg: cfg, store: store, ready: make(chan struct{})}
	r.sweeper = recovery.NewSweeper(store, conn.temporal, cfg.Logger).Needs(r.registered)
	r.dispatcher = recovery.NewDispatcher(store, conn.temporal, cfg.Logger, cfg.DispatchAtOnce).Needs(r.registered)
	return r, nil
}

// Close closes the connections. Workflows that were started go on.
func (r *Recovery) Close() { r.close() }

// Ready is closed when PostgreSQL and Temporal have answered [Recovery.Run].
func (r *Recovery) Ready() <-chan struct{} { return r.ready }

// Overdue gives each every intent that would be started now, the longest overdue first, until one
// returns an error, which is returned. It writes nothing and needs no Temporal.
func (r *Recovery) Overdue(ctx context.Context, each func(Overdue) error) error {
	var at outbox.Overdue
	for {
		page, err := r.store.Overdue(ctx, at, overduePage)
		if err != nil {
			return err
		}
		for _, o := range page {
			err := each(Overdue{ID: o.ID, Tenant: o.Tenant, RequestKey: o.RequestKey, Tool: o.Tool, State: o.State, DueAt: o.DueAt})
			if err != nil {
				return err
			}
			at = o
		}
		if len(page) < overduePage {
			return nil
		}
	}
}

// overduePage is how many intents are read at once.
const overduePage = 500

// Once starts every intent that is overdue now, and then every enqueued request that is due now, and
// gives each to each, one at a time. It returns when none is left: one that failed is not tried twice.
// Where there are more requests than DispatchAtOnce it waits for their intents. The error has the code of what did not
// answer, PostgreSQL or Temporal.
func (r *Recovery) Once(ctx context.Context, each func(Recovered)) error {
	if err := r.start(ctx, -1, r.migrated, r.registered); err != nil {
		return err
	}
	err := r.sweeper.SweepEach(ctx, func(st outbox.Stalled, err error) {
		if err != nil {
			err = temporalError(err)
		}
		each(Recovered{ID: st.ID, Tenant: st.Tenant, RequestKey: st.RequestKey, Tool: st.Tool, Err: err})
	})
	if err != nil {
		return err
	}
	return r.dispatcher.Dispatch(ctx, func(due outbox.Due, err error) {
		each(Recovered{ID: due.ID, Tenant: due.Action.Tenant, RequestKey: due.RequestKey, Tool: due.Action.Tool, Enqueued: true, Err: err})
	})
}

// Run waits until PostgreSQL and Temporal answer, then starts what is overdue and what is enqueued, at
// once and at every interval, until ctx ends; then it returns nil. What fails on the way is logged and tried again.
// The error is one that waiting does not mend, or that of a start that took too long. It may be called once.
func (r *Recovery) Run(ctx context.Context) error {
	if err := r.start(ctx, r.cfg.StartWithin, r.migrated, r.registered); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	close(r.ready)
	var dispatching sync.WaitGroup
	dispatching.Go(func() { r.dispatcher.Run(ctx, r.cfg.DispatchEvery) })
	r.sweeper.Run(ctx, r.cfg.Every)
	dispatching.Wait()
	return nil
}

// migrated looks whether there is an outbox with what only recovery needs, and nothing in between that it cannot be used through.
func (r *Recovery) migrated(ctx context.Context) error {
	if err := r.store.CheckPooler(ctx); err != nil {
		return err
	}
	_, err := r.store.Stuck(ctx, 1)
	return err
}

// registered makes Temporal ready for workflows.
func (r *Recovery) registered(ctx context.Context) error {
	return registerSearchAttributes(ctx, r.connection, r.cfg.Temporal.Namespace)
}

// maxDispatchAtOnce bounds DispatchAtOnce: each request is in memory while it is handed over.
const maxDispatchAtOnce = 10_000

func checkAtOnce(n int) error {
	if n < 0 || n > maxDispatchAtOnce {
		return intent.Errorf(intent.CodeInvalidConfig, "DispatchAtOnce is %d; choose 1 to %d, or 0 for the default", n, maxDispatchAtOnce)
	}
	return nil
}
