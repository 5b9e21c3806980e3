// Package sandbox is a payment and document provider for tests, demonstrations and play.
//
// It stands for the outside world: it performs effects, forgets nothing that it performed, and misbehaves on request.
// Its ledger is the judge of every promise about "exactly once": an effect happened if and only if a line of the ledger
// says so, whatever the caller believes. The contract for people is in docs/sandbox.md.
//
// The main types:
//
//   - [Server] serves the provider's endpoints, its books and its faults over one [http.Handler]; [Service] is one that
//     listens.
//   - [Entry] is one effect that was really performed: one line of the ledger, on disk before any answer leaves.
//   - [Fault] is a rule that makes chosen requests fail in a chosen way, [Settings] is what holds for all of them.
//   - [Request] is what the provider saw of one request; waiting for one is the sync point that tests use.
//   - [Client] reads the books, sets faults and waits for requests.
//
// Unless it is told to, the provider has no rule of business ("this payment was captured already"): such a rule would hide
// the duplicates that the ledger exists to show. Only the idempotency key stands between a second request and a second effect.
//
// What it must never do: answer an effect that is not yet durable, lose or rewrite a ledger line, or import a package of
// Writ. A judge does not share code with the judged.
package sandbox
