package recovery

import (
	"context"
	"errors"
	"time"

	"writ/outbox"
)

// wakeGap is how long a dispatcher or a sweeper rests after each turn at least, however often it is
// woken: each turn asks the database, and a wake-up reaches all dispatchers.
const wakeGap = 25 * time.Millisecond

// The pauses before a dispatcher listens again that could not, the first one and the longest.
const (
	firstListenPause = 250 * time.Millisecond
	lastListenPause  = 30 * time.Second
)

// listen puts something into woken after every [outbox.Wake], until ctx ends. Wake-ups become one
// while nobody takes them. Without them the dispatcher looks at its interval alone, so nothing
// fails if this does.
func (d *Dispatcher) listen(ctx context.Context, woken chan<- struct{}) {
	pause, said := firstListenPause, false
	wake := func() {
		pause, said = firstListenPause, false
		select {
		case woken <- struct{}{}:
		default: // one is there already
		}
	}
	for {
		err := d.store.Listen(ctx, wake)
		if ctx.Err() != nil {
			return
		}
		if !said {
			d.log.Info("wake-ups are not heard; enqueued requests are looked for at the interval", "error", err)
			said = true
		}
		if errors.Is(err, outbox.ErrNotListening) {
			return
		}
		rest(ctx, pause, nil)
		pause = min(2*pause, lastListenPause)
	}
}

// rest waits until the pause is over or something wakes it, which takes effect after wakeGap.
func rest(ctx context.Context, pause time.Duration, woken <-chan struct{}) {
	begun := time.Now()
	select {
	case <-ctx.Done():
		return
	case <-time.After(pause):
		return
	case <-woken:
	}
	select {
	case <-ctx.Done():
	case <-time.After(wakeGap - time.Since(begun)):
	}
}
