package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// currentTimeline is the history of PostgreSQL that commits go to at this moment: the cluster and
// its timeline, as columns. The name of the log file that is written has the timeline at once;
// the control file has it only after the next checkpoint. A standby has none of its own.
const currentTimeline = `
	(SELECT system_identifier FROM pg_control_system()) AS system_identifier,
	CASE WHEN NOT pg_is_in_recovery() THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END AS timeline`

// restoredUntil is the time before which nothing may be sent because the outbox is in another
// history than the one it is trusted in; NULL: it is trusted. Like a person's hold it has no end,
// so whoever waits for it looks again after a minute. Nothing can be sent from a standby anyway.
// It is asked once a statement, and reads the control file.
const restoredUntil = `
	CASE WHEN (
		SELECT now.timeline IS NULL OR (t.system_identifier, t.timeline) = (now.system_identifier, now.timeline)
		FROM (SELECT` + currentTimeline + `) now, timelines t ORDER BY t.number DESC LIMIT 1)
	THEN NULL ELSE writ_now() + interval '1 minute' END`

// restored reports whether the database may have lost commits of which no operator has said so
// yet.
func (r Row) restored() bool { return r.RestoredUntil.After(r.ReadAt) }

func errRestored(id intent.ID) error {
	return intent.Errorf(intent.CodeOutboxRestored,
		"PostgreSQL was restored or failed over, and intent %s may have been sent in what it lost; nothing was decided; run `writ recover --after-restore` first", id)
}

// Timeline is a history of PostgreSQL. A standby that is promoted and a backup that is restored
// begin a new one, and so does another cluster.
type Timeline struct {
	// System is PostgreSQL's identifier of the cluster.
	System int64
	// Number is that of the timeline; 0 of the one in force on a standby, and of the one that is
	// trusted while an operator is at work.
	Number int
}

// Timelines are the history that the outbox is in and the one that it is trusted in.
type Timelines struct {
	Current, Trusted Timeline
	// Decider is who trusted it last, or began to.
	Decider
	DecidedAt time.Time
}

// Restored reports whether claims are stopped because the two differ.
func (t Timelines) Restored() bool { return t.Current.Number != 0 && t.Current != t.Trusted }

// Timelines reads them.
func (i *Inspector) Timelines(ctx context.Context) (Timelines, error) {
	t, err := readTimelines(ctx, i.conn)
	return t, wrap("read the timelines", err)
}

func readTimelines(ctx context.Context, q querier) (t Timelines, err error) {
	const query = `
		SELECT now.system_identifier, coalesce(now.timeline, 0), t.system_identifier, t.timeline, t.decided_at, ` + readDecider + `
		FROM (SELECT` + currentTimeline + `) now, timelines t ORDER BY t.number DESC LIMIT 1`
	columns := []any{&t.Current.System, &t.Current.Number, &t.Trusted.System, &t.Trusted.Number, &t.DecidedAt}
	err = q.QueryRow(ctx, query).Scan(append(columns, t.fields()...)...)
	t.DecidedAt = t.DecidedAt.UTC()
	return t, err
}

// Restore says what an operator knows of a PostgreSQL that was restored or failed over.
type Restore struct {
	// Before leaves alone what was created then or later, and so cannot have been sent in what was
	// lost. Zero: everything that is open may have been.
	Before time.Time
	// NothingLost says that no commit was lost, as after a switch to a synchronous standby. Nothing
	// is marked.
	NothingLost bool
	// SameTimeline marks also where PostgreSQL is in the history that is trusted: a data folder
	// that was rolled back or copied does not begin another one.
	SameTimeline bool
}

// AfterRestored is what AfterRestore found and did.
type AfterRestored struct {
	// Before is the history that was trusted, and After the one that is.
	Before, After Timeline
	// Trusted says that there was nothing to do, because the history is trusted.
	Trusted bool
	// Marked is how many intents are open and may have been sent in what was lost.
	Marked int
	// Parked is how many enqueued requests, of which no intent is known, may have been one there,
	// and wait for a person since now.
	Parked int
}

