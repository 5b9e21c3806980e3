// Package check judges a run of package chaos: it compares what was asked for with the rows,
// attempts, lookups and receipts in PostgreSQL, with the books of the sandbox provider and
// with the workflows in Temporal, and finds what is lost, what happened twice, what was sent
// under a wrong key, and what is in doubt without a reason that its class allows.
//
// [Evidence] is what was collected: [ReadDatabase], [ReadLedger], [ReadRequests],
// [ReadWorkflows] and [ReadHistories] fill it. [Judge] is a pure function of it and returns a [Verdict].
//
// The package must never import a package of Writ or of the provider, not even for a type:
// a judge that shares code with the judged repeats its mistakes. What it believes of the
// sample tools is written down once more in model.go.
package check
