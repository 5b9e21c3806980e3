package doctor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"writ/outbox"
	"writ/workflows"
)

// DefaultTimeout is how long each look may take.
const DefaultTimeout = 5 * time.Second

// Subject is what is examined.
type Subject struct {
	Store    *outbox.Store
	Temporal client.Client
	// Address and Namespace are those of Temporal, to be named.
	Address, Namespace string
	// Timeout bounds each look. Default: 5 s.
	Timeout time.Duration
}

// Examine looks at PostgreSQL and at Temporal at the same time. What does not answer within
// the timeout has failed, and what hangs on it is unknown, so that the whole takes a few
// timeouts at most.
func Examine(ctx context.Context, s Subject) Report {
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	f := facts{address: s.Address, namespace: s.Namespace, now: time.Now()}
	known := make(chan outcome[[]outbox.Queue], 1)
	var sides sync.WaitGroup
	sides.Go(func() { s.askPostgres(ctx, &f, known) })
	sides.Go(func() { s.askTemporal(ctx, &f, known) })
	sides.Wait()
	return judge(f)
}

// askPostgres fills in what PostgreSQL knows. The task queues, for which the other side
// waits, are always sent.
func (s Subject) askPostgres(ctx context.Context, f *facts, queues chan<- outcome[[]outbox.Queue]) {
	connected := look(ctx, s.Timeout, s.Store.Inspector)
	i := connected.value
	if connected.err == nil {
		defer func() {
			ctx, cancel := context.WithTimeout(ctx, s.Timeout)
			defer cancel()
			_ = i.Close(ctx) // nothing was written
		}()
		f.server = look(ctx, s.Timeout, i.Server)
	} else {
		f.server.err = connected.err
	}
	if f.server.err != nil {
		skip := notLooked{"PostgreSQL is not reachable"}
		f.schema.err, f.denied.err, f.holds.err, f.backlog.err, f.stuck.err, f.rules.err, f.times.err, f.clock.err, f.pooler.err = skip, skip, skip, skip, skip, skip, skip, skip, skip
		queues <- outcome[[]outbox.Queue]{err: skip}
		return
	}
	f.schema = lookOn(ctx, s.Timeout, i, i.Schema)
	if f.schema.err == nil && f.schema.value.Applied == 0 {
		queues <- outcome[[]outbox.Queue]{err: notLooked{"there is no schema"}}
	} else {
		queues <- lookOn(ctx, s.Timeout, i, i.Queues)
	}
	f.denied = lookOn(ctx, s.Timeout, i, i.Denied)
	if f.schema.err == nil && (f.schema.value.Applied == 0 || len(f.schema.value.Missing) > 0) {
		skip := notLooked{"the schema is not that of this release"}
		f.holds.err, f.backlog.err, f.stuck.err, f.rules.err, f.times.err = skip, skip, skip, skip, skip
	} else {
		f.holds = lookOn(ctx, s.Timeout, i, i.Holds)
		f.backlog = lookOn(ctx, s.Timeout, i, i.Backlog)
		f.stuck = lookOn(ctx, s.Timeout, i, func(ctx context.Context) (outbox.Stuck, error) { return i.Stuck(ctx, namedStuck) })
		f.rules = lookOn(ctx, s.Timeout, i, i.Policies)
		f.times = lookOn(ctx, s.Timeout, i, i.Timelines)
	}
	f.clock = lookOn(ctx, s.Timeout, i, i.Clock)
	f.pooler = lookOn(ctx, s.Timeout, i, i.Pooler) // last, since it may cost the connection
}

// askTemporal fills in what Temporal knows.
func (s Subject) askTemporal(ctx context.Context, f *facts, queues <-chan outcome[[]outbox.Queue]) {
	i := workflows.NewInspector(s.Temporal, s.Namespace)
	f.version = look(ctx, s.Timeout, i.ServerVersion)
	if f.version.err != nil {
		skip := notLooked{"Temporal is not reachable"}
		f.names.err, f.attributes.err, f.polled.err = skip, skip, skip
		f.queues = <-queues
		return
	}
	f.names = look(ctx, s.Timeout, i.Namespace)
	if f.names.err != nil && missingNamespace(f.names.err) {
		skip := notLooked{"the namespace does not exist"}
		f.attributes.err, f.polled.err = skip, skip
		f.queues = <-queues
		return
	}
	f.attributes = look(ctx, s.Timeout, func(ctx context.Context) (a attributes, err error) {
		a.missing, a.mistyped, err = i.SearchAttributes(ctx)
		return a, err
	})
	if f.queues = <-queues; f.queues.err != nil {
		return
	}
	f.polled = look(ctx, s.Timeout, func(ctx context.Context) (map[string]workflows.Polled, error) {
		polled := map[string]workflows.Polled{}
		for _, queue := range f.queues.value {
			p, err := i.Polled(ctx, queue.Name)
			if err != nil {
				return nil, err
			}
			polled[queue.Name] = p
		}
		return polled, nil
	})
}

// look reads one fact within the timeout.
func look[T any](ctx context.Context, timeout time.Duration, read func(context.Context) (T, error)) outcome[T] {
	noAnswer := fmt.Errorf("no answer within %s", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, noAnswer)
	defer cancel()
	value, err := read(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case endedByServer(err):
		err = fmt.Errorf("%w: %w", noAnswer, err)
	}
	return outcome[T]{value, err}
}

// endedByServer reports whether Temporal's side gave the call up at its deadline. gRPC hands
// the deadline on, and that end may arrive just before the deadline passes here.
func endedByServer(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var cancelled *serviceerror.Canceled
	return errors.As(err, &late) || errors.As(err, &cancelled)
}

// lookOn is look on a connection, which an earlier one may have cost.
func lookOn[T any](ctx context.Context, timeout time.Duration, i *outbox.Inspector, read func(context.Context) (T, error)) outcome[T] {
	if i.Lost() {
		return outcome[T]{err: notLooked{"the connection broke at an earlier check"}}
	}
	return look(ctx, timeout, read)
}
