package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"writ"
	"writ/cmd/writ-dev/chaos/check"
	"writ/intent"
	"writ/telemetry"
)

const (
	// callers bounds how many requests wait for an answer at once.
	callers = 600
	// answerPatience is how long a caller waits before it asks again.
	answerPatience = 15 * time.Second
	// callerPause is the time between two questions of a caller.
	callerPause = 300 * time.Millisecond
)

// submission asks for the load.
type submission struct {
	client *writ.Client
	seed   uint64

	mutex    sync.Mutex
	answered []check.Asked
	asked    int
	callers  sync.WaitGroup
	places   chan struct{}
}

func newSubmission(client *writ.Client, seed uint64) *submission {
	return &submission{client: client, seed: seed, places: make(chan struct{}, callers)}
}

// run asks for rate intents a second until asking ends. Callers that have no answer then go
// on until ctx ends.
func (s *submission) run(ctx, asking context.Context, rate float64) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-asking.Done():
			return
		}
		select {
		case s.places <- struct{}{}:
		case <-asking.Done():
			return
		}
		s.mutex.Lock()
		s.asked++
		s.mutex.Unlock()
		s.callers.Go(func() {
			defer func() { <-s.places }()
			answer := s.ask(ctx, orderOf(s.seed, n))
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.answered = append(s.answered, answer)
		})
	}
}

// await returns when every caller has its answer, or ctx ended.
func (s *submission) await() []check.Asked {
	s.callers.Wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.answered)
}

// progress returns how many requests were made and how many of them are answered.
func (s *submission) progress() (asked, answered int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.asked, len(s.answered)
}

// ask asks until there is an answer, as a host of Writ would: always with the same key.
func (s *submission) ask(ctx context.Context, o order) check.Asked {
	ctx = telemetry.WithTraceparent(ctx, o.traceparent)
	asked := check.Asked{Tool: o.request.Tool, RequestKey: o.request.RequestKey, Mark: o.mark, Confirmations: o.confirmations}
	for {
		state, err := s.askOnce(ctx, o)
		var failure *writ.Error
		switch {
		case err == nil || state != "":
			asked.Accepted, asked.Told = true, string(state)
			return asked
		case ctx.Err() != nil:
			return asked
		case errors.As(err, &failure) && !failure.TryAgain:
			asked.Refused = failure.Error()
			return asked
		}
		wait(ctx, callerPause)
	}
}

// askOnce returns the end that it was told of, if it was told of one. A caller that does not
// wait is told of none, and has no error if the intent was accepted.
func (s *submission) askOnce(ctx context.Context, o order) (intent.State, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if !o.waits {
		_, err := s.client.Submit(ctx, o.request)
		return "", err
	}
	ended, err := s.client.Execute(ctx, o.request)
	if state := ended.Intent.State; state.Ended() || state == intent.InDoubt {
		return state, err
	}
	if err == nil {
		err = errors.New("no error, and no end")
	}
	return "", err
}
