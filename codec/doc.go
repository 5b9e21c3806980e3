// Package codec keeps what Temporal stores unreadable to whoever reads Temporal's database,
// its backups or its UI: every payload is sealed with AES-256-GCM before it leaves the process.
//
// [Keys] is the key ring: the first key seals, all of them open, so that keys can be changed
// while workflows run. [Keys.Codec] is the Temporal codec, [Keys.DataConverter] what a client and a
// worker are given, and [NewEndpoint] opens payloads for people in the Temporal UI.
//
// What is sealed: inputs and results of workflows and activities, signals, updates, heartbeats,
// summaries, and the messages and stack traces of failures. What is not: workflow ids, types, task
// queues, the names of activities, and search attributes, by which Temporal finds a workflow.
//
// A payload that was stored before there were keys is taken as it is, and so is one that somebody
// sends in plain text: sealing keeps secrets, it does not say who may start a workflow. A sealed
// payload is never taken for anything else: without its key the error has code
// payload_key_missing, and if it was changed, payload_not_authentic.
//
// It never logs, and no error and no way to print [Keys] shows a key.
package codec
