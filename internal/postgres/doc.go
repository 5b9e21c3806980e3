// Package postgres runs a private PostgreSQL cluster from the binaries that
// are installed on this machine, for development and for tests.
//
// [Start] finds the binaries, creates the cluster in a data folder when there
// is none yet, starts the server as a child process on a loopback port, and
// returns once it answers. [Server.URL] gives the address of a database,
// [Server.CreateDatabase] makes one, [Server.Stop] ends the server,
// [Server.StopAtOnce] as a crash would.
// [CreateDatabase] makes a database on a server that somebody else runs.
//
// The cluster is as durable as a production one: fsync, full page writes and
// synchronous commit are on, for ephemeral clusters too, so that what a test
// measures is what production does.
//
// The server never outlives the process that started it, not even when that
// process is killed. Started by root, the server runs as
// an unprivileged user, because PostgreSQL refuses to run as root.
//
// # Data folder
//
//	data/          the cluster (PGDATA)
//	password       password of the user "writ", mode 0600
//	postgres.log   the server's log since the last start; the one before is postgres.log.1
//	lock           held while a process owns the folder
//
// # Errors
//
// Failures that a person can do something about are an [*Error]:
//
//	postgres_not_found         no usable PostgreSQL is installed
//	postgres_version_mismatch  the cluster was created by another major version than is installed
//	postgres_start_failed      the server or initdb gave up; the message ends with its log
//	data_dir_in_use            another process runs a server on the data folder
//	data_dir_unreachable       the user that the server runs as cannot reach the data folder
//	no_unprivileged_user       started by root, and neither "postgres" nor "nobody" exists
//
// A fixed port that is taken is a [*loopback.PortError] (port_in_use).
//
// The package must never listen on anything but the loopback interface, never
// accept a connection without a password, and never turn durability off. It
// works on Linux and macOS.
package postgres
