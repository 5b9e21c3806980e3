package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"writ/intent"
	"writ/outbox"
)

// DefaultDispatchInterval is how often a dispatcher looks for requests that were enqueued.
const DefaultDispatchInterval = time.Second

// DefaultDispatchAtOnce is how many enqueued requests are worked on at the same time.
const DefaultDispatchAtOnce = 100

// dispatchBatch is how many requests are taken at once. Dispatchers that take at the same moment do
// not see each other's, so each of them may exceed the bound by so many.
const dispatchBatch = 25

// firstSettlePause is how soon a dispatcher looks again whether work has come to rest. It doubles,
// up to the interval, while none does.
const firstSettlePause = 50 * time.Millisecond

// Dispatcher makes intents of enqueued requests: it starts the workflow of each, which
// authorizes it like one that a client sent. Any number may run at once: each request is taken by
// one of them.
type Dispatcher struct {
	store    *outbox.Store
	temporal client.Client
	log      *slog.Logger
	// atOnce bounds the requests whose intents neither rest nor are put off, over all dispatchers;
	// as many again may be the only ones of their tenants.
	atOnce int
	// ready is asked at the start and whenever Temporal did not answer; nil if nothing has to be.
	ready func(context.Context) error
}

// NewDispatcher returns a dispatcher that starts no more while the intents of atOnce enqueued
// requests are at work, but for tenants that have none, up to twice as many; 0: [DefaultDispatchAtOnce].
func NewDispatcher(store *outbox.Store, temporal client.Client, log *slog.Logger, atOnce int) *Dispatcher {
	if atOnce == 0 {
		atOnce = DefaultDispatchAtOnce
	}
	return &Dispatcher{store: store, temporal: temporal, log: log, atOnce: atOnce}
}

// Needs makes the dispatcher call ready before it takes anything, again after Temporal did not
// answer, and returns it. While ready fails nothing is taken, so that no request is put off for a
// Temporal that is away.
func (d *Dispatcher) Needs(ready func(context.Context) error) *Dispatcher {
	d.ready = ready
	return d
}

// Run dispatches what is due, at once, at every interval and after every [outbox.Wake], until ctx ends. It
// listens for those on a connection of its own. What fails is logged and tried again.
func (d *Dispatcher) Run(ctx context.Context, interval time.Duration) {
	r := newRound(d, nil)
	defer r.running.Wait()
	woken := make(chan struct{}, 1)
	r.running.Go(func() { d.listen(ctx, woken) })
	pause, before, said := firstSettlePause, 0, false
	for ctx.Err() == nil {
		took, underWay, err := r.turn(ctx)
		switch {
		case err != nil:
			if !said && ctx.Err() == nil {
				d.log.Warn("enqueued requests are not dispatched", "error", err)
			}
			pause = interval
		case took > 0 || underWay < before:
			pause = firstSettlePause
		case underWay == 0:
			pause = interval
		default:
			pause = min(2*pause, interval)
		}
		before, said = underWay, err != nil
		switch {
		case err != nil:
			rest(ctx, pause, nil) // what failed is not mended by a wake-up, which waits
		case took == 0:
			rest(ctx, pause, woken)
		}
	}
}

// Dispatch hands every request that is due now to Temporal and gives each to each, with the error if
// it has no intent. It waits where the bound demands it. One that failed is not tried twice.
func (d *Dispatcher) Dispatch(ctx context.Context, each func(due outbox.Due, err error)) error {
	r := newRound(d, each)
	defer r.running.Wait()
	var err error
	if r.until, err = d.store.Now(ctx); err != nil {
		return err
	}
	for {
		took, underWay, err := r.turn(ctx)
		switch {
		case err != nil:
			return err
		case took > 0:
			continue
		case underWay < d.atOnce:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(firstSettlePause):
		}
	}
}

// round is what one call of Run or Dispatch knows.
type round struct {
	*Dispatcher
	// until is when the requests were due that are taken; zero: whenever.
	until   time.Time
	each    func(outbox.Due, error)
	after   string // the tenant whose turn was last
	running sync.WaitGroup

	mu     sync.Mutex
	away   bool // Temporal has to be asked first whether it is ready
	queues map[string]queue
}

func newRound(d *Dispatcher, each func(outbox.Due, error)) *round {
	return &round{Dispatcher: d, each: each, away: true, queues: map[string]queue{}}
}

// turn takes as many requests as there is room for and hands them to Temporal, without waiting for
// the answers. It returns how many it took, and for how many work was under way before.
func (r *round) turn(ctx context.Context) (took, underWay int, err error) {
	if err := r.askReady(ctx); err != nil {
		return 0, 0, err
	}
	if underWay, err = r.store.Settle(ctx); err != nil {
		return 0, 0, fmt.Errorf("settle dispatched requests: %w", err)
	}
	room, beyond := r.room(underWay)
	if room+beyond == 0 {
		return 0, underWay, nil
	}
	due, last, err := r.store.TakeDue(ctx, outbox.Take{After: r.after, Limit: room, Beyond: beyond, Until: r.until})
	if err != nil {
		return 0, underWay, fmt.Errorf("take enqueued requests: %w", err)
	}
	r.after = last
	found := map[string]hosted{}
	for i, one := range due {
		h, known := found[one.Action.Tool]
		if !known {
			if h, err = r.host(ctx, one.Action.Tool); err != nil {
				r.giveBack(ctx, due[i:])
				return len(due), underWay, fmt.Errorf("find the workers of %s: %w", one.Action.Tool, err)
			}
			found[one.Action.Tool] = h
		}
		r.running.Go(func() { r.hand(ctx, one, h) })
	}
	return len(due), underWay, nil
}

// room is for how many requests there is room, and for how many more beyond it that are the first of
// their tenants. So nobody's slow intents keep another tenant from its next one, and as many
// tenants would have to be at work as the bound allows requests before one waits for them.
func (d *Dispatcher) room(underWay int) (room, beyond int) {
	room = max(0, min(d.atOnce-underWay, dispatchBatch))
	return room, max(0, min(2*d.atOnce-underWay, dispatchBatch)-room)
}

// hosted is where the workers of a tool poll, or why that is not known.
type hosted struct {
	queue   string
	unknown *intent.Error
}

// giveBack undoes that requests were taken which nobody was asked to work on. Those for which it
// fails come up again when their time has passed.
func (r *round) giveBack(ctx context.Context, due []outbox.Due) {
	for _, one := range due {
		if err := r.store.GiveBack(ctx, one); err != nil {
			r.log.Warn("a request that could not be handed on is taken again later", "intent", one.ID, "error", err)
			return
		}
	}
}

// host finds the workers of a tool. The error is the database's.
func (r *round) host(ctx context.Context, tool string) (hosted, error) {
	spec, err := r.store.Spec(ctx, tool)
	if intent.CodeOf(err) == intent.CodeUnknownTool {
		return hosted{unknown: asError(err, intent.CodeUnknownTool)}, nil
	}
	return hosted{queue: spec.TaskQueue}, err
}

// askReady asks whether Temporal is ready, if it was not, or nobody has asked yet.
func (r *round) askReady(ctx context.Context) error {
	if r.isAway() && r.ready != nil {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		if err := r.ready(ctx); err != nil {
			return fmt.Errorf("make Temporal ready for enqueued requests: %w", err)
		}
	}
	r.setAway(false)
	return nil
}

func (r *round) isAway() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away
}

func (r *round) setAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}
