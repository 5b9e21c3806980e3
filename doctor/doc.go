// Package doctor finds out whether what Writ stands on keeps what Writ promises: that
// PostgreSQL is durable, has the schema and is reached in a way that works, and that
// Temporal has the namespace, the search attributes and workers.
//
// [Examine] gathers facts from both sides at once, each under a time limit of its own, and
// then judges them; the judgement is pure. Every check is in every [Report], under a name
// that does not change, with what was found and how to mend it. docs/operations.md explains
// each.
//
// The package must never change anything that it looks at, and never show a password.
package doctor
