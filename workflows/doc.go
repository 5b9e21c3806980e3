// Package workflows drives an intent to its end as the Temporal workflow tool.execute.
//
// The workflow decides nothing. Each activity answers with the next step
// (activities.Progress), which stands in the history, and the workflow obeys: so a
// history reads as a sequence of decisions, and one that was written by an older release
// replays under newer rules. It must never do I/O, read the clock, or loop inside an
// activity's retries: every attempt of the tool is an event of its own that a person can
// read in the Temporal UI.
//
// Steps that only use the database are local activities, so that an intent that succeeds
// at once takes two workflow tasks. One that does not get through within two seconds is
// scheduled again as a normal activity, where an outage is visible and the history stays
// small. The tool runs in a normal activity with heartbeats and exactly one Temporal
// attempt.
package workflows
