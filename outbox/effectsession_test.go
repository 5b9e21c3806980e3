package outbox_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"writ/intent"
	"writ/outbox"
)

// session is what a connection keeps from one transaction to the next.
const session = `SELECT ARRAY[
	current_user::text, session_user::text, current_setting('search_path'), current_setting('default_transaction_read_only'),
	current_setting('synchronous_commit'), current_setting('timezone'), coalesce(current_setting('app.tenant', true), ''),
	(SELECT count(*)::text FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
	(SELECT count(*)::text FROM pg_listening_channels()),
	(SELECT count(*)::text FROM pg_cursors WHERE is_holdable),
	coalesce(to_regclass('pg_temp.receipts')::text, ''), coalesce(to_regclass('pg_temp.mine')::text, ''),
	(SELECT count(*)::text FROM pg_prepared_statements WHERE from_sql)]`

func TestAToolLeavesNothingInTheSessionThatOthersUseAfterIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, statement := range map[string]string{
		"a setting":             `SELECT set_config('app.tenant', 'acme', false)`,
		"a search path":         `SELECT set_config('search_path', 'pg_catalog', false)`,
		"a local search path":   `SELECT set_config('search_path', 'pg_catalog', true)`,
		"a setting in a block":  `DO $$ BEGIN SET default_transaction_read_only = on; SET timezone = 'Asia/Tokyo'; END $$`,
		"a lock":                `SELECT pg_advisory_lock(4711)`,
		"a lock in a block":     `DO $$ BEGIN PERFORM pg_advisory_lock_shared(4712); END $$`,
		"a role":                `DO $$ BEGIN EXECUTE 'SET ROLE pg_monitor'; END $$`,
		"a channel":             `DO $$ BEGIN EXECUTE 'LISTEN documents'; END $$`,
		"a temporary table":     `DO $$ BEGIN CREATE TEMPORARY TABLE mine (); END $$`,
		"a table in front":      `DO $$ BEGIN CREATE TEMPORARY TABLE receipts (LIKE receipts INCLUDING ALL); END $$`,
		"a prepared statement":  `DO $$ BEGIN EXECUTE 'PREPARE mine AS SELECT 1'; END $$`,
		"statements taken away": `DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$`,
	} {
		t.Run(name, func(t *testing.T) {
			engine, _ := b.behind(t)
			want := query[[]string](t, b, session)
			for _, key := range []string{"succeeds", "fails"} {
				key += " after " + name
				c := b.claimed(t, key)
				done := engine.transact(t, c, func(tx *outbox.EffectTx) error {
					err := errors.Join(purge(t, key)(tx), justErr(tx.Exec(t.Context(), statement)))
					if strings.HasPrefix(key, "fails") {
						err = errors.Join(err, errors.New("on second thoughts"))
					}
					return err
				})
				if got := query[[]string](t, engine, session); !slices.Equal(got, want) {
					t.Errorf("%s: the session is %q, want %q", key, got, want)
				}
				if done.Committed {
					b.wantOnce(t, c.Row.ID, key, 1)
				} else if strings.HasPrefix(key, "succeeds") && name != "statements taken away" {
					t.Errorf("%s: it was not committed: %+v", key, done.Evidence)
				}
				if _, err := engine.Load(t.Context(), c.Row.ID); err != nil {
					t.Errorf("%s: the outbox is of no use any more: %v", key, err)
				}
			}
		})
	}
}

func TestAConnectionIsUsedAgainAfterAToolThatLeftNothing(t *testing.T) {
	t.Parallel()
	b := start(t)
	engine, _ := b.behind(t)
	pid := query[int](t, engine, `SELECT pg_backend_pid()`)
	for _, key := range []string{"first", "second"} {
		c := b.claimed(t, key)
		if done := engine.transact(t, c, purge(t, key)); !done.Committed {
			t.Fatalf("%+v", done.Evidence)
		}
		if got := query[int](t, engine, `SELECT pg_backend_pid()`); got != pid {
			t.Errorf("the %s transaction cost the connection", key)
		}
	}
}

func TestTypesThatAToolRegistersAreNotThereForOthers(t *testing.T) {
	t.Parallel()
	b := start(t)
	engine, conn := b.behind(t)
	c := b.claimed(t, "terms")
	done := engine.transact(t, c, func(tx *outbox.EffectTx) error {
		rows, err := tx.Query(t.Context(), `SELECT 1`)
		rows.TypeMap().RegisterType(&pgtype.Type{Name: "mine", OID: pgtype.UUIDOID, Codec: pgtype.TextCodec{}})
		rows.Close()
		return errors.Join(err, rows.Err(), purge(t, "terms")(tx))
	})
	if typ, ok := conn.TypeMap().TypeForName("mine"); ok || !done.Committed {
		t.Errorf("%+v is registered; %+v", typ, done.Evidence)
	}
}

