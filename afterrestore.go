package writ

import (
	"context"
	"time"

	"writ/outbox"
)

// Restore says what an operator knows of a PostgreSQL that was restored from a backup or failed
// over to a standby. The zero Restore takes everything that is open for possibly sent.
type Restore struct {
	// Before is the time that the database was taken back to, by its own clock: what was created
	// then or later is left alone. Zero: everything that is open may have been sent.
	Before time.Time
	// NothingLost says that no commit was lost, as after a switch to a standby that commits waited
	// for. Nothing is marked.
	NothingLost bool
	// SameTimeline marks also where PostgreSQL shows no restore: a copy of its files that was
	// rolled back begins no new timeline.
	SameTimeline bool
}

// AfterRestored is what [Recovery.AfterRestore] found and did.
type AfterRestored struct {
	// Before is the history of PostgreSQL that the outbox was trusted in, and After the one that
	// it is trusted in now.
	Before Timeline `json:"before"`
	After  Timeline `json:"after"`
	// Trusted says that there was nothing to do: the history is trusted.
	Trusted bool `json:"trusted_already"`
	// Marked is how many open intents are taken for possibly sent.
	Marked int `json:"marked"`
	// Parked is how many enqueued requests wait for a person, because they may have run.
	Parked int `json:"parked"`
}

// Timeline is a history of PostgreSQL. A standby that is promoted, a backup that is restored to a
// point in time and another cluster begin a new one.
type Timeline struct {
	// System is PostgreSQL's identifier of the cluster.
	System int64 `json:"system_identifier,string"`
	Number int   `json:"timeline"`
}

// AfterRestore lets claims be granted again after PostgreSQL may have lost commits, and says of
// every open intent that it may have been sent in what was lost. The rule does the rest: a keyed
// intent is sent again under its key while the provider surely remembers it, a reconcilable one is
// looked up, and an opaque one is parked in doubt. Reads and transactional intents need no mark.
//
// It needs no Temporal. It may be interrupted and called again: claims are granted only when
// everything is marked. In a history that is trusted it does nothing unless SameTimeline is set.
// Of a standby that is not promoted yet the error has code database_unavailable.
func (r *Recovery) AfterRestore(ctx context.Context, what Restore, by Decider) (AfterRestored, error) {
	if err := by.check(); err != nil {
		return AfterRestored{}, err
	}
	done, err := r.store.AfterRestore(ctx, outbox.Restore(what), by.recorded())
	return AfterRestored{Before: Timeline(done.Before), After: Timeline(done.After), Trusted: done.Trusted, Marked: done.Marked, Parked: done.Parked},
		undecided(ctx, outbox.Row{}, err)
}
