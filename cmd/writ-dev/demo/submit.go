package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"writ"
)

const (
	// callers is how many captures are asked for at once.
	callers = 32
	// callerPause is how long a caller waits before it asks again.
	callerPause = 200 * time.Millisecond
)

// submission is the asking for all captures.
type submission struct {
	ended chan struct{} // closed when every caller has its answer
	first chan struct{} // closed when a quarter of them has
	err   error         // read after ended
}

// submit asks for every capture, several at once, each until it has an answer.
func submit(ctx context.Context, client *writ.Client, captures []capture, progress func(string)) *submission {
	s := &submission{ended: make(chan struct{}), first: make(chan struct{})}
	todo := make(chan capture)
	answers := make(chan error)
	go func() {
		defer close(todo)
		for _, c := range captures {
			todo <- c
		}
	}()
	var asking sync.WaitGroup
	for range callers {
		asking.Go(func() {
			for c := range todo {
				answers <- ask(ctx, client, c)
			}
		})
	}
	go func() {
		asking.Wait()
		close(answers)
	}()
	go func() {
		defer close(s.ended)
		var failures []error
		for answered := 1; ; answered++ {
			err, more := <-answers
			if !more {
				break
			}
			failures = append(failures, err)
			if answered == len(captures)/4 {
				close(s.first)
			}
			if answered%50 == 0 && ctx.Err() == nil {
				progress(fmt.Sprintf("%d of %d captures answered", answered, len(captures)))
			}
		}
		s.err = errors.Join(failures...)
	}()
	return s
}

// ask executes the capture. A caller that did not learn what became of it asks
// again with the same request key, as a host of Writ would.
func ask(ctx context.Context, client *writ.Client, c capture) error {
	for {
		_, err := client.Execute(ctx, c.request())
		var failure *writ.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &failure) || !failure.TryAgain {
			return err
		}
		select {
		case <-time.After(callerPause):
		case <-ctx.Done():
			return err
		}
	}
}