// AfterRestore marks every open intent as possibly sent, because a claim that was granted may be
// lost with its commit, and then trusts the history that PostgreSQL is in, so that claims are
// granted again. It does so in many transactions, and trusts only at the end: it may be
// interrupted, and called again, also by two at once. In a history that is trusted it does nothing unless
// SameTimeline is set; then it stops all claims first. A standby is in no history of its own: the
// error has code database_unavailable.
//
// What it marks gets an attempt that is presumed, and the rule does the rest: a keyed intent is sent
// again with its key if the provider remembers it since the intent was created, a reconcilable one
// is looked up, an opaque one is parked in doubt. A read and a transactional effect, which is in the
// database itself, need no mark. An enqueued request of which no intent is known is parked.
func (s *Store) AfterRestore(ctx context.Context, r Restore, by Decider) (AfterRestored, error) {
	at, err := readTimelines(ctx, s.pool)
	if err != nil {
		return AfterRestored{}, DatabaseError(err)
	}
	if at.Current.Number == 0 {
		return AfterRestored{}, intent.Errorf(intent.CodeDatabaseUnavailable,
			"PostgreSQL is a standby still, so nothing was marked; promote it, or connect to the primary, and give this again")
	}
	done := AfterRestored{Before: at.Trusted, After: at.Trusted}
	if !at.Restored() {
		if done.Trusted = !r.SameTimeline; done.Trusted {
			return done, nil
		}
		if err := s.trust(ctx, Timeline{System: at.Current.System}, by, 0, !r.NothingLost); err != nil {
			return done, err
		}
	}
	if !r.NothingLost {
		// What is parked becomes no intent any more, so the intents that are marked next are all.
		if done.Parked, err = s.parkRestored(ctx, r.Before); err != nil {
			return done, err
		}
		if done.Marked, err = s.presumeOpen(ctx, r.Before); err != nil {
			return done, err
		}
	}
	// The history that was looked at, not the one of now: what changed meanwhile is not trusted.
	if err := s.trust(ctx, at.Current, by, done.Marked, !r.NothingLost); err != nil {
		return done, err
	}
	done.After = at.Current
	_, err = s.Release(ctx, Subject{})
	return done, err
}

// trust puts a history in force, in one flushed commit. Claims that were decided on before are
// over when the first row is marked, because that needs their locks.
func (s *Store) trust(ctx context.Context, t Timeline, by Decider, marked int, lost bool) error {
	const statement = `
		INSERT INTO timelines (number, system_identifier, timeline, decided_at, marked, lost, ` + deciderColumns + `)
		SELECT max(number) + 1, $1, $2, writ_now(), $3, $4, $5, $6, $7, $8, $9 FROM timelines
		ON CONFLICT DO NOTHING`
	return s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		for { // until nobody else, who says so at the same moment, has taken the number
			tag, err := tx.Exec(ctx, statement, append([]any{t.System, t.Number, marked, lost}, by.values()...)...)
			if err != nil || tag.RowsAffected() == 1 {
				return err
			}
		}
	})
}

// presumeBatch is how many intents are marked in one transaction.
const presumeBatch = 100

// presumeOpen marks every open intent that was created, or enqueued, before the given time, and
// returns how many bear the mark. One that was enqueued may have begun again since: a workflow or a
// caller carried its request over the restore.
func (s *Store) presumeOpen(ctx context.Context, before time.Time) (marked int, err error) {
	var last Row
	for {
		page, err := s.open(ctx, last, before)
		if err != nil {
			return marked, err
		}
		n, err := s.presumeAll(ctx, page)
		if err != nil {
			return marked, err
		}
		marked += n
		if len(page) < presumeBatch {
			return marked, nil
		}
		last = page[len(page)-1]
	}
}

