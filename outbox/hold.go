package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// HoldScope says what a hold stops.
type HoldScope string

// The scopes of holds.
const (
	HoldTool     HoldScope = "tool"
	HoldProvider HoldScope = "provider"
	HoldTenant   HoldScope = "tenant"
)

// Subject is what a hold stops: one tool, one provider or one tenant.
type Subject struct {
	Scope HoldScope
	Name  string
}

// Hold is a stop on a subject. No claim of its intents is granted while it stands, so nothing
// more is sent for them; they wait and go on by themselves when it is lifted.
type Hold struct {
	ID uuid.UUID
	Subject
	// Automatic says that the circuit breaker set it, and not a person.
	Automatic bool
	// Decider is who set it.
	Decider
	SetAt time.Time
	// ProbeAt is when one claim may try the provider, and Probes counts those that have; only
	// of an automatic hold.
	ProbeAt time.Time
	Probes  int
	// LiftedAt is zero while the hold stands, and Lifter is who lifted it.
	LiftedAt time.Time
	Lifter   Decider
}

// Flight is an attempt that was claimed and of which nothing is known yet: its request may
// still be sent, until its lease ends.
type Flight struct {
	ID         intent.ID
	Tenant     string
	RequestKey intent.RequestKey
	Tool       string
	Attempt    int
	Worker     string
	ClaimedAt  time.Time
	LeaseUntil time.Time
}

const holdColumns = `
	h.id, h.scope, h.name, h.automatic, h.set_at, h.probe_at, h.probes, h.lifted_at, ` + readDecider + `,
	coalesce(lifted_by, ''), coalesce(lift_note, ''), nullif(lift_roles, '{}'), nullif(lift_on_behalf_of, '{}'), lift_authentication_source`

// ofSubject is the condition on intents i that a subject's hold stops them; $1 is the scope and
// $2 the name. That of the zero Subject stops all.
const ofSubject = `CASE $1 WHEN '' THEN '' WHEN 'tenant' THEN i.tenant WHEN 'tool' THEN i.tool ELSE i.rules->>'provider' END = $2`

// lockHolds lets no hold on the intent's subjects be set until tx has ended. It has to come
// before the row is read: a hold that this waited for is seen only by a later snapshot. What it
// reads of the intent never changes.
//
// All transactions take the keys in the order of their values. In any other order two claims
// could each wait for the other behind somebody who sets a hold.
func lockHolds(ctx context.Context, tx pgx.Tx, id intent.ID) error {
	const statement = `
		SELECT pg_advisory_xact_lock_shared(key) FROM (
			SELECT writ_hold_lock(of.scope, of.name) AS key
			FROM intents i, LATERAL (VALUES ('tenant', i.tenant), ('tool', i.tool), ('provider', i.rules->>'provider')) of (scope, name)
			WHERE i.id = $1 AND of.name IS NOT NULL ORDER BY key) k`
	_, err := tx.Exec(ctx, statement, id[:])
	return err
}