// blocks is a destination and an argument whose code does not come back before the test says.
type blocks struct{ begun, end chan struct{} }

func (b blocks) Scan(any) error { close(b.begun); <-b.end; return nil }

func (b blocks) Value() (driver.Value, error) { close(b.begun); <-b.end; return "", nil }

func TestADestinationThatDoesNotComeBackDoesNotKeepTheTransaction(t *testing.T) {
	t.Parallel()
	b := start(t)
	stuck := blocks{make(chan struct{}), make(chan struct{})}
	defer close(stuck.end)
	c := b.claimed(t, "terms")
	done := b.transact(t, c, func(tx *outbox.EffectTx) error {
		if err := purge(t, "terms")(tx); err != nil {
			return err
		}
		go func() { _ = tx.QueryRow(t.Context(), `SELECT 'x'`).Scan(stuck) }()
		<-stuck.begun
		return nil
	})
	if !done.Committed {
		t.Fatalf("%+v", done.Evidence)
	}
	b.wantOnce(t, c.Row.ID, "terms", 1)
}

// reads is a destination that uses the transaction while it is read.
type reads struct{ tx *outbox.EffectTx }

func (r reads) Scan(any) error {
	_, err := r.tx.Exec(context.Background(), `SELECT 1`)
	return err
}

func TestADestinationThatUsesTheTransactionGetsPgxsErrorAndNoDeadlock(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	var err error
	done := b.transact(t, c, func(tx *outbox.EffectTx) error {
		err = tx.QueryRow(t.Context(), `SELECT 1`).Scan(reads{tx})
		return purge(t, "terms")(tx)
	})
	if err == nil || !strings.Contains(err.Error(), "conn busy") || !done.Committed {
		t.Errorf("%v, %+v", err, done.Evidence)
	}
}

func TestAnArgumentThatDoesNotComeBackCostsTheTransactionAndNotTheWorker(t *testing.T) {
	t.Parallel()
	b := start(t)
	stuck, left := blocks{make(chan struct{}), make(chan struct{})}, make(chan error)
	c := b.claimed(t, "terms")
	engine, _ := b.behind(t)
	done := engine.transact(t, c, func(tx *outbox.EffectTx) error {
		if err := purge(t, "terms")(tx); err != nil {
			return err
		}
		go func() {
			_, err := tx.Exec(context.WithoutCancel(t.Context()), `SELECT $1::text`, stuck)
			left <- err
		}()
		<-stuck.begun
		return nil
	})
	// The pool has its only connection back.
	if pid := query[int](t, engine, `SELECT pg_backend_pid()`); pid == 0 {
		t.Error("there is no process")
	}
	b.wantNothing(t, c, "terms", done, outbox.CodeTransactionBroken)
	close(stuck.end)
	if err := <-left; err == nil {
		t.Error("the statement was run after all")
	}
}

func TestAToolThatSucceededAndCannotBeSealedSaysSo(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	done, err := b.Transact(t.Context(), within(c, 10*time.Second), evidenceOf(c, purge(t, "terms")),
		func(context.Context, pgx.Tx, outbox.Row, string, *outbox.Answer) error { return errors.New("no ink") })
	if err != nil {
		t.Fatal(err)
	}
	b.wantNothing(t, c, "terms", done, outbox.CodeNotSealed)
	if done.Evidence.Final {
		t.Error("it is not tried again")
	}
}

func TestARawCommitIsRefusedAlsoBehindTemporaryTables(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE attempts SET transacted = true;
			CREATE TEMPORARY TABLE receipts ON COMMIT DROP AS SELECT id AS intent_id, 1 AS generation, 0 AS number FROM intents;
			CREATE TEMPORARY TABLE intents ON COMMIT DROP AS SELECT intent_id AS id, 1 AS generation, 'completed' AS state FROM attempts;
			DELETE FROM documents`)
		return err
	})
	if constraintOf(err) != "receipt_demanded" || !b.kept(t, "terms") {
		t.Errorf("the COMMIT ended with %v", err)
	}
	if row := b.load(t, c.Row.ID); row.State != intent.Invoking {
		t.Errorf("the intent is %s", row.State)
	}
}
