// Package child starts processes that never outlive this one, not even when
// this one is killed.
//
// [Start] starts a command and returns a [Process]. When this process ends in
// whatever way, the child receives the signal that was chosen for it. It has a
// process group of its own, so that a Ctrl-C on the terminal reaches this
// process alone, which then stops its children in the order that it wants.
//
// The package must never leave a child that it started without somebody who
// waits for it. It works on Linux and macOS.
package child
