package recovery

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// quietFor is how long nothing is handed to a task queue on which nobody took anything. Its
// requests would only stand in the way of those that somebody takes.
const quietFor = 5 * time.Second

// queue is what a dispatcher has heard of a task queue.
type queue struct {
	taken      time.Time // when a worker took something last
	quietUntil time.Time
}

// heard notes whether a worker took what was handed to the queue. Of a Temporal that does not answer
// nothing is learned.
func (r *round) heard(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, now := r.queues[name], time.Now()
	switch {
	case err == nil:
		q = queue{taken: now}
	case timedOut(err) && now.Sub(q.taken) > acceptTimeout:
		q.quietUntil = now.Add(quietFor)
	}
	r.queues[name] = q
}

// quiet reports whether the queue is left alone now. When its time is over, one request asks for all.
func (r *round) quiet(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, now := r.queues[name], time.Now()
	if q.quietUntil.IsZero() || now.Before(q.quietUntil) {
		return !q.quietUntil.IsZero()
	}
	q.quietUntil = now.Add(acceptTimeout + quietFor)
	r.queues[name] = q
	return false
}

// timedOut reports whether nobody answered a request that Temporal may well have.
func timedOut(err error) bool {
	var deadline *serviceerror.DeadlineExceeded
	var update *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &deadline) || errors.As(err, &update)
}