// lockSubject waits for the claims of the subject's intents that are being granted and keeps
// new ones waiting until tx has ended. The caller holds no lock on a row.
func lockSubject(ctx context.Context, tx pgx.Tx, on Subject) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(writ_hold_lock($1, $2))`, string(on.Scope), on.Name)
	return err
}

// SetHold stops the subject, in one flushed commit, and returns the hold. After it has returned
// no claim of the subject's intents is granted until the hold is lifted. A person's hold that
// stands already is returned as it is, so the call may be repeated.
func (s *Store) SetHold(ctx context.Context, on Subject, by Decider) (Hold, error) {
	var hold Hold
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if err = lockSubject(ctx, tx, on); err != nil {
			return err
		}
		if _, err = insertHold(ctx, tx, on, false, by); err != nil {
			return err
		}
		const standing = `
			SELECT` + holdColumns + ` FROM holds h
			WHERE h.scope = $1 AND h.name = $2 AND NOT h.automatic AND h.lifted_at IS NULL`
		hold, err = oneHold(ctx, tx, standing, string(on.Scope), on.Name)
		return err
	})
	return hold, err
}

// insertHold sets a hold unless one of its kind stands, and reports whether it did. It needs
// the subject's lock.
func insertHold(ctx context.Context, tx pgx.Tx, on Subject, automatic bool, by Decider) (bool, error) {
	const statement = `
		INSERT INTO holds (id, scope, name, automatic, set_at, probe_at, ` + deciderColumns + `)
		VALUES (gen_random_uuid(), $1, $2, $3, writ_now(), CASE WHEN $3 THEN writ_now() + $4::interval END, $5, $6, $7, $8, $9)
		ON CONFLICT (scope, name, automatic) WHERE lifted_at IS NULL DO NOTHING`
	tag, err := tx.Exec(ctx, statement, append([]any{string(on.Scope), on.Name, automatic, firstProbe}, by.values()...)...)
	return tag.RowsAffected() == 1, err
}

// InFlight returns the attempts of the subject's intents that were claimed, of which nothing is
// known and whose lease runs, the oldest first: what a hold that was just set came too late for.
// Those of intents that have ended are left out, because their end says what became of them.
func (s *Store) InFlight(ctx context.Context, on Subject) ([]Flight, error) {
	// It takes no lock: SetHold has waited for the claims that were being granted. It reads all
	// open intents, from intents_open_created, and their attempts by primary key. An index of
	// each scope would be written with every intent, for a question that a person asks.
	const query = `
		SELECT i.id, i.tenant, i.request_key, i.tool, a.number, a.worker, a.claimed_at, a.lease_until
		FROM intents i JOIN attempts a ON a.intent_id = i.id
		WHERE i.ended_at IS NULL AND ` + ofSubject + ` AND a.outcome IS NULL AND a.lease_until > (SELECT writ_now())
		ORDER BY a.claimed_at, i.id, a.number`
	rows, err := s.pool.Query(ctx, query, string(on.Scope), on.Name)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Flight, error) {
		var f Flight
		err := row.Scan((*[16]byte)(&f.ID), &f.Tenant, &f.RequestKey, &f.Tool, &f.Attempt, &f.Worker, &f.ClaimedAt, &f.LeaseUntil)
		f.ClaimedAt, f.LeaseUntil = f.ClaimedAt.UTC(), f.LeaseUntil.UTC()
		return f, err
	})
	return list, DatabaseError(err)
}

// LiftHold lifts a hold in one flushed commit and returns it as it was. The error has code
// hold_not_found if there is none with the id or if it was lifted before. [Store.Release] lets
// the intents go on that it kept waiting.
func (s *Store) LiftHold(ctx context.Context, id uuid.UUID, by Decider) (Hold, error) {
	// Who lifts a breaker's hold wants the provider tried again: it takes a new streak to stop it.
	const forgive = `
		UPDATE breakers SET failures = 0
		WHERE failures > 0 AND provider = (SELECT name FROM holds WHERE id = $1 AND automatic AND lifted_at IS NULL)`
	const lift = `
		UPDATE holds h SET lifted_at = writ_now(), lifted_by = $2, lift_note = $3, lift_roles = $4, lift_on_behalf_of = $5,
			lift_authentication_source = $6
		WHERE h.id = $1 AND h.lifted_at IS NULL
		RETURNING` + holdColumns
	var hold Hold
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		// In this order, as the breaker does it, so that the two cannot deadlock.
		if _, err := tx.Exec(ctx, forgive, id); err != nil {
			return err
		}
		var err error
		hold, err = oneHold(ctx, tx, lift, append([]any{id}, by.values()...)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return notStanding(ctx, tx, id)
		}
		return err
	})
	return hold, err
}

// notStanding says why a hold cannot be lifted.
func notStanding(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	hold, err := oneHold(ctx, tx, `SELECT`+holdColumns+` FROM holds h WHERE h.id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return intent.Errorf(intent.CodeHoldNotFound, "there is no hold %s; `writ hold list` shows those that stand", id)
	}
	if err != nil {
		return err
	}
	return intent.Errorf(intent.CodeHoldNotFound, "hold %s does not stand any more: %s lifted it at %s", id, hold.Lifter.Principal, hold.LiftedAt.Format(time.RFC3339))
}

