package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/panictext"
)

// timeout is how long a policy, or a gate, may take.
const timeout = 500 * time.Millisecond

// errNoAnswer is the error of somebody who ended the goroutine that asked, as runtime.Goexit does.
var errNoAnswer = errors.New("it ended without an answer")

// ask asks somebody of the host and stops waiting at the deadline of ctx, also for one that ignores
// it; a panic is an error like any other, and so is the end of the goroutine.
func ask[T any](ctx context.Context, question func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer}
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %s", panictext.Of(p))
			}
			answers <- a
		}()
		a.value, a.err = question(ctx)
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
