package outbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"writ/intent"
	"writ/outbox"
)

var states = intent.States()

// refused reports whether the database refused the statement as a violation of integrity.
func refused(t *testing.T, err error) bool {
	t.Helper()
	var pg *pgconn.PgError
	if err != nil && (!errors.As(err, &pg) || !strings.HasPrefix(pg.Code, "23")) {
		t.Fatalf("an error of another kind: %v", err)
	}
	return err != nil
}

func TestTheDatabaseAllowsExactlyTheTransitionsOfTheRule(t *testing.T) {
	t.Parallel()
	b := start(t)
	waits := propose("order-4711", keyed())
	waits.ConfirmWithin = time.Hour
	row := b.insert(t, waits)
	b.decided(t, row, intent.Confirm, row.Commitment)
	for _, from := range states {
		for _, to := range states {
			if from == to {
				continue // a fact that changes no state
			}
			err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
				const set = `UPDATE intents SET version = version + 1, state = $2, ended_at = CASE WHEN $3 THEN writ_now() END`
				const renewed = `, generation = generation + 1, idempotency_key = gen_random_uuid()::text, first_sent_at = NULL`
				const where = ` WHERE id = $1`
				// Without the guard, to put the row where the rule would not let it.
				for _, statement := range []string{
					`ALTER TABLE intents DISABLE TRIGGER guard`,
					strings.NewReplacer("$1", "'"+row.ID.String()+"'", "$2", "'"+string(from)+"'", "$3", fmt.Sprint(from.Ended())).Replace(set + renewed + where),
					`ALTER TABLE intents ENABLE TRIGGER guard`,
				} {
					if _, err := tx.Exec(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				move := set
				if from == intent.Refused && to != intent.Recorded && to != intent.AwaitingConfirmation {
					move += renewed // also not in another generation
				} else if from == intent.Refused {
					move += `, generation = generation + 1, commitment = sha256(commitment), confirm_by = CASE WHEN $2 = 'recorded' THEN NULL ELSE confirm_by END`
				} else if to == intent.Recorded && from != intent.AwaitingConfirmation {
					move += renewed // nothing else leads back there
				}
				_, err := tx.Exec(t.Context(), move+where, row.ID[:], string(to), to.Ended())
				return err
			})
			if allowed := !refused(t, err); allowed != intent.CanMove(from, to) {
				t.Errorf("from %s to %s: the rule says %v, the database %v (%v)", from, to, intent.CanMove(from, to), allowed, err)
			}
		}
	}
}

// decided writes a decision that changes nothing else.
func (b bundle) decided(t *testing.T, row outbox.Row, kind intent.DecisionKind, commitment intent.Digest) {
	t.Helper()
	b.exec(t, `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, decided_at)
		SELECT $1, 1 + count(*), $2, 'eve', '', $3, writ_now() FROM decisions WHERE intent_id = $1`, row.ID[:], string(kind), commitment[:])
}

func TestTheDatabaseLetsNothingGoOnThatNobodyHasConfirmed(t *testing.T) {
	t.Parallel()
	b := start(t)
	waits := propose("order-4711", keyed())
	waits.ConfirmWithin = time.Hour
	row := b.insert(t, waits)
	goesOn := func() bool {
		_, err := b.pool.Exec(t.Context(), `UPDATE intents SET version = version + 1, state = 'recorded' WHERE id = $1`, row.ID[:])
		return !refused(t, err)
	}
	if goesOn() {
		t.Fatal("without any decision")
	}
	b.decided(t, row, intent.Deny, row.Commitment)
	b.decided(t, row, intent.Confirm, intent.Digest{1})
	if goesOn() {
		t.Fatal("after a denial, and a confirmation of something else")
	}
	b.decided(t, row, intent.Confirm, row.Commitment)
	if !goesOn() {
		t.Error("not after its confirmation either")
	}
}

func TestTheDatabaseKnowsNoOtherStates(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.insert(t, propose("order-4711", keyed()))
	check := query[string](t, b, `SELECT pg_get_constraintdef(oid) FROM pg_constraint
		WHERE conrelid = 'intents'::regclass AND conname = 'intents_state_check'`)
	if n := strings.Count(check, "'") / 2; n != len(states) {
		t.Errorf("%d states in %s", n, check)
	}
	for _, s := range states {
		if !strings.Contains(check, "'"+string(s)+"'") {
			t.Errorf("%s is missing in %s", s, check)
		}
	}
	b.exec(t, `ALTER TABLE intents DISABLE TRIGGER guard`)
	if _, err := b.pool.Exec(t.Context(), `UPDATE intents SET state = 'paused'`); !refused(t, err) {
		t.Error("a state that nobody knows was accepted")
	}
}

// A row of each table, with everything on it that an intent can have: an open attempt, one
// with unknown and one with definite evidence, and in a second intent a receipt.
func everything(t *testing.T) bundle {
	b := start(t)
	first := b.granted(t, b.insert(t, propose("open", keyed())))
	row := b.evidence(t, first.Row, of(first, intent.Unknown, "timeout"))
	b.exec(t, `CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() + interval '1 hour' $$`)
	second := b.granted(t, row)
	row = b.evidence(t, second.Row, of(second, intent.NotApplied, "http_401"))
	b.exec(t, `CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() + interval '2 hours' $$`)
	b.granted(t, row)
	c := b.granted(t, b.insert(t, propose("completed", keyed())))
	ev := of(c, intent.Applied, "")
	b.journal(t, c.Row, &ev)
	b.decided(t, c.Row, intent.Confirm, c.Row.Commitment)
	return b
}