// maxHolds bounds a list of holds.
const maxHolds = 1000

// Holds returns the holds that stand, the latest first.
func (i *Inspector) Holds(ctx context.Context) ([]Hold, error) {
	const query = `SELECT` + holdColumns + ` FROM holds h WHERE h.lifted_at IS NULL ORDER BY h.set_at DESC, h.id`
	rows, err := i.conn.Query(ctx, query)
	if err != nil {
		return nil, wrap("read the holds", err)
	}
	list, err := pgx.CollectRows(rows, scanHold)
	return list, wrap("read the holds", err)
}

// Holds returns the holds that stand, or all that ever stood, the latest first and at most
// 1,000.
func (s *Store) Holds(ctx context.Context, all bool) ([]Hold, error) {
	const query = `
		SELECT` + holdColumns + ` FROM holds h
		WHERE $1 OR h.lifted_at IS NULL ORDER BY h.set_at DESC, h.id LIMIT $2`
	return s.holds(ctx, query, all, maxHolds)
}

// HoldsOn returns the holds that stand and stop the intent, the latest first.
func (s *Store) HoldsOn(ctx context.Context, row Row) ([]Hold, error) {
	const query = `
		SELECT` + holdColumns + ` FROM holds h
		WHERE h.lifted_at IS NULL AND (h.scope, h.name) IN (('tenant', $1), ('tool', $2), ('provider', $3))
		ORDER BY h.set_at DESC, h.id`
	return s.holds(ctx, query, row.Tenant, row.Tool, row.Rules.Provider)
}

// heldUntil is the time before which no claim of intent i may be granted, by the holds that
// stand; NULL: none does. A person's hold has no end, so whoever waits for it looks again
// after a minute. It stands in the statements themselves, because PostgreSQL plans the body of
// a function anew for each of them.
const heldUntil = `
	(SELECT max(CASE WHEN h.automatic THEN h.probe_at ELSE writ_now() + interval '1 minute' END) FROM holds h
		WHERE h.lifted_at IS NULL AND (h.scope, h.name) IN (('tenant', i.tenant), ('tool', i.tool), ('provider', i.rules->>'provider')))`

// Held reports whether a hold stops what has no row yet, and the database's clock. Reads that a
// caller waits for run without a claim; while one stands they get a row and wait like all others.
func (s *Store) Held(ctx context.Context, tenant, tool, provider string) (held bool, now time.Time, err error) {
	const query = `
		SELECT ` + heldUntil + ` IS NOT NULL, writ_now()
		FROM (SELECT $1::text AS tenant, $2::text AS tool, jsonb_build_object('provider', $3::text) AS rules) i`
	err = s.pool.QueryRow(ctx, query, tenant, tool, provider).Scan(&held, &now)
	return held, now.UTC(), DatabaseError(err)
}

func (s *Store) holds(ctx context.Context, query string, args ...any) ([]Hold, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, scanHold)
	return list, DatabaseError(err)
}

func oneHold(ctx context.Context, tx pgx.Tx, query string, args ...any) (Hold, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return Hold{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanHold)
}

func scanHold(row pgx.CollectableRow) (Hold, error) {
	var h Hold
	var probe, lifted *time.Time
	columns := []any{(*[16]byte)(&h.ID), &h.Scope, &h.Name, &h.Automatic, &h.SetAt, &probe, &h.Probes, &lifted}
	err := row.Scan(slices.Concat(columns, h.fields(), h.Lifter.fields())...)
	h.SetAt, h.ProbeAt, h.LiftedAt = h.SetAt.UTC(), value(probe).UTC(), value(lifted).UTC()
	return h, err
}
