// Package recovery finds intents that stopped and starts them again. Temporal replays a
// workflow whose worker died; what Temporal cannot bring back is a workflow that was
// terminated, deleted or lost, and a parked intent whose answer came late. [Sweeper]
// finds those by their due time and starts the same workflow id from the row alone, with
// the persisted idempotency key. [Dispatcher] starts the workflows of the requests that
// hosts enqueued in transactions of their own, which are no intents yet.
//
// It never sends anything itself and never decides what an intent does next.
package recovery
