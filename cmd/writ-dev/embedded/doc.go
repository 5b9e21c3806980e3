// Package embedded runs a Temporal server and Temporal's web UI inside this
// process, for development and tests.
//
// [StartTemporal] starts the server on a [Store] (PostgreSQL databases, as in
// production, or memory) and registers the namespace; [StartUI] starts the web
// UI in front of it. Both return when they answer, and listen on the loopback
// interface only.
//
// Temporal's own code ends the whole process on some failures (a port that
// was taken meanwhile, for example). That reason is then printed to stderr.
//
// The package must never be imported by anything but writ-dev: whoever imports
// it compiles a Temporal server.
package embedded
