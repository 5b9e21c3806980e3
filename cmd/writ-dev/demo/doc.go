// Package demo is the demonstration behind "writ-dev demo": captures go
// through real worker processes to a provider that drops every tenth answer
// after it acted, one worker is killed while captures are in flight, another
// one takes its place, and the provider's ledger is compared with what was
// asked for.
//
// [Run] does it and returns a [Report]; [Report.Verdict] says whether each
// capture happened once.
//
// The package must never judge by Writ's own word whether a payment was
// captured: that is read from the provider's ledger alone.
package demo
