// Package policy decides whether a request may become an intent. Nothing runs because
// nobody said no: [Engine.Decide] always returns a [Decision], which is recorded with the
// intent and bound into its commitment, whether it allows or denies.
//
// A host supplies its rules as a [Policy]. It is given facts, never credentials or
// clients. A policy that fails or takes too long is a recorded denial.
package policy
