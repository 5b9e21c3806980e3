// Package tools is what a tool author needs: the [Spec] that says how a tool behaves,
// the [Tool] interface, and the errors that say what happened.
//
// A tool is a Go type. Clients and credentials are given to its constructor; each run
// receives an [Invocation] and nothing else. It returns a [Result], or an error that
// says what is known of the effect:
//
//	return tools.JSON(answer)                    the effect happened
//	return tools.Result{}, tools.NotApplied(err) it did not, and that is certain
//	return tools.Result{}, tools.Unknown(err)    it may have happened
//
// Any other error of a side-effectful tool, a panic and a passed deadline count as
// unknown: the engine assumes the worst that is consistent with what it saw.
//
// A spec may say what a payload and a result must be, as JSON Schema; see [Schema]. A payload is
// checked before anything is written, a result after the effect, which it never hides.
//
// The class of a tool follows from its spec (see [Spec.Class]) and decides what happens
// when an outcome is unknown: a read is run again, a keyed tool is sent again with the
// same idempotency key while the provider surely remembers it, a reconcilable tool is asked
// what became of it, an opaque tool is never sent twice.
//
// Goroutines of a tool belong into a [Group]: a panic in any other one ends the worker.
//
// A tool must send at most one effect for each invocation, must send exactly the
// invocation's idempotency key, and must not retry by itself: the engine retries, with
// a claim for every attempt. This package must never invoke a tool; only the engine does.
package tools
