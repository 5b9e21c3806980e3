package writ

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"writ/intent"
	"writ/outbox"
)

// How long Watch pauses between two reads: 100 ms after a change, and half as long again
// after each read that saw none, up to a second. One row read by its key is cheap.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = time.Second
)

// watchedRead bounds the read of the row, so that a connection that fell silent does not
// end the watch.
const watchedRead = 10 * time.Second

// Watch follows an intent until it ended, is parked, or waits for a person, and then
// returns what [Client.Execute] returns. It starts nothing. An enqueued request is followed into
// its intent; if it is parked, the error has the code that it was rejected with. It reads PostgreSQL only, so an
// intent can be watched while Temporal is away.
//
// changed, if it is not nil, is called with the intent as it stands at first and after each
// change, the last one too. Changes within one pause between reads, 100 ms to 1 s, are seen
// as one. An error of changed ends the watch and is returned.
//
// A database that does not answer is the error of the first read; afterwards it is logged
// and waited for. If ctx ends first, the intent goes on, the error has code not_yet_known,
// and the Execution holds the intent as it was last seen.
func (c *Client) Watch(ctx context.Context, id intent.ID, changed func(Intent) error) (Execution, error) {
	w := watch{client: c, id: id, changed: changed}
	pause := firstPause
	for {
		seen := w.version
		done, over, err := w.look(ctx)
		if over {
			return done, err
		}
		if w.version != seen {
			pause = firstPause
		}
		if !rested(ctx, pause) {
			return Execution{Intent: w.last}, w.notEnded(ctx)
		}
		pause = min(pause+pause/2, longestPause)
	}
}

// rested waits, and reports whether ctx is still good.
func rested(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// watch is an intent that is followed.
type watch struct {
	client  *Client
	id      intent.ID
	changed func(Intent) error
	// last is the intent as it was last seen, at that version; its id is zero before the first
	// time, and the version 0 while the request is enqueued.
	last    Intent
	version int64
	// away says that the database did not answer when it was last asked.
	away bool
}

// look reads the intent once and says whether the watch is over.
func (w *watch) look(ctx context.Context) (done Execution, over bool, err error) {
	row, submitted, err := w.read(ctx)
	if submitted != nil {
		return w.lookAtSubmitted(ctx, *submitted)
	}
	if err == nil && row.Version != w.version {
		var v Intent
		if v, err = w.client.view(ctx, row); err == nil {
			w.last, w.version = v, row.Version
			if w.changed != nil {
				if err := w.changed(v); err != nil {
					return Execution{Intent: v}, true, err
				}
			}
		}
	}
	if err == nil && row.Next().Kind == intent.Stop {
		if done, err = w.client.endOf(ctx, row, w.last); intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
			return done, true, err
		}
	}
	return Execution{Intent: w.last}, w.isFatal(ctx, err), err
}

// lookAtSubmitted is look for an enqueued request, whose watch is over only if it is parked or
// was dropped.
func (w *watch) lookAtSubmitted(ctx context.Context, v Intent) (done Execution, over bool, err error) {
	w.isFatal(ctx, nil)
	if !reflect.DeepEqual(w.last.Submission, v.Submission) {
		w.last = v
		if w.changed != nil {
			if err := w.changed(v); err != nil {
				return Execution{Intent: v}, true, err
			}
		}
	}
	if v.Next.Kind == intent.Stop {
		return Execution{Intent: v}, true, endError(v)
	}
	return Execution{Intent: v}, false, nil
}

func (w *watch) read(ctx context.Context) (outbox.Row, *Intent, error) {
	ctx, cancel := context.WithTimeout(ctx, watchedRead)
	defer cancel()
	return w.client.lookShown(ctx, w.id)
}

// isFatal reports whether err, unless it is nil, ends the watch. An outage that does not is
// logged once.
func (w *watch) isFatal(ctx context.Context, err error) bool {
	if err == nil {
		w.away = false
		return false
	}
	if ctx.Err() != nil {
		return false // the caller's doing, which Watch answers
	}
	if w.last.ID.IsZero() || intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
		return true
	}
	if !w.away {
		w.away = true
		w.client.log.Warn("PostgreSQL does not answer; the intent is watched on", "intent", w.id.String(), "error", err)
	}
	return false
}

// notEnded is the error of a caller that stopped watching.
func (w *watch) notEnded(ctx context.Context) error {
	e := intent.Errorf(intent.CodeNotYetKnown, "intent %s was not read in time; watch it again", w.id)
	e.Cause = ctx.Err()
	if !w.last.ID.IsZero() {
		e.Message = fmt.Sprintf("intent %s has not ended and %s; watch it again", w.id, w.last.goesOn())
		e = provenBy(w.last, e)
	}
	return e
}
