// Package statedir keeps the folders in which programs of Writ leave their
// state on a developer's machine.
//
// [Default] says where they are. [Open] opens one and holds it against other
// processes; [Temporary] makes one for a single run and clears away those
// whose processes were killed. A [Folder] is held by a lock on its file
// "lock", which the system releases when the process ends in whatever way.
//
// The package must never remove a folder that another process may still use.
// It works on Linux and macOS.
package statedir
