package tools

import (
	"context"
	"errors"
	"sync"

	"writ/internal/panictext"
)

// Group runs functions of one tool in goroutines of their own. A panic in a goroutine that a
// tool starts with go ends the whole worker, with the attempts of all other intents; in a
// group it becomes the function's error.
//
// It differs from golang.org/x/sync/errgroup in two ways: the first error does not cancel the
// others, because that would interrupt what they send and leave its outcome unknown, and Wait
// returns all errors, because the worst of them is what is known of the effect.
//
// A Group is made with [NewGroup] and used once.
type Group struct {
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// NewGroup returns a group and the context of its functions. The context ends with ctx, or
// when Wait returns.
func NewGroup(ctx context.Context) (*Group, context.Context) {
	ctx, stop := context.WithCancel(ctx)
	return &Group{ctx: ctx, stop: stop}, ctx
}

// Go runs f in a goroutine, with the group's context. If the tool returns without waiting, the
// context ends with the attempt, panics are contained all the same, and nobody hears of the
// errors.
func (g *Group) Go(f func(ctx context.Context) error) {
	g.wg.Go(func() {
		// Stands if f ends its goroutine instead of returning.
		var err error = &goroutineError{code: CodeGoexit, text: "a function of the tool ended its goroutine instead of returning"}
		defer func() {
			if p := recover(); p != nil {
				// The stack is for the operator; it stays in the database and out of receipts.
				err = &goroutineError{code: CodePanic, text: panictext.Of(p)}
			}
			g.ended(err)
		}()
		err = f(g.ctx)
	})
}

func (g *Group) ended(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.errs = append(g.errs, err)
	}
}

// Wait returns when all functions have ended, with their errors joined in the order in which
// they came; nil if there was none. What the errors say together is what [Classify] makes of
// the worst: if a function panicked, the outcome is unknown and the code "panic".
func (g *Group) Wait() error {
	g.wg.Wait()
	g.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}

// goroutineError is how a function ended that did not return.
type goroutineError struct{ code, text string }

func (e *goroutineError) Error() string { return e.text }
