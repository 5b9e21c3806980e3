package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Due is an enqueued request that a dispatcher has taken.
type Due struct {
	ID            intent.ID
	RequestKey    intent.RequestKey
	Action        intent.Action
	EffectContext []byte // canonical JSON
	Traceparent   string
	// Tries counts this one.
	Tries int
	// Known says that there is an intent of this id already, so that nothing has to be started.
	Known bool
	// Again says that there is one that was refused before the request was enqueued, so that it has
	// to be decided on again. Who has had that done calls Forget.
	Again bool
}

// Take says which enqueued requests [Store.TakeDue] takes.
type Take struct {
	// After is the tenant whose turn was last: those behind it in the database's order come first,
	// and then the others. Empty: begin with the first.
	After string
	// Limit is how many requests are taken at most. They go to the tenants for which the least
	// work is under way, until it is the same for all.
	Limit int
	// Beyond is how many more may be taken for tenants for which no work at all is under way, one
	// for each.
	Beyond int
	// Until takes only what was due by then. Zero: by now.
	Until time.Time
}

// How long a request that was taken is left alone, the first time and at most; it doubles. Whoever
// took it knows by then what came of it, or is dead.
const (
	firstDispatchGrace = 15 * time.Second
	lastDispatchGrace  = 5 * time.Minute
)

// turnSize is how many tenants are compared at a time. The turn goes on behind the last one that
// got something.
const turnSize = 25

// dueClock is the time by which a request has to be due; none while the database may have lost
// commits.
const dueClock = `
	clock AS MATERIALIZED (SELECT least(writ_now(), $1::timestamptz) AS due, writ_now() AS now WHERE ` + restoredUntil + ` IS NULL)`

// Tenants are found by leaps from one to the next. The outer LIMIT ends the recursion, which
// PostgreSQL runs only as far as it is read. Where there are places only for tenants that have
// nothing under way ($4), the others are leapt over.
const dueTenants = `
	WITH RECURSIVE` + dueClock + `,
	leap (tenant, due_at) AS (
		SELECT n.tenant, n.due_at FROM (
			SELECT tenant, due_at FROM enqueued WHERE due_at IS NOT NULL AND tenant > $2 ORDER BY tenant, due_at LIMIT 1) n
		WHERE $3 = '' OR n.tenant <= $3
		UNION ALL
		SELECT n.tenant, n.due_at FROM leap, LATERAL (
			SELECT tenant, due_at FROM enqueued WHERE due_at IS NOT NULL AND tenant > leap.tenant ORDER BY tenant, due_at LIMIT 1) n
		WHERE $3 = '' OR n.tenant <= $3)
	SELECT l.tenant, u.under_way FROM leap l, LATERAL (
		SELECT count(*)::int FROM enqueued e WHERE e.tenant = l.tenant AND e.dispatched_at IS NOT NULL) u (under_way)
	WHERE l.due_at <= (SELECT due FROM clock) AND (NOT $4 OR u.under_way = 0) LIMIT $5`

// The array keeps the planner, which cannot know how few are taken, from reading the whole backlog
// to find them.
const takeDue = `
	WITH` + dueClock + `,
	taken AS MATERIALIZED (
		SELECT next.id FROM unnest($2::text[], $3::int[]) AS turn (tenant, share), LATERAL (
			SELECT id FROM enqueued e WHERE e.tenant = turn.tenant AND e.due_at <= (SELECT due FROM clock)
			ORDER BY e.due_at, e.id LIMIT turn.share FOR UPDATE SKIP LOCKED) next)
	UPDATE enqueued e SET tries = least(e.tries, 2147483646) + 1, dispatched_at = clock.now,
		due_at = clock.now + least($4::interval * 2 ^ least(e.tries, 10), $5::interval)
	FROM clock WHERE e.id = ANY (ARRAY (SELECT id FROM taken))
	RETURNING e.id, e.tenant, e.request_key, e.principal, e.tool, e.payload, e.effect_context, e.traceparent, e.tries,
		EXISTS (SELECT FROM intents i WHERE i.id = e.id AND NOT ` + refusedBefore + `), EXISTS (SELECT FROM intents i WHERE i.id = e.id AND ` + refusedBefore + `)`

// refusedBefore is true of an intent i that was refused before the request e was enqueued.
const refusedBefore = `(i.state = 'refused' AND i.ended_at < e.created_at)`

