// Package sample holds the tools that Writ ships for trying it out and that show how a
// tool is written: six against the sandbox provider, two whose effect is in Writ's own database, and a read.
//
//	payments.capture    keyed          capture an authorized payment
//	payments.refund     keyed          refund a captured payment
//	documents.delete    keyed          delete a document
//	transfers.create    reconcilable   send money; the provider ignores keys and can be asked
//	notifications.send  opaque         send a message; the provider ignores keys
//	newsletters.send    opaque         send advertising to who consents to "marketing"; it sends "contact" data
//	documents.store     transactional  keep a document here
//	documents.purge     transactional  delete a document that is kept here
//	echo                read           answer with the payload
//
// The keyed ones can be looked up as well, which ends the doubt once their key may not be
// sent again. A payload is what the provider receives, byte for byte.
package sample
