// Package documents shows how tools are written over a service of one's own: the service is
// given to the tool when the program starts, what to delete comes from the payload, who asked
// from the effect context, and the key from the invocation. A payload never says who asks.
//
// [NewDelete] is over a service elsewhere that takes an idempotency key, and [NewPurge] over
// records in Writ's own database, which are deleted in the transaction that completes the
// intent.
package documents
