// Package integration holds the black-box tests of Writ: real worker, client and provider
// processes over a real Temporal server and a real PostgreSQL, stopped by real signals.
//
// What a test asserts is what the sandbox provider's ledger says (GET /ledger), because
// only the outside world can tell how often an effect happened; Writ's own answers are
// compared with it. Every test has a world of its own: a database schema, a task queue, a
// tenant, a provider with its ledger, and the workers that it starts. So all of them run
// in parallel on one Temporal server. Tests that restart the stack run one of their own.
//
// A test waits for a sync point (a line that a kill point writes, a request that the
// provider holds, the line of a process that is ready) and never for time to pass. It must
// never reach into a process to see what it does.
//
// # Running them
//
// WRIT_BIN_DIR names a folder with writ, writ-dev and writ-provider; without it they are
// compiled first, which takes minutes the first time. WRIT_TEST_TEMPORAL_STORE=postgres runs them with
// Temporal on PostgreSQL, as in production (`make test-production`). `go test ./integration -record`
// writes the golden histories of workflows/testdata/history anew.
package integration
