// Package sample holds the tools that Writ ships for trying it out and that show how a
// tool is written: three keyed ones and an opaque one against the sandbox provider, and a
// read.
//
//	payments.capture    keyed    capture an authorized payment
//	payments.refund     keyed    refund a captured payment
//	documents.delete    keyed    delete a document
//	notifications.send  opaque   send a message; the provider ignores keys
//	echo                read     answer with the payload
//
// A payload is what the provider receives, byte for byte.
package sample
