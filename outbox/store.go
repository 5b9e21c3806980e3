package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
)

// Store is the outbox in one PostgreSQL schema. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
}

// New returns the outbox that pool is connected to. The pool's search path names the
// schema.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// How long an intent may go without progress before recovery starts it again. A workflow
// takes its next step within seconds; the grace is for outages that Temporal bridges.
const progressGrace = 15 * time.Second

// A flushed transaction is on disk when COMMIT returns, whatever the role's or the
// database's default says: rule 1 (nothing leaves before its row is committed) must not
// hang on a setting that somebody else chose. A relaxed one may be lost in a crash of
// PostgreSQL.
//
// Both read what others committed before each statement, whatever isolation the role has by
// default: what is read after a lock has to be newer than what the lock was waited for.
//
// PostgreSQL ends both when they pause: a worker that is frozen in the middle must not keep a lock,
// as that of a budget that a whole tenant waits for, until somebody thaws it.
const (
	beginFlushed = readCommitted + "; set local synchronous_commit to on"
	beginRelaxed = readCommitted + "; set local synchronous_commit to off"

	readCommitted = "begin isolation level read committed; set local idle_in_transaction_session_timeout to '10s'"
)

// within runs fn in a transaction that was begun with the statement begin. One that PostgreSQL
// rolled back for the sake of another is run again, so fn has to begin anew each time.
func (s *Store) within(ctx context.Context, begin string, fn func(tx pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: begin}, fn)
		if !rolledBack(err) || try == rollbackTries || !pause(ctx, time.Duration(try)*rollbackPause) {
			return DatabaseError(err)
		}
	}
}

// How often a transaction is run that was rolled back for another, and after which pause, which
// grows by itself each time.
const (
	rollbackTries = 5
	rollbackPause = 10 * time.Millisecond
)

// rolledBack reports a serialization failure or a deadlock. Nothing of the transaction is left,
// also if the COMMIT says so (PostgreSQL manual, section 13.5).
func rolledBack(err error) bool {
	state := sqlState(err)
	return state == "40001" || state == "40P01"
}

// DatabaseError gives an error of PostgreSQL its code: database_unavailable if the answer
// is missing and the statement may be repeated (by the classes of SQLSTATE, appendix A of
// PostgreSQL's manual), else database_access_denied, migration_required or
// database_refused. Errors that have a code pass, and ErrDuplicateChanged, which is no error
// of PostgreSQL's.
func DatabaseError(err error) error {
	var known *intent.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, ErrDuplicateChanged) {
		return err
	}
	var unreadable pgx.ScanArgError
	if errors.As(err, &unreadable) {
		return intent.Errorf(intent.CodeDatabaseRefused, "PostgreSQL answered what Writ cannot read, which is a defect of Writ, or of a row that was changed by hand: %w", err)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return unavailable(err)
	}
	switch pg.Code {
	// undefined table, function, column; and where a table of that name is somebody else's, types that do not fit
	case "42P01", "42883", "42703", "42804", "42P08":
		return refused(intent.CodeMigrationRequired, "the schema of the outbox is missing or old, or not the one that search_path names; run `writ migrate up`", pg, err)
	case "25006": // read-only transaction
		return intent.Errorf(intent.CodeDatabaseUnavailable,
			"PostgreSQL takes no writes, as a standby does not; connect to the primary, or wait until it is one; to ask again is safe, for an intent with the same request key: %w", err)
	case "25P03": // idle in a transaction
		return unavailable(err)
	case "26000", "42P05": // no such prepared statement, or another one of that name
		return refused(intent.CodeDatabaseRefused, losesPrepared, pg, err)
	}
	switch pg.Code[:2] {
	case "08", "40", "53", "55", "57", "58": // connection, rollback, resources, not ready, stopped, system
		return unavailable(err)
	case "28", "3D": // authorization, database
		return refused(intent.CodeDatabaseDenied, "PostgreSQL does not let Writ in; mend DATABASE_URL", pg, err)
	}
	return refused(intent.CodeDatabaseRefused, "PostgreSQL refused a statement, which is a defect of Writ or of its schema", pg, err)
}

