package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The states that a request passes through. A performed effect is not always answered and an answer is not always
// about a new effect, so a request may skip some.
const (
	StateReceived  = "received"  // the provider has read the request's headers and body
	StateHanging   = "hanging"   // a fault holds it
	StateActed     = "acted"     // its effect is in the ledger
	StateAnswered  = "answered"  // an answer was sent
	StateLanded    = "landed"    // it came late, after it was answered, and has had its effect or found its key known
	StateDropped   = "dropped"   // the provider closed the connection without an answer
	StateAbandoned = "abandoned" // the client left before it was answered
)

var states = []string{StateReceived, StateHanging, StateActed, StateLanded, StateAnswered, StateDropped, StateAbandoned}

// keptRequests is how many of the newest requests the log keeps.
const keptRequests = 10_000

// Request is what the provider saw of one request under /v1.
type Request struct {
	// ID is the provider's name for the request; the answer carries it in its Request-Id header.
	ID          string    `json:"id"`
	Time        time.Time `json:"time"`
	Method      string    `json:"method"`
	Endpoint    string    `json:"endpoint"`
	Key         string    `json:"key"`
	Reference   string    `json:"reference,omitempty"`
	Traceparent string    `json:"traceparent"`
	Remote      string    `json:"remote"`
	// Fault is the fault that befell the request, empty for none.
	Fault string `json:"fault"`
	// State is where the request stands, States every state that it has reached, in order.
	State  string   `json:"state"`
	States []string `json:"states"`
	// Status is the HTTP status of the answer, 0 while there is none.
	Status int `json:"status"`
}

// RequestFilter chooses requests. Empty members choose all.
type RequestFilter struct {
	// Key chooses requests with this idempotency key or reference.
	Key      string
	Endpoint string
	// State chooses requests that have reached the state, also if they have left it since: whoever waits for a request to
	// hang must not miss one that hung for a moment.
	State string
}

func (f RequestFilter) matches(r *Request) bool {
	return (f.Key == "" || f.Key == r.Key || f.Key == r.Reference) &&
		(f.Endpoint == "" || f.Endpoint == r.Endpoint) &&
		(f.State == "" || slices.Contains(r.States, f.State))
}

// requestLog remembers the newest requests and wakes those who wait for one.
type requestLog struct {
	stopping <-chan struct{}

	mu       sync.Mutex
	requests []*Request
	waiters  map[*requestWaiter]struct{}
}

// requestWaiter is woken by every request that changes to match its filter.
type requestWaiter struct {
	filter RequestFilter
	woken  chan struct{}
}

// add records a new request and returns the function that changes the record from then on.
func (l *requestLog) add(r Request) (update func(func(*Request))) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) >= 2*keptRequests {
		l.requests = slices.Clone(l.requests[len(l.requests)-keptRequests:])
	}
	record := &r
	record.reach(StateReceived)
	l.requests = append(l.requests, record)
	l.wake(record)
	return func(change func(*Request)) {
		l.mu.Lock()
		defer l.mu.Unlock()
		change(record)
		l.wake(record)
	}
}

func (r *Request) reach(state string) {
	r.State = state
	r.States = append(r.States, state)
}

// wake is called with mu held.
func (l *requestLog) wake(r *Request) {
	for w := range l.waiters {
		if w.filter.matches(r) {
			select {
			case w.woken <- struct{}{}:
			default: // it is awake and has not looked yet
			}
		}
	}
}

// find returns copies of the matching requests, oldest first.
func (l *requestLog) find(f RequestFilter) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []Request{}
	for _, r := range l.requests[max(0, len(l.requests)-keptRequests):] {
		if f.matches(r) {
			c := *r
			c.States = slices.Clone(r.States)
			found = append(found, c)
		}
	}
	return found
}

// await returns the matching requests as soon as there are at least count of them; false means that ctx or the
// provider ended first.
func (l *requestLog) await(ctx context.Context, f RequestFilter, count int) ([]Request, bool) {
	w := &requestWaiter{filter: f, woken: make(chan struct{}, 1)}
	l.mu.Lock()
	l.waiters[w] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiters, w)
	}()
	for {
		if found := l.find(f); len(found) >= count {
			return found, true
		}
		select {
		case <-w.woken:
		case <-ctx.Done():
			return nil, false
		case <-l.stopping:
			return nil, false
		}
	}
}