func TestTheDatabaseRefusesToForget(t *testing.T) {
	t.Parallel()
	b := everything(t)
	for _, statement := range []string{
		`UPDATE receipts SET body = 'nothing happened'`,
		`UPDATE receipts SET number = 1`,
		`DELETE FROM receipts`,
		`DELETE FROM attempts`,
		`DELETE FROM intents`,
		`TRUNCATE receipts`,
		`TRUNCATE attempts`,
		`TRUNCATE intents CASCADE`,
		`INSERT INTO receipts SELECT * FROM receipts`,
		`UPDATE decisions SET note = 'nobody was asked'`,
		`DELETE FROM decisions`,
		`TRUNCATE decisions`,
	} {
		if _, err := b.pool.Exec(t.Context(), statement); !refused(t, err) {
			t.Errorf("%s was accepted", statement)
		}
	}
}

func TestTheDatabaseRefusesToChangeWhatWasRecorded(t *testing.T) {
	t.Parallel()
	b := everything(t)
	for _, change := range []string{
		`id = gen_random_uuid()`, `tenant = 'globex'`, `request_key = 'other'`, `principal = 'mallory'`, `tool = 'payments.refund'`,
		`class = 'read'`, `payload = '{}'`, `effect_context = '{}'`, `salt = sha256('x')::bytea`, `fingerprint = sha256('x')`,
		`spec_digest = sha256('x')`, `rules = '{}'`, `traceparent = 'x'`, `task_queue = 'x'`,
		`created_at = created_at - interval '1 day'`, `idempotency_key = gen_random_uuid()::text`,
		`first_sent_at = first_sent_at + interval '1 second'`, `first_sent_at = NULL`, `generation = 0`,
		`suspected_duplicate_of = gen_random_uuid()`, `confirm_by = writ_now()`,
	} {
		if _, err := b.pool.Exec(t.Context(), `UPDATE intents SET version = version + 1, `+change+` WHERE request_key = 'open'`); !refused(t, err) {
			t.Errorf("intents: %s was accepted", change)
		}
	}
	for _, change := range []string{
		`state = 'in_doubt'`, `generation = 2`, `decision = '{}'`, `commitment = sha256('x')`, `first_sent_at = first_sent_at - interval '1 s'`, `version = version - 1`,
	} {
		if _, err := b.pool.Exec(t.Context(), `UPDATE intents SET `+change+` WHERE request_key = 'open'`); !refused(t, err) {
			t.Errorf("intents: %s was accepted without a new version", change)
		}
	}
	for change, attempt := range map[string]int{
		`outcome = 'applied'`: 2, `code = 'http_500'`: 2, `outcome = NULL, evidence_at = NULL`: 2,
		`outcome = NULL, evidence_at = NULL  `: 1, `code = 'other'`: 1,
		`token = gen_random_uuid()`: 3, `lease_until = lease_until + interval '1 day'`: 3, `send_by = send_by + interval '1 day'`: 3,
		`generation = 2`: 3, `number = 4`: 3, `claimed_at = claimed_at - interval '1 day'`: 3, `worker = 'other'`: 3,
		`outcome = 'maybe', evidence_at = writ_now()`: 3, `outcome = 'unknown'`: 3, `result = 'x', media_type = 'text/plain'`: 3,
	} {
		_, err := b.pool.Exec(t.Context(), `UPDATE attempts SET `+change+` WHERE number = $1 AND intent_id =
			(SELECT id FROM intents WHERE request_key = 'open')`, attempt)
		if !refused(t, err) {
			t.Errorf("attempt %d: %s was accepted", attempt, change)
		}
	}
}

func TestANewGenerationHasANewKeyAndFollowsOneOfWhichNothingHappened(t *testing.T) {
	t.Parallel()
	b := everything(t)
	const renew = `UPDATE intents SET version = version + 1, state = 'recorded', generation = generation + 1,
		idempotency_key = gen_random_uuid()::text, first_sent_at = NULL WHERE request_key = 'open'`
	for _, broken := range []string{
		strings.Replace(renew, "generation + 1", "generation + 2", 1),
		strings.Replace(renew, "gen_random_uuid()::text", "idempotency_key", 1),
		strings.Replace(renew, "first_sent_at = NULL", "first_sent_at = first_sent_at", 1),
		strings.Replace(renew, "state = 'recorded'", "state = 'invoking'", 1),
	} {
		if _, err := b.pool.Exec(t.Context(), broken); !refused(t, err) {
			t.Errorf("%s was accepted (%v)", broken, err)
		}
	}
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		const late = `UPDATE attempts SET outcome = 'applied', evidence_at = writ_now() WHERE number = 3 AND intent_id =
			(SELECT id FROM intents WHERE request_key = 'open')`
		if _, err := tx.Exec(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		_, err := tx.Exec(t.Context(), renew)
		return err
	})
	if !refused(t, err) {
		t.Errorf("a generation began after one whose attempt had its effect (%v)", err)
	}
	b.exec(t, renew)
	if _, err := b.pool.Exec(t.Context(), `UPDATE intents SET version = version + 1, generation = 1 WHERE request_key = 'open'`); !refused(t, err) {
		t.Error("an old generation came back")
	}
}
