package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// DefaultInterval is how often a worker looks for overdue intents.
const DefaultInterval = 5 * time.Second

// tidyInterval is how often what nothing will need again is dropped. Nobody waits for it.
const tidyInterval = time.Minute

// batch is how many intents are taken at once, and atOnce how many of them are asked for at the
// same time: after an outage there may be many, and Temporal answers each within its own commits.
const (
	batch  = 100
	atOnce = 10
)

// batchPatience is how long Temporal may take for a batch. It is less than the time by which a
// taken intent is put off: what was not asked for by then is left to whoever takes it next,
// and is not asked for by two.
const batchPatience = 10 * time.Second

// Sweeper starts the workflows of overdue intents. Any number may run at once: each
// intent is taken by one of them.
type Sweeper struct {
	store    *outbox.Store
	temporal client.Client
	log      *slog.Logger
	// ready is asked before each sweep; nil if nothing has to be.
	ready func(context.Context) error
	// patience is batchPatience.
	patience time.Duration
	// woken has something in it after Wake.
	woken chan struct{}
}

// NewSweeper returns a sweeper for the outbox.
func NewSweeper(store *outbox.Store, temporal client.Client, log *slog.Logger) *Sweeper {
	return &Sweeper{store: store, temporal: temporal, log: log, patience: batchPatience, woken: make(chan struct{}, 1)}
}

// Wake has Run sweep now: something ended that others wait for.
func (s *Sweeper) Wake() {
	select {
	case s.woken <- struct{}{}:
	default: // it was woken already
	}
}

// Needs makes every sweep call ready first and returns the sweeper. If it fails, nothing is taken: what
// is overdue stays so, instead of being put off for a Temporal that could start nothing.
func (s *Sweeper) Needs(ready func(context.Context) error) *Sweeper {
	s.ready = ready
	return s
}

// Run sweeps at once and at every interval, tidies and measures once a minute, until ctx ends. What
// fails is logged and tried again at the next one.
func (s *Sweeper) Run(ctx context.Context, interval time.Duration) {
	sweep, tidy := time.NewTicker(interval), time.NewTicker(tidyInterval)
	defer sweep.Stop()
	defer tidy.Stop()
	s.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			s.sweep(ctx)
		case <-s.woken:
			s.sweep(ctx)
			rest(ctx, wakeGap, nil)
		case <-tidy.C:
			if err := s.Tidy(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("what is no longer needed was not dropped", "error", err)
			}
			if err := s.Measure(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("what makes no progress was not counted", "error", err)
			}
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context) {
	if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("recovery did not finish a sweep", "error", err)
	}
}

// readyTimeout is how long Temporal may take to become ready.
const readyTimeout = 10 * time.Second

// Sweep asks Temporal for a running workflow of every intent that is overdue now and
// returns how many it asked for. A workflow that still runs is told to read its row again,
// because there may be a decision or evidence that it has not heard of; one that does
// not is started. An intent for which Temporal gives none is logged and does not hold up
// the rest: it comes up again when its new due time has passed. If Temporal takes longer than
// 10 s for a hundred of them, the sweep ends with an error of code temporal_unavailable.
func (s *Sweeper) Sweep(ctx context.Context) (asked int, err error) {
	err = s.SweepEach(ctx, func(_ outbox.Stalled, err error) {
		if err == nil {
			asked++
		}
	})
	return asked, err
}

// SweepEach is [Sweeper.Sweep], and tells each of every intent that it took, with the error if
// Temporal gives it no workflow. each is called by one goroutine at a time.
func (s *Sweeper) SweepEach(ctx context.Context, each func(st outbox.Stalled, err error)) error {
	if err := s.prepare(ctx); err != nil {
		return fmt.Errorf("make Temporal ready for overdue intents: %w", err)
	}
	// What is counted is overdue then. What cannot be does not hold up the rest.
	admitted, err := s.store.AdmitWaiting(ctx)
	if err != nil {
		s.log.Warn("not all that budgets have room for was counted; the rest is at the next sweep", "error", err)
	}
	if len(admitted) > 0 {
		s.log.Info("budgets have room for intents that waited", "intents", len(admitted))
	}
	for {
		stalled, err := s.store.TakeStalled(ctx, batch)
		if err != nil {
			return fmt.Errorf("find overdue intents: %w", err)
		}
		if err := s.wakeAll(ctx, stalled, each); err != nil {
			return err
		}
		if len(stalled) < batch {
			return nil
		}
	}
}

// Tidy drops what nothing will need again: a batch of abandoned payloads, and the duplicate
// guard's marks and keys whose window has passed.
func (s *Sweeper) Tidy(ctx context.Context) error {
	if _, err := s.store.DropAbandoned(ctx, batch); err != nil {
		return fmt.Errorf("drop abandoned payloads: %w", err)
	}
	// Every effect leaves a mark, so many may have expired; sweeps wait for this.
	for range guardBatches {
		dropped, err := s.store.DropExpiredGuards(ctx, guardBatch)
		if err != nil {
			return fmt.Errorf("drop expired guards: %w", err)
		}
		if dropped < guardBatch {
			break
		}
	}
	return nil
}

// guardBatch is how many of the guard's marks are dropped in one transaction, and
// guardBatches how many transactions one Tidy takes at most: enough for 300 effects a second.
const (
	guardBatch   = 1000
	guardBatches = 20
)

func (s *Sweeper) prepare(ctx context.Context) error {
	if s.ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.ready(ctx)
}

// wakeAll asks for the workflows of a batch, several at the same time, for as long as its intents
// are this sweeper's.
func (s *Sweeper) wakeAll(ctx context.Context, taken []outbox.Stalled, each func(st outbox.Stalled, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, intent.Errorf(intent.CodeTemporalUnavailable,
		"Temporal took longer than %s for %d overdue intents; those that it did not start come up again", s.patience, len(taken)))
	defer cancel()
	queue := make(chan outbox.Stalled, len(taken))
	for _, st := range taken {
		s.alarm(st)
		queue <- st
	}
	close(queue)
	var waking sync.WaitGroup
	var telling sync.Mutex
	for range min(atOnce, len(taken)) {
		waking.Go(func() {
			for st := range queue {
				err := s.wake(ctx, st)
				telling.Lock()
				each(st, err)
				telling.Unlock()
			}
		})
	}
	waking.Wait()
	return context.Cause(ctx)
}

// wake asks for the workflow of one intent, unless its batch is nobody's any more, and logs what
// came of it.
func (s *Sweeper) wake(ctx context.Context, st outbox.Stalled) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := s.signal(ctx, st)
	switch {
	case err == nil:
		s.log.Info("an overdue intent has a running workflow again", "intent_id", st.ID)
	case ctx.Err() != nil:
		return context.Cause(ctx) // said once, of the whole batch
	default:
		s.log.Warn("an overdue intent was not started", "intent_id", st.ID, "error", err)
	}
	return err
}

func (s *Sweeper) signal(ctx context.Context, st outbox.Stalled) error {
	labels := activities.Labels{Tool: st.Tool, Tenant: st.Tenant, RequestKey: st.RequestKey}
	return workflows.WakeID(ctx, s.temporal, st.ID, st.TaskQueue, labels, st.Traceparent)
}
