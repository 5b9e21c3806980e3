package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"

	"writ/activities"
	"writ/codec"
	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// acceptTimeout is how long a worker has to commit the row of a request. It is less than a request
// that was taken is left alone.
const acceptTimeout = 10 * time.Second

// unknownToolTries is how often a request is tried whose tool no worker has published: for about
// twelve minutes.
const unknownToolTries = 8

// maxJoined is how often the run of another request with the same key is met in a row.
const maxJoined = 3

// fault says why a request has no intent yet, and what that means for it.
type fault struct {
	why *intent.Error
	// parks: it is not tried again. away: it was no try, because Temporal is away.
	parks, away bool
}

// hand makes an intent of one request that was taken, and writes down why not.
func (r *round) hand(ctx context.Context, due outbox.Due, h hosted) {
	f := r.dispatch(ctx, due, h)
	if f == nil {
		r.tell(due, nil)
		return
	}
	if ctx.Err() != nil {
		return // it comes up again, wherever a dispatcher runs
	}
	var err error
	switch {
	case f.away:
		err = r.store.GiveBack(ctx, due)
	case f.parks:
		r.log.Warn("an enqueued request is parked", "intent_id", due.ID.String(), "tool", due.Action.Tool, "code", f.why.Code, "error", f.why.Message)
		err = r.store.Park(ctx, due, f.why)
	default:
		r.log.Info("an enqueued request is tried again later", "intent_id", due.ID.String(), "tool", due.Action.Tool, "tries", due.Tries, "code", f.why.Code, "error", f.why.Message)
		err = r.store.Postpone(ctx, due, f.why)
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("what came of an enqueued request was not written; it is tried again", "intent_id", due.ID.String(), "error", err)
	}
	r.tell(due, f.why)
}

func (r *round) tell(due outbox.Due, why error) {
	if r.each == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.each(due, why)
}

// dispatch returns nil when there is an intent.
func (r *round) dispatch(ctx context.Context, due outbox.Due, h hosted) *fault {
	switch {
	case due.Known:
		return nil // whose action it is, Settle looks
	case h.unknown != nil:
		return &fault{why: h.unknown, parks: due.Tries >= unknownToolTries}
	case r.quiet(h.queue):
		return &fault{why: noWorker(h.queue)}
	}
	request, err := requestOf(due)
	if err != nil {
		return &fault{why: asError(err, intent.CodeInvalidRequest), parks: true}
	}
	if due.Again {
		stands, err := r.stands(ctx, due)
		switch {
		case err != nil:
			return &fault{why: asError(err, intent.CodeDatabaseUnavailable)}
		case stands:
			r.forget(ctx, due)
			return nil
		}
	}
	in, err := r.input(ctx, due, request)
	if err != nil {
		return &fault{why: asError(err, intent.CodeDatabaseUnavailable)}
	}
	for range maxJoined {
		accepted, err := r.submit(ctx, h.queue, in)
		switch {
		case err != nil:
			return r.refused(ctx, h.queue, err)
		case accepted.Rejection == nil:
			return r.decidedAgain(ctx, due, accepted)
		case accepted.Rejection.Of == in.Request.Mark():
			r.unstage(ctx, in)
			return &fault{why: asError(accepted.Rejection.Error(), accepted.Rejection.Code), parks: true}
		}
	}
	return &fault{why: intent.Errorf(intent.CodeNotYetKnown, "another request with the same request key is being rejected; this one is tried again")}
}

// decidedAgain is nil unless the request asks for a decision on a refused intent, and has joined a
// workflow that did not make one: then it is tried again.
func (r *round) decidedAgain(ctx context.Context, due outbox.Due, accepted workflows.Accepted) *fault {
	switch {
	case !due.Again:
		return nil
	case accepted.State == intent.Refused && accepted.DecidedAgain == 0:
		return &fault{why: intent.Errorf(intent.CodeNotYetKnown, "the intent was refused, and that is not decided on again yet; this one is tried again")}
	}
	r.forget(ctx, due)
	return nil
}

// stands reports whether the refusal that the request has found is its answer, as a person's no is.
func (r *round) stands(ctx context.Context, due outbox.Due) (bool, error) {
	row, err := r.store.Load(ctx, due.ID)
	if err != nil {
		return false, err
	}
	again, err := row.DecidesAgain()
	return !again, err
}

// forget removes a request whose answer is a refusal. If that fails, it is only asked once more.
func (r *round) forget(ctx context.Context, due outbox.Due) {
	if err := r.store.Forget(ctx, due); err != nil {
		r.log.Warn("a request that was decided on again is tried again", "intent_id", due.ID.String(), "error", err)
	}
}

// input is what a client would have sent.
func (r *round) input(ctx context.Context, due outbox.Due, request activities.Request) (activities.Input, error) {
	request, err := request.Stage(ctx, r.store)
	request = request.Staged()
	return activities.Input{IntentID: due.ID, Request: &request, Traceparent: due.Traceparent}, err
}

func (r *round) submit(ctx context.Context, queue string, in activities.Input) (workflows.Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	accepted, err := workflows.Submit(ctx, r.temporal, queue, in)
	r.heard(queue, err)
	return accepted, err
}

// unstage drops the payload of a request that was rejected. If that fails, the sweeper drops it.
func (r *round) unstage(ctx context.Context, in activities.Input) {
	if in.Request.PayloadRef == nil {
		return
	}
	if err := r.store.Unstage(ctx, in.IntentID, *in.Request.PayloadRef); err != nil {
		r.log.Warn("the payload of a rejected request stays until it is old", "intent_id", in.IntentID.String(), "error", err)
	}
}

// refused tells what is wrong with one request from what is wrong with Temporal.
func (r *round) refused(ctx context.Context, queue string, err error) *fault {
	var argument *serviceerror.InvalidArgument
	var permission *serviceerror.PermissionDenied
	switch {
	case codec.Unopened(err):
		return &fault{why: asError(err, intent.CodePayloadKeyMissing)}
	case errors.As(err, &argument), errors.As(err, &permission):
		// A Temporal whose store was replaced calls everything invalid, until it is made ready.
		r.setAway(true)
		return &fault{why: intent.Errorf(intent.CodeTemporalRefused, "Temporal refused to start the workflow; mend the TEMPORAL_* settings: %w", err)}
	}
	unavailable := intent.Errorf(intent.CodeTemporalUnavailable, "Temporal did not answer: %w", err)
	if r.isAway() {
		return &fault{why: unavailable, away: true}
	}
	r.setAway(true)
	if r.askReady(ctx) != nil {
		r.setAway(true)
		return &fault{why: unavailable, away: true}
	}
	if timedOut(err) {
		return &fault{why: noWorker(queue)}
	}
	return &fault{why: unavailable}
}

// asError is err with its code, or with the given one if it has none.
func asError(err error, code intent.Code) *intent.Error {
	var e *intent.Error
	if errors.As(err, &e) {
		return e
	}
	return intent.Errorf(code, "%w", err)
}

func noWorker(queue string) *intent.Error {
	return intent.Errorf(intent.CodeNotYetKnown, "no worker on task queue %q took it within %s; start one that hosts the tool: it is tried again", queue, fmt.Sprint(acceptTimeout))
}
