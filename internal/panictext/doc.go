// Package panictext describes a panic of somebody else's code without repeating its value.
//
// The value of a panic may be anything that the code had in its hands: a request with its
// credentials, a customer. It goes where messages go, into attempts, logs and answers to callers,
// so it must never be printed.
package panictext
