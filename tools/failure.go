package tools

import (
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
	// "card_declined". It stands in the receipt; it must not hold a secret.
	Code string
	// Final says that trying again cannot help, whatever the retry policy allows.
	Final bool
	// RetryAfter is the provider's own wish; zero if it has none.
	RetryAfter time.Duration
	// InProgress says that the provider still works on an earlier request with this key:
	// wait and ask again, without spending an attempt of the budget.
	InProgress bool
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
// of a read is a definite failure. Of several joined errors the worst counts.
func Classify(c intent.Class, err error) *Failure {
	var f *Failure
	switch {
	case errors.As(err, &f) && (c == intent.Read || f.Outcome != intent.NotApplied || certain(err)):
		return f
	case c == intent.Read:
		return NotApplied(err).WithCode(CodeToolError)
	default:
		return Unknown(err).WithCode(CodeToolError)
	}
}

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
