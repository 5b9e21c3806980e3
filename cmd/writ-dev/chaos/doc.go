// Package chaos is the run behind "writ-dev chaos": intents of every effect class go through
// several worker processes while workers are killed and frozen, connections cut and slowed,
// PostgreSQL and Temporal restarted, Temporal's store emptied, workflows terminated, reset
// and deleted, and the provider's answers dropped, delayed and refused. Then everything is
// healed, the intents come to rest, and package check judges what is left.
//
// [Schedule] draws the faults from a seed: the same seed gives the same faults at the same
// times. What meets them is up to the machine. [Run] does it all and returns a [Report];
// [Report.Verdict] is nil if nothing was found that must not be.
//
// Workers and callers reach PostgreSQL, Temporal and the provider through proxies that can be
// cut; the run itself connects directly.
//
// The package must never judge: it only collects what package check reads.
package chaos
