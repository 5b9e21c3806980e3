// Package intake reads the corpus of what callers send (intent/testdata/intake.jsonl) for
// the tests of every door: each must answer a case with the same bytes, or with the same
// code at the same byte. Only tests use it; intent/testdata/intake.md describes the file.
package intake
