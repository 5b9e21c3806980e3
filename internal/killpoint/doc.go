// Package killpoint names the places at which a crash must be harmless, so that tests can
// have a real process killed exactly there. A point does nothing unless the
// environment asks for it; it must never influence what the code around it decides.
//
// WRIT_KILL_POINT names the point, WRIT_KILL_FILE a file to which the process appends a line,
// the intent's id or idempotency key, for each intent that gets there. What got there goes no
// further, and everything else goes on, so a test can let many intents meet at one point and
// kill their worker once.
package killpoint
