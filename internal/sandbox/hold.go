package sandbox

import (
	"context"
	"sync"
	"time"
)

// holdEnd is why a held request goes on.
type holdEnd int

const (
	holdReleased holdEnd = iota
	holdClientGone
	holdStopping
)

// holds are the requests that hang.
type holds struct {
	stopping <-chan struct{}

	mu      sync.Mutex
	waiting map[*hold]struct{}
}

// hold is one hanging request.
type hold struct {
	key, reference string
	released       chan struct{}
}

// begin registers a hanging request, so that a release that comes before its wait is not lost.
func (hs *holds) begin(key, reference string) *hold {
	h := &hold{key: key, reference: reference, released: make(chan struct{})}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.waiting[h] = struct{}{}
	return h
}

// wait blocks until the request is released, its client is gone or the provider stops. After a delay, unless it is 0, the
// request is released by itself.
func (hs *holds) wait(ctx context.Context, h *hold, delay time.Duration) holdEnd {
	var over <-chan time.Time // never, if there is no delay
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		over = timer.C
	}
	late := false
	defer func() {
		hs.mu.Lock()
		defer hs.mu.Unlock()
		delete(hs.waiting, h)
	}()
	select {
	case <-ctx.Done():
	case <-hs.stopping:
	case <-h.released:
	case <-over:
		late = true
	}
	// When several are true at once, a client that is known to be gone decides: "no effect after the client left" is
	// promised, the order of releases is not.
	switch {
	case ctx.Err() != nil:
		return holdClientGone
	case late || isClosed(h.released):
		return holdReleased
	default:
		return holdStopping
	}
}

// release lets the requests with a key or reference go on, or all of them if key is empty, and returns how many there were.
func (hs *holds) release(key string) int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	n := 0
	for h := range hs.waiting {
		if key == "" || h.key == key || h.reference == key {
			close(h.released)
			delete(hs.waiting, h)
			n++
		}
	}
	return n
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