// Unreadable is the error, with code database_refused, of something in a row that nobody can read,
// because somebody changed it by hand.
func Unreadable(what string, err error) *intent.Error {
	return intent.Errorf(intent.CodeDatabaseRefused, "%s cannot be read, which is a defect of Writ, or of a row that was changed by hand: %w", what, err)
}

func unavailable(err error) error {
	return intent.Errorf(intent.CodeDatabaseUnavailable, "PostgreSQL did not answer; to ask again is safe, for an intent with the same request key: %w", err)
}

// refused says what PostgreSQL said, without what drivers and callers wrapped around it.
func refused(code intent.Code, what string, said *pgconn.PgError, err error) error {
	e := intent.Errorf(code, "%s: %s", what, said.Message)
	e.Cause = err
	return e
}

// The columns that scan reads, of tables i and a: these, writ_now() between them.
const intentColumns = `
	i.id, i.tenant, i.request_key, i.principal, i.tool, i.task_queue, i.state, i.version, i.generation, i.idempotency_key,
	i.effect_context, i.decision, i.salt, i.fingerprint, i.spec_digest, i.commitment, i.rules, i.traceparent,
	i.created_at, i.first_sent_at, i.due_at, i.ended_at, i.suspected_duplicate_of, i.confirm_by, i.approvers,
	i.revoked_at, i.revoked_after, i.revocation, i.alert,` + heldUntil + `,` + budgetUntil + `,` + restoredUntil + `,` + factColumns

const attemptColumns = `
	a.number, a.generation, a.token, a.worker, a.claimed_at, a.lease_until, a.send_by, a.outcome, a.evidence_at,
	a.code, a.message, a.final, a.in_progress, a.retry_after_ms, a.media_type, a.stored, a.already, a.effect_id, a.transacted, a.presumed`

// querier is what pools and transactions have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Load returns the intent, or an error with code intent_not_found.
func (s *Store) Load(ctx context.Context, id intent.ID) (Row, error) {
	row, err := load(ctx, s.pool, id)
	return row, DatabaseError(err)
}

const loadStatement = `
	SELECT` + intentColumns + `, writ_now(),` + attemptColumns + `
	FROM intents i LEFT JOIN attempts a ON a.intent_id = i.id
	WHERE i.id = $1
	ORDER BY a.number`