// parkRestored parks the enqueued requests that were there when the backup was taken: each may
// have become an intent in what was lost, and its class is not known before a worker has
// authorized it. So a person says of each whether it runs. One that was parked may have been
// retried there, and says so from now on, with what it was parked for before. What was dropped
// never ran. If somebody else has trusted the history meanwhile, this is over and parks nothing.
func (s *Store) parkRestored(ctx context.Context, before time.Time) (parked int, err error) {
	const (
		older = ` FROM enqueued e WHERE e.dropped_at IS NULL AND (e.due_at IS NOT NULL OR e.error_code <> $2)
			AND ($1::timestamptz IS NULL OR e.created_at < $1)`
		// The locks wait for whoever is about to insert the intent, and the next statement sees
		// what they committed.
		lock = `SELECT count(*) FROM (SELECT` + older + ` ORDER BY id FOR UPDATE) locked`
		park = `
			UPDATE enqueued SET due_at = NULL, dispatched_at = NULL, parked_at = coalesce(parked_at, writ_now()), error_code = $2,
				error = $3 || CASE WHEN parked_at IS NULL THEN '' ELSE '; it was parked for ' || error_code || ': ' || error END
			WHERE id IN (SELECT e.id` + older + ` AND NOT EXISTS (SELECT FROM intents i WHERE i.id = e.id)) AND (SELECT ` + restoredUntil + `) IS NOT NULL`
	)
	err = s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lock, orNull(before), string(intent.CodeOutboxRestored)); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, park, orNull(before), string(intent.CodeOutboxRestored),
			"PostgreSQL was restored or failed over, and this request may have been run in what it lost; look in the provider's books, then retry or drop it")
		parked = int(tag.RowsAffected())
		return err
	})
	return parked, err
}

// leaveDoubt are the classes whose effects a database that lost commits can know nothing of.
var leaveDoubt = slices.DeleteFunc(intent.Classes(), func(c intent.Class) bool { return !c.LeavesDoubt() })

// open returns the next page of the intents that have not ended and that leave doubt, oldest first.
func (s *Store) open(ctx context.Context, last Row, before time.Time) ([]Row, error) {
	// Pages follow intents_open_created.
	const query = `
		SELECT i.id, i.created_at FROM intents i
		WHERE i.ended_at IS NULL AND i.class = ANY ($5)
			AND (i.created_at, i.id) > ($1, $2)
			AND ($3::timestamptz IS NULL OR i.created_at < $3 OR EXISTS (SELECT FROM enqueued e WHERE e.id = i.id AND e.created_at < $3))
		ORDER BY i.created_at, i.id LIMIT $4`
	rows, err := s.pool.Query(ctx, query, last.CreatedAt, last.ID[:], orNull(before), presumeBatch, leaveDoubt)
	if err != nil {
		return nil, DatabaseError(err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Row, err error) {
		err = row.Scan((*[16]byte)(&r.ID), &r.CreatedAt)
		return r, err
	})
	return page, DatabaseError(err)
}

// presumeAll marks intents in one flushed commit and returns how many bear the mark. Rows are locked
// in the order of their ids, as by nobody else, so that two operators do not deadlock.
func (s *Store) presumeAll(ctx context.Context, page []Row) (marked int, err error) {
	page = slices.Clone(page)
	slices.SortFunc(page, func(a, b Row) int { return slices.Compare(a.ID[:], b.ID[:]) })
	err = s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		marked = 0
		for _, p := range page {
			row, err := lockRow(ctx, tx, p.ID)
			if err != nil {
				return err
			}
			switch {
			case row.State.Ended(), !row.restored(): // or somebody else has trusted the history meanwhile: claims are no loss
				continue
			case !row.presumed():
				if row, err = presume(ctx, tx, row, row.ReadAt); err != nil {
					return err
				}
				if err := dueAfterRestore(ctx, tx, row); err != nil {
					return err
				}
			}
			marked++
		}
		return nil
	})
	return marked, err
}

