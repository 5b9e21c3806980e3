// Package killpoint names the places at which a crash must be harmless, so that tests can
// have a real worker process killed exactly there. A point does nothing unless the
// environment asks for it; it must never influence what the code around it decides.
//
// WRIT_KILL_POINT names the point, WRIT_KILL_FILE a file that the process creates when it
// gets there. The whole process then stops where it is (SIGSTOP to itself) until somebody
// kills it, so the one that waits for the file knows that the point was reached and that
// nothing after it ran, in no goroutine.
package killpoint
