package tools

import (
	"cmp"
	"errors"
	"time"

	"writ/intent"
)

// Failure is an error that says what is known of the effect. Make one with [NotApplied]
// or [Unknown].
type Failure struct {
	// Outcome is intent.NotApplied or intent.Unknown.
	Outcome intent.Outcome
	// Code is the provider's or the tool's own name for what went wrong, for example
	// "card_declined". It stands in the receipt; it must not hold a secret. Default:
	// tool_error.
	Code string
	// Final says that trying again cannot help, whatever the retry policy allows.
	Final bool
	// RetryAfter is the provider's own wish; zero if it has none.
	RetryAfter time.Duration
	// InProgress says that the provider still works on an earlier request with this key:
	// wait and ask again, without spending an attempt of the budget.
	InProgress bool
	// Stored says that the provider answered with what it had stored for the key, so that the
	// failure speaks of the first request with it.
	Stored bool
	// Already says that the provider refused because what was asked for is the case already:
	// the payment is captured, the document is gone. After an attempt without a certain
	// outcome it is taken for success; on a first attempt it is a failure.
	Already bool
	// Contact is what the failure shows of the provider; the circuit breaker goes by it.
	// Default: nobody answered if the outcome is unknown, and the provider did if it is certain.
	Contact intent.Contact
	// Err is the error underneath.
	Err error
}

// NotApplied says that this attempt had no effect, and that this is certain.
func NotApplied(err error) *Failure { return &Failure{Outcome: intent.NotApplied, Err: err} }

// Unknown says that the effect may have happened.
func Unknown(err error) *Failure { return &Failure{Outcome: intent.Unknown, Err: err} }

// WithCode returns a copy of f with a code.
func (f *Failure) WithCode(code string) *Failure { g := *f; g.Code = code; return &g }

// After returns a copy of f with the provider's wish for a wait.
func (f *Failure) After(d time.Duration) *Failure { g := *f; g.RetryAfter = d; return &g }

// AsFinal returns a copy of f that is not tried again.
func (f *Failure) AsFinal() *Failure { g := *f; g.Final = true; return &g }

// AsInProgress returns a copy of f that speaks of an earlier request with the same key.
func (f *Failure) AsInProgress() *Failure { g := *f; g.InProgress = true; return &g }

// AsStored returns a copy of f whose answer the provider had stored for the key.
func (f *Failure) AsStored() *Failure { g := *f; g.Stored = true; return &g }

// AsAlready returns a copy of f that was refused because the effect is there already.
func (f *Failure) AsAlready() *Failure { g := *f; g.Already = true; return &g }

// AsUnanswered returns a copy of f that the provider did not answer: there was no connection to
// it, or what stands before it said so.
func (f *Failure) AsUnanswered() *Failure { g := *f; g.Contact = intent.Unanswered; return &g }

// AsUncontacted returns a copy of f that says nothing of the provider, because it came before
// or beside it: a request that could not be made, a tool that broke.
func (f *Failure) AsUncontacted() *Failure { g := *f; g.Contact = intent.NoContact; return &g }

func (f *Failure) Error() string {
	text := string(f.Outcome)
	if f.Code != "" {
		text += " (" + f.Code + ")"
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Classify returns what err says of the effect of a tool of class c. A bare error of a
// side-effectful tool is unknown, because only the tool knows what it did before it; one
// of a read is a definite failure, and so is every error of a transactional tool, because its
// transaction is rolled back. A failure without a code gets tool_error. Of several joined errors the worst counts, and a function of a
// [Group] that panicked outweighs whatever was made of its error.
func Classify(c intent.Class, err error) *Failure {
	var (
		f     *Failure
		ended *goroutineError
	)
	switch {
	case errors.As(err, &ended) && (c == intent.Read || c == intent.Transactional):
		return NotApplied(err).WithCode(ended.code).AsUncontacted()
	case errors.As(err, &ended):
		return Unknown(err).WithCode(ended.code).AsUncontacted()
	case c == intent.Transactional:
		rolledBack := NotApplied(err).WithCode(CodeToolError)
		if errors.As(err, &f) {
			rolledBack.Code, rolledBack.Final, rolledBack.RetryAfter, rolledBack.Err = f.code(), f.Final, f.RetryAfter, f.Err
		}
		return rolledBack
	case errors.As(err, &f) && (c == intent.Read || f.Outcome != intent.NotApplied || certain(err)):
		return f.WithCode(f.code())
	case c == intent.Read:
		return NotApplied(err).WithCode(CodeToolError)
	default:
		return Unknown(err).WithCode(CodeToolError)
	}
}

// code names what went wrong, also if the tool does not: nothing is recorded without a reason.
func (f *Failure) code() string { return cmp.Or(f.Code, CodeToolError) }

// certain reports whether every branch of err's tree says that nothing was applied.
func certain(err error) bool {
	switch e := err.(type) {
	case *Failure:
		return e.Outcome == intent.NotApplied
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			if !certain(branch) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return certain(e.Unwrap())
	default:
		return false
	}
}
