// Package jsonpointer finds what a JSON Pointer (RFC 6901) names in a document: what is at
// stake in a payload, and the provider's name of an effect in its answer.
//
// [Check] says whether a text is a pointer, and [Text] what it names.
//
// The package must never fail on a document: what a provider answers, and what a payload was
// when it was recorded, is shown as far as it goes.
package jsonpointer
