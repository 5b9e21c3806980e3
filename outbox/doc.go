// Package outbox keeps intents and their attempts in PostgreSQL. It supplies atomicity
// and durability and decides nothing by itself: every step that it takes is the one that
// [intent.Next] names, asked again under the row's lock.
//
// The three flushed commits of a side-effectful intent are [Store.Insert] (persist),
// [Store.Claim] and [Store.Journal]; [Store.RecordEvidence] commits without waiting for
// the disk, because the journal writes the evidence again where it was lost. A read that
// is answered at once takes one flushed commit, [Store.InsertEnded]. An effect in this
// database takes three as well: persist, claim, and [Store.Transact], which makes it and ends
// the intent. A payload over intent.MaxInline takes one more before them all,
// [Store.StagePayload]. Each decision of a person takes one of its own: [Store.Confirm],
// [Store.Deny], [Store.Cancel], [Store.Resolve], [Store.Inquire], [Store.Reissue] and
// [Store.Acknowledge]; where it ends the intent, the end and the receipt are in it.
//
// # Rules for the code in this package
//
//   - Whoever changes an intent locks its row first, with FOR UPDATE, and attempts only
//     after it. Where there is no row yet, the first lock is an advisory one: of the intent's
//     id in StagePayload, of the action in Insert. Claim takes those of its holds before the
//     row, in the order of their keys, and whoever sets a hold takes one and no row of an
//     intent. Rows of breakers come after that of the intent, and rows of holds and of
//     budgets' counters last, the latter in the order of their budgets. There is
//     one order of locks, so there is no deadlock.
//   - A lost COMMIT answer is met by running the guarded statement again: Insert finds its
//     row by the unique request key, Claim finds its own token, Journal finds the end, and whoever decides finds what
//     they have decided.
//   - No connection is held while a tool runs, but by [Store.Transact], whose tool works in the
//     transaction that ends its intent.
//   - Time is writ_now(), the database's clock.
//
// All SQL about intents, attempts and tool specs is here; receipts have their own package
// and are written in the transaction that ends an intent.
package outbox