// TakeDue takes requests that are due and puts off their due time, so that each is taken by one
// of any number of dispatchers and taken again if that one dies. last is the tenant whose turn was
// last; empty if nothing was due.
//
// Nothing is taken while the database may have lost commits: what is due may have been an intent
// there, and was sent.
//
// What it reads does not grow with the backlog: an entry or two of the index for each tenant, what
// is under way, and then the next requests of each.
func (s *Store) TakeDue(ctx context.Context, t Take) (list []Due, last string, err error) {
	err = s.within(ctx, beginRelaxed, func(tx pgx.Tx) (err error) {
		list, last = nil, ""
		turns, err := t.turns(ctx, tx)
		if err != nil || len(turns) == 0 {
			return err
		}
		share(turns, t.Limit, t.Beyond)
		var tenants []string
		var shares []int
		for _, one := range turns {
			if one.share > 0 {
				tenants, shares, last = append(tenants, one.tenant), append(shares, one.share), one.tenant
			}
		}
		list, err = t.take(ctx, tx, tenants, shares)
		return err
	})
	return list, last, err
}

// turns returns the next tenants that have something due, in the order of their turns.
func (t Take) turns(ctx context.Context, tx pgx.Tx) ([]turn, error) {
	behind, err := t.turnsOf(ctx, tx, t.After, "", turnSize)
	if err != nil || t.After == "" || len(behind) == turnSize {
		return behind, err
	}
	before, err := t.turnsOf(ctx, tx, "", t.After, turnSize-len(behind))
	return append(behind, before...), err
}

// turnsOf returns those behind one tenant and up to another; empty: up to the last one.
func (t Take) turnsOf(ctx context.Context, tx pgx.Tx, behind, upTo string, limit int) ([]turn, error) {
	rows, err := tx.Query(ctx, dueTenants, orNull(t.Until), behind, upTo, t.Limit == 0, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (turn, error) {
		var one turn
		err := row.Scan(&one.tenant, &one.underWay)
		return one, err
	})
}

func (t Take) take(ctx context.Context, tx pgx.Tx, tenants []string, shares []int) ([]Due, error) {
	rows, err := tx.Query(ctx, takeDue, orNull(t.Until), tenants, shares, firstDispatchGrace, lastDispatchGrace)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Due, error) {
		var d Due
		err := row.Scan((*[16]byte)(&d.ID), &d.Action.Tenant, &d.RequestKey, &d.Action.Principal, &d.Action.Tool, &d.Action.Payload,
			&d.EffectContext, &d.Traceparent, &d.Tries, &d.Known, &d.Again)
		return d, err
	})
}

// Now is the database's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, `SELECT writ_now()`).Scan(&now)
	return now.UTC(), DatabaseError(err)
}

// Postpone notes why a request that was taken did not become an intent. It comes up again when
// its due time has passed.
func (s *Store) Postpone(ctx context.Context, d Due, why *intent.Error) error {
	const statement = `
		UPDATE enqueued SET dispatched_at = NULL, error_code = $3, error = $4
		WHERE id = $1 AND tries = $2 AND due_at IS NOT NULL`
	return s.noteDue(ctx, statement, d.ID[:], d.Tries, string(why.Code), why.Message)
}

// GiveBack undoes that a request was taken: it is due again at once, and this was no try.
func (s *Store) GiveBack(ctx context.Context, d Due) error {
	const statement = `
		UPDATE enqueued SET dispatched_at = NULL, tries = tries - 1, due_at = writ_now()
		WHERE id = $1 AND tries = $2 AND due_at IS NOT NULL`
	return s.noteDue(ctx, statement, d.ID[:], d.Tries)
}

// Forget removes a request of a refused intent after that was decided on again. Where that has
// changed the intent, Settle forgets the request as every other one.
func (s *Store) Forget(ctx context.Context, d Due) error {
	const statement = `
		DELETE FROM enqueued e USING intents i WHERE e.id = $1 AND e.tries = $2 AND i.id = e.id AND ` + refusedBefore
	return s.noteDue(ctx, statement, d.ID[:], d.Tries)
}

// Park ends the tries of a request that cannot become an intent. A person may have it tried again.
// It changes nothing where there is an intent, but one that the request has found refused.
func (s *Store) Park(ctx context.Context, d Due, why *intent.Error) error {
	// The locks wait for whoever is about to insert the intent, and the next statement sees what
	// they committed.
	const (
		lock      = `SELECT FROM enqueued WHERE id = $1 FOR UPDATE`
		statement = `
			UPDATE enqueued e SET due_at = NULL, dispatched_at = NULL, parked_at = writ_now(), error_code = $2, error = $3
			WHERE e.id = $1 AND e.due_at IS NOT NULL AND NOT EXISTS (SELECT FROM intents i WHERE i.id = e.id AND NOT ` + refusedBefore + `)`
	)
	return s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lock, d.ID[:]); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, statement, d.ID[:], string(why.Code), why.Message)
		return err
	})
}

// noteDue changes one request. If it is lost, the request comes up again and is found anew.
func (s *Store) noteDue(ctx context.Context, statement string, args ...any) error {
	return s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}