// load reads an intent and its attempts in one statement, so in one snapshot.
func load(ctx context.Context, q querier, id intent.ID) (Row, error) {
	rows, err := q.Query(ctx, loadStatement, id[:])
	if err != nil {
		return Row{}, err
	}
	defer rows.Close()
	var r Row
	found := false
	for rows.Next() {
		found = true
		if err := scan(rows, &r); err != nil {
			return Row{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return Row{}, err
	}
	if !found {
		return Row{}, intent.Errorf(intent.CodeIntentNotFound, "there is no intent %s", id)
	}
	return r, nil
}

// scan reads one joined row: the intent, over what was there, and one more attempt.
func scan(rows pgx.Rows, r *Row) error {
	var (
		salt, fingerprint, spec, commitment, rules []byte
		firstSent, due, ended, confirmBy           *time.Time
		duplicateOf                                *[16]byte
		revoked, held, budget, restored            *time.Time
		alert                                      *string
		lookups, decided                           []byte

		number, generation            *int
		token                         *[16]byte
		worker, outcome               *string
		claimed, lease, sendBy, known *time.Time
		code, message, mediaType      *string
		final, inProgress             *bool
		retryMS                       *int64
		stored, already               *bool
		transacted, presumed          *bool
		effectID                      *string
	)
	err := rows.Scan((*[16]byte)(&r.ID), &r.Tenant, &r.RequestKey, &r.Principal, &r.Tool, &r.TaskQueue, &r.State, &r.Version, &r.Generation, &r.IdempotencyKey,
		&r.EffectContext, &r.Decision, &salt, &fingerprint, &spec, &commitment, &rules, &r.Traceparent,
		&r.CreatedAt, &firstSent, &due, &ended, &duplicateOf, &confirmBy, &r.Approvers,
		&revoked, &r.RevokedAfter, &r.Revocation, &alert, &held, &budget, &restored, &lookups, &decided, &r.ReadAt,
		&number, &generation, &token, &worker, &claimed, &lease, &sendBy, &outcome, &known,
		&code, &message, &final, &inProgress, &retryMS, &mediaType, &stored, &already, &effectID, &transacted, &presumed)
	if err != nil {
		return fmt.Errorf("read intent %s: %w", r.ID, err)
	}
	r.SuspectedDuplicateOf = intent.ID(value(duplicateOf))
	copy(r.Salt[:], salt)
	copy(r.Fingerprint[:], fingerprint)
	copy(r.SpecDigest[:], spec)
	copy(r.Commitment[:], commitment)
	if err := json.Unmarshal(rules, &r.Rules); err != nil {
		return Unreadable("what is recorded as the rules of intent "+r.ID.String(), err)
	}
	r.CreatedAt, r.ReadAt = r.CreatedAt.UTC(), r.ReadAt.UTC()
	r.FirstSentAt, r.DueAt, r.EndedAt, r.ConfirmBy = value(firstSent).UTC(), value(due).UTC(), value(ended).UTC(), value(confirmBy).UTC()
	r.RevokedAt, r.HeldUntil, r.BudgetUntil, r.RestoredUntil = value(revoked).UTC(), value(held).UTC(), value(budget).UTC(), value(restored).UTC()
	r.Alert = value(alert)
	if err := r.readFacts(lookups, decided); err != nil {
		return err
	}
	if number == nil {
		return nil
	}
	r.Attempts = append(r.Attempts, Attempt{
		Attempt: intent.Attempt{
			Number: *number, Generation: *generation, ClaimedAt: claimed.UTC(), LeaseUntil: lease.UTC(),
			Outcome: intent.Outcome(value(outcome)), EvidenceAt: value(known).UTC(),
			Final: *final, InProgress: *inProgress, RetryAfter: time.Duration(*retryMS) * time.Millisecond,
			Stored: *stored, Already: *already, EffectID: value(effectID), Presumed: *presumed,
		},
		Token: uuid.UUID(*token), Worker: *worker, SendBy: sendBy.UTC(), Code: *code, Message: *message, MediaType: value(mediaType),
		Transacted: *transacted,
	})
	return nil
}

// value returns what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// orNull maps the zero time to NULL.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// idOrNull maps the zero id to NULL.
func idOrNull(id intent.ID) []byte {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

// lockRow locks the intent's row and returns it. Every change of an intent begins here.
func lockRow(ctx context.Context, tx pgx.Tx, id intent.ID) (Row, error) {
	var one int
	err := tx.QueryRow(ctx, `SELECT 1 FROM intents WHERE id = $1 FOR UPDATE`, id[:]).Scan(&one)
	if errors.Is(err, pgx.ErrNoRows) {
		return Row{}, noIntent(ctx, tx, id)
	}
	if err != nil {
		return Row{}, err
	}
	// A second statement: under READ COMMITTED it sees what the holder of the lock
	// committed, also the attempts, which the locking statement's snapshot would miss.
	return load(ctx, tx, id)
}

// Payload returns the canonical payload of the intent.
func (s *Store) Payload(ctx context.Context, id intent.ID) ([]byte, error) {
	payload, err := payload(ctx, s.pool, id)
	return payload, DatabaseError(err)
}

func payload(ctx context.Context, q querier, id intent.ID) ([]byte, error) {
	var payload []byte
	const query = `
		SELECT coalesce(i.payload, b.body) FROM intents i
		LEFT JOIN blobs b ON b.intent_id = i.id AND b.digest = i.payload_digest
		WHERE i.id = $1`
	err := q.QueryRow(ctx, query, id[:]).Scan(&payload)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, intent.Errorf(intent.CodeIntentNotFound, "there is no intent %s", id)
	}
	return payload, err
}
