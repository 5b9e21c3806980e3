package sandbox

import (
	"context"
	"sync"
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
	key      string
	released chan struct{}
}

// begin registers a hanging request, so that a release that comes before its wait is not lost.
func (hs *holds) begin(key string) *hold {
	h := &hold{key: key, released: make(chan struct{})}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.waiting[h] = struct{}{}
	return h
}

// wait blocks until the request is released, its client is gone or the provider stops.
func (hs *holds) wait(ctx context.Context, h *hold) holdEnd {
	defer func() {
		hs.mu.Lock()
		defer hs.mu.Unlock()
		delete(hs.waiting, h)
	}()
	select {
	case <-ctx.Done():
	case <-hs.stopping:
	case <-h.released:
	}
	// When several are true at once, a client that is known to be gone decides: "no effect after the client left" is
	// promised, the order of releases is not.
	switch {
	case ctx.Err() != nil:
		return holdClientGone
	case isClosed(h.released):
		return holdReleased
	default:
		return holdStopping
	}
}

// release lets the requests with a key go on, or all of them if key is empty, and returns how many there were.
func (hs *holds) release(key string) int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	n := 0
	for h := range hs.waiting {
		if key == "" || h.key == key {
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
