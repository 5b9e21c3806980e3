// Package stack starts everything that Writ needs in one process, in the right
// order, and stops it in the reverse: PostgreSQL (a private cluster, or the
// server that a URL names), the migrations, Temporal, its web UI, the sandbox
// provider, and a Writ worker with the sample tools.
//
// [Start] returns when all of it can be used; [Stack.Addresses] says where.
// [Stack.Failed] reports a part that ended by itself, [Stack.Stop] ends the
// stack. State is kept in a data folder, so that a later start on the same
// folder goes on where this one stopped:
//
//	lock           held while a stack runs on the folder
//	postgres/      the private cluster, see package postgres
//	temporal.log   Temporal's log since the last start; the one before is temporal.log.1
//	ledger.jsonl   the sandbox provider's ledger
//
// # Errors
//
// Failures that a person can do something about have a method Code. To those
// of package postgres this package adds:
//
//	port_in_use              a port is taken; the text names the flag that chooses another
//	data_dir_in_use          another stack runs on the data folder
//	data_dir_unusable        the data folder cannot be made or written
//	database_url_unsupported the URL cannot be used for Temporal's databases too
//	database_create_denied   Temporal's databases are missing and may not be created
//	provider_missing         the worker has no provider to call
//	ledger_in_use            another provider uses the data folder's ledger
//	ledger_corrupt           the ledger has a line that cannot be understood
//	ledger_not_writable      the ledger cannot be opened or made
//
// The package must never be used in production: it has no authentication but
// the database's password.
package stack
