package tools

import (
	"context"

	"writ/internal/invocation"
)

// Inquiry is what a tool receives to look up what became of an effect. Only the engine makes
// one; it cannot be used to send an effect.
type Inquiry = invocation.Inquiry

// Reconciler is implemented by tools whose provider can be asked what became of an effect. Its
// spec says so with Reconcilable.
type Reconciler interface {
	Tool
	// Reconcile asks the provider what became of the effect under the inquiry's key. It must
	// not have an effect, may be called at any time and again, and the context ends at the
	// inquiry's deadline. An error says that the answer is not known; a *[Failure] may carry
	// the provider's code and RetryAfter.
	Reconcile(ctx context.Context, inq Inquiry) (Finding, error)
}

// Finding is what a lookup showed: make one with [Found] or [Absent].
type Finding struct {
	// Found says that the effect happened. If it is false, the provider knows nothing of it.
	Found bool
	// Result is what the tool would have returned, as far as the lookup tells. Its EffectID
	// tells effects apart.
	Result Result
	// Effects is how many effects the provider shows under the one key, if it shows that; more
	// than one is recorded as performed_twice.
	Effects int
}

// Found says that the effect happened.
func Found(r Result) Finding { return Finding{Found: true, Result: r} }

// Absent says that the provider knows nothing of the effect. It is trusted only when it was
// asked after the settle delay.
func Absent() Finding { return Finding{} }

// Times returns a copy of f that counts the effects under the key.
func (f Finding) Times(n int) Finding { f.Effects = n; return f }
