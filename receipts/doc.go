// Package receipts keeps the journaled end of each intent. A [Receipt] is canonical JSON
// that binds what was authorized (the commitment) to what happened (the outcome and the
// attempts that it was learnt from). It is written by [Append] in the transaction that
// ends the intent, so there is no ended intent without a receipt and no receipt without
// an end; the database refuses to change or delete one.
//
// A receipt never holds a payload, a result, an idempotency key or a provider's message:
// only their salted digests and codes.
package receipts