// presumed reports whether the row bears the mark already: nothing was claimed since, and the
// attempt's lease, which is the time for those that were lost, runs.
func (r Row) presumed() bool {
	n := len(r.Attempts)
	return n > 0 && r.Attempts[n-1].Presumed && r.Attempts[n-1].Outcome == "" && r.Attempts[n-1].LeaseUntil.After(r.ReadAt)
}

// presumedBy is the worker of presumed attempts.
const presumedBy = "writ recover --after-restore"

// presume writes an attempt that nobody knows a claim of. Its lease is the longest that a claim
// which was lost at that time or before can still have, and the key's window counts from the earliest
// time at which such a claim can have been sent.
func presume(ctx context.Context, tx pgx.Tx, row Row, lost time.Time) (Row, error) {
	const statement = `
		WITH marked AS (
			UPDATE intents
			SET version = version + 1, state = CASE state WHEN 'recorded' THEN 'invoking' ELSE state END,
				first_sent_at = coalesce(first_sent_at, created_at)
			WHERE id = $1 RETURNING id, generation)
		INSERT INTO attempts (intent_id, number, generation, token, worker, claimed_at, lease_until, send_by, presumed)
		SELECT id, $2, generation, $3, $4, $5, $6, $6, true FROM marked`
	lease := lost.Add(row.Rules.Timeout + leaseGrace)
	if _, err := tx.Exec(ctx, statement, row.ID[:], len(row.Attempts)+1, uuid.New(), presumedBy, lost, lease); err != nil {
		return row, err
	}
	marked, err := load(ctx, tx, row.ID)
	if err != nil || !marked.awaitsBudget() {
		return marked, err
	}
	// It may have been counted and sent in what was lost.
	if _, err := recount(ctx, tx, marked); err != nil {
		return marked, err
	}
	return load(ctx, tx, row.ID)
}

// dueAfterRestore has recovery wake what the mark lets go on. What waits for a person goes on
// waiting, and what waits for a lease is woken at its end.
func dueAfterRestore(ctx context.Context, tx pgx.Tx, row Row) error {
	due := row.ReadAt
	row.RestoredUntil = time.Time{} // as it will be
	switch step := row.Next(); {
	case step.Kind == intent.Stop, row.State == intent.InDoubt && step.Kind == intent.Wait:
		return nil
	case step.Kind == intent.Wait:
		due = step.At
	}
	_, err := tx.Exec(ctx, `UPDATE intents SET due_at = $2 WHERE id = $1`, row.ID[:], due)
	return err
}

// presumeAnswered gives the answer of a claim that was lost a place on the row. That the effect
// happened is true of the intent whatever became of the claim, so it is known of the attempt
// that is presumed, once: the journal receives it again. Every other answer speaks for its own request
// alone, and there may have been more than one: it is dropped.
func presumeAnswered(ctx context.Context, tx pgx.Tx, row Row, ev *Evidence) (Row, error) {
	told := func(a Attempt) bool { return a.Presumed && a.Outcome == intent.Applied && a.EffectID == ev.EffectID }
	_, known := row.attemptWith(ev.Token)
	if known || ev.Outcome != intent.Applied || !row.Rules.Class.LeavesDoubt() || slices.ContainsFunc(row.Attempts, told) {
		return row, nil
	}
	i := slices.IndexFunc(row.Attempts, func(a Attempt) bool { return a.Presumed && a.Outcome != intent.Applied })
	if i < 0 {
		since := row.ReadAt
		if row.State == intent.Refused || row.State == intent.Failed { // and may have gone on in what was lost
			var err error
			if since, err = firstEnd(ctx, tx, row); err != nil {
				return row, err
			}
		}
		lost, err := lostSince(ctx, tx, row, since)
		if err != nil || lost.IsZero() {
			return row, err // no claim can be lost: whoever has another token did not make the attempt
		}
		if row, err = presume(ctx, tx, row, lost); err != nil {
			return row, err
		}
		i = len(row.Attempts) - 1
	}
	ev.Attempt, ev.Token = row.Attempts[i].Number, row.Attempts[i].Token
	return row, nil
}
