// Package pgtest gives tests a real PostgreSQL.
//
// [Schema] returns the URL of a fresh, empty schema, so that tests run in
// parallel and need not clean up; [Database] returns the URL of a fresh
// database, for tests that count or lock things per database. Both start one
// ephemeral cluster per test binary when the first test asks for it. [Main],
// called from TestMain, stops it:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// [Pool] connects to either and counts, with [Commits], the transactions that wrote
// something by whether their COMMIT waited for the disk.
//
// With WRIT_TEST_DATABASE_URL set, tests use that server instead, and what
// they created there is dropped at their end.
//
// The package is for tests only; nothing that ships may import it.
package pgtest
