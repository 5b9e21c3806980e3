// Command mutants proves that the tests notice if the protocol is broken. It breaks one line of
// the engine at a time, in a copy, and demands that the one test that is named for the
// breakage fails, and that the same test passes without it.
//
//	go run ./build/mutants [-run REGEXP] [-list]
//
// A test that panics or does not end within a minute has caught nothing: it may do so for many
// reasons, and must say itself what is wrong.
//
// -run chooses mutants by name. The exit status is 0 if every chosen mutant was caught, 1 if
// one survived or a test fails without any, 2 on wrong usage.
//
// The tree is not touched: Go's -overlay flag puts the changed copy of a file in its place for
// one compilation. Tests that need PostgreSQL start it themselves.
package main
