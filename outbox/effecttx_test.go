package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/outbox"
)

func constraintOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.ConstraintName
	}
	return ""
}

// rewriter makes every statement a COMMIT.
type rewriter struct{}

func (rewriter) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return "COMMIT", nil, nil
}

func TestWhatControlsTheTransactionOrTheSessionIsRefusedAndNothingIsKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i, door := range []struct {
		sql  string
		args []any
	}{
		{sql: "COMMIT"}, {sql: "commit;"}, {sql: " \t\n; ;COMMIT AND CHAIN"}, {sql: "-- a comment\nCOMMIT"}, {sql: "-- a comment\rEND"},
		{sql: "/* one /* in the other */ SELECT */ END TRANSACTION"}, {sql: "/**/COMMIT"}, {sql: "COMMIT/**/"}, {sql: "(COMMIT)"},
		{sql: "ROLLBACK"}, {sql: "ABORT"}, {sql: "BEGIN"}, {sql: "START TRANSACTION"}, {sql: "SAVEPOINT a"}, {sql: "RELEASE a"}, {sql: "ROLLBACK TO a"},
		{sql: "PREPARE TRANSACTION 'x'"}, {sql: "COMMIT PREPARED 'x'"}, {sql: "PREPARE q AS SELECT 1"}, {sql: "EXECUTE q"}, {sql: "DEALLOCATE ALL"},
		{sql: "SET statement_timeout = 0"}, {sql: "SET CONSTRAINTS ALL IMMEDIATE"}, {sql: "SET LOCAL session_replication_role = replica"},
		{sql: "RESET ALL"}, {sql: "DISCARD ALL"}, {sql: "LISTEN x"}, {sql: "UNLISTEN *"}, {sql: "COPY documents FROM STDIN"},
		{sql: "CREATE TABLE x ()"}, {sql: "ALTER TABLE attempts DISABLE TRIGGER ALL"}, {sql: "DROP TRIGGER receipt_demanded ON attempts"},
		{sql: ""}, {sql: ";"}, {sql: "--"}, {sql: "/* it never ends COMMIT"}, {sql: "\ufeffCOMMIT"}, {sql: "\u00a0COMMIT"}, {sql: `"commit"`},
		{sql: "DELETE FROM documents; COMMIT", args: []any{pgx.QueryExecModeSimpleProtocol}},
		{sql: "SELECT 1", args: []any{rewriter{}}},
		{sql: "SELECT @x", args: []any{pgx.NamedArgs{"x": 1}, pgx.QueryExecModeSimpleProtocol}},
		{sql: "SELECT 1", args: []any{pgx.QueryResultFormats{1}}},
	} {
		key := "door-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		c := b.claimed(t, key)
		done := b.transact(t, c, func(tx *outbox.EffectTx) error {
			if err := purge(t, key)(tx); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), door.sql, door.args...)
			rows, err2 := tx.Query(t.Context(), door.sql, door.args...)
			err3 := tx.QueryRow(t.Context(), door.sql, door.args...).Scan()
			if err == nil || err2 == nil || err3 == nil || rows.Next() || rows.Err() == nil || rows.Conn() != nil {
				t.Errorf("%q was not refused: %v, %v, %v", door.sql, err, err2, err3)
			}
			return nil
		})
		b.wantNothing(t, c, key, done, outbox.CodeStatementRefused)
		if done.Evidence != nil && !done.Evidence.Final {
			t.Errorf("%q would be tried again", door.sql)
		}
	}
}

func TestAToolReadsAndChangesRowsInEveryWayThatATransactionTakes(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	done := b.transact(t, c, func(tx *outbox.EffectTx) error {
		ctx := t.Context()
		for _, statement := range []string{
			"-- why\n/* and /* how */ */ ;(SELECT 1)", "WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1)", "TABLE documents",
			"UPDATE documents SET title = title", "DO $$ BEGIN PERFORM 1; END $$", "NOTIFY documents", "LOCK TABLE documents",
			"MERGE INTO documents d USING (SELECT 'terms' AS id) s ON d.id = s.id WHEN MATCHED THEN DO NOTHING",
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		rows, _ := tx.Query(ctx, `SELECT id, title FROM documents WHERE id = @id`, pgx.NamedArgs{"id": "terms"})
		type document struct{ ID, Title string }
		if got, err := pgx.CollectRows(rows, pgx.RowToStructByName[document]); err != nil || len(got) != 1 || got[0].Title != "Terms" {
			t.Errorf("the rows are %+v, %v", got, err)
		}
		if rows.Conn() != nil || rows.CommandTag().RowsAffected() != 1 || len(rows.FieldDescriptions()) != 2 {
			t.Error("the rows lead to the connection, or say nothing of themselves")
		}
		if err := tx.QueryRow(ctx, `SELECT 1 WHERE false`).Scan(new(int)); !errors.Is(err, pgx.ErrNoRows) {
			t.Errorf("no row is %v", err)
		}
		tag, err := tx.Exec(ctx, purgeDocument, "terms")
		if tag.RowsAffected() != 1 {
			t.Errorf("it deleted %d rows", tag.RowsAffected())
		}
		return err
	})
	if !done.Committed {
		t.Fatalf("%+v", done.Evidence)
	}
	b.wantOnce(t, c.Row.ID, "terms", 1)
}

func TestRowsThatAToolLeavesOpenAreClosedBeforeTheCommit(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	var left pgx.Rows
	done := b.transact(t, c, func(tx *outbox.EffectTx) (err error) {
		if err := purge(t, "terms")(tx); err != nil {
			return err
		}
		left, err = tx.Query(t.Context(), `SELECT generate_series(1, 100000)`)
		left.Next()
		return err
	})
	if !done.Committed || left.Next() {
		t.Fatalf("%+v", done.Evidence)
	}
	b.wantOnce(t, c.Row.ID, "terms", 1)
}

func TestATransactionIsOfNoUseToAToolThatHasReturned(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	b.exec(t, keepDocument, "outlived")
	var outlived *outbox.EffectTx
	var inTheSeal error
	done, err := b.Transact(t.Context(), within(c, 10*time.Second), evidenceOf(c, func(tx *outbox.EffectTx) error {
		outlived = tx
		return purge(t, "terms")(tx)
	}), func(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
		inTheSeal = purge(t, "outlived")(outlived)
		return seal(ctx, tx, row, reason, answer)
	})
	if err != nil || !done.Committed {
		t.Fatalf("%+v, %v", done, err)
	}
	afterwards := purge(t, "outlived")(outlived)
	if inTheSeal == nil || afterwards == nil || !b.kept(t, "outlived") {
		t.Errorf("after the tool had returned: %v before the COMMIT, %v after it", inTheSeal, afterwards)
	}
}

func TestAToolThatReturnsWhileAStatementOfItsRunsHasNothingKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	ended := make(chan error, 1)
	done := b.transact(t, c, func(tx *outbox.EffectTx) error {
		if err := purge(t, "terms")(tx); err != nil {
			return err
		}
		go func() {
			ended <- justErr(tx.Exec(context.WithoutCancel(t.Context()), `SELECT pg_sleep(60), 'outlived'`))
		}()
		b.awaitStatement(t, "'outlived'")
		return nil
	})
	if err := <-ended; err == nil {
		t.Error("the statement was not broken")
	}
	b.wantNothing(t, c, "terms", done, outbox.CodeTransactionLost)
}

// awaitStatement waits until a statement with that text runs in this schema.
func (b bundle) awaitStatement(t *testing.T, text string) {
	t.Helper()
	const running = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND strpos(query, $1) > 0)`
	for deadline := time.Now().Add(20 * time.Second); !query[bool](t, b, running, text); {
		if time.Now().After(deadline) {
			t.Fatalf("no statement with %q runs", text)
		}
	}
}

// behind is an outbox with a single connection, which the test has too.
func (b bundle) behind(t *testing.T) (bundle, *pgx.Conn) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	var conn *pgx.Conn
	cfg.MaxConns = 1
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error { conn = c; return nil }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := b
	other.Store, other.pool = outbox.New(pool), pool
	return other, conn
}

func TestATransactionThatWasEndedBehindTheEnginesBackKeepsNothingAndTakesNothingMore(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, end := range []string{"COMMIT", "ROLLBACK", "ROLLBACK; SELECT 1", "COMMIT; SELECT 1"} {
		key := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(end, " ", "-"), ";", ""))
		c := b.claimed(t, key)
		engine, conn := b.behind(t)
		done := engine.transact(t, c, func(tx *outbox.EffectTx) error {
			if err := purge(t, key)(tx); err != nil {
				return err
			}
			_, err := conn.Exec(t.Context(), end)
			if commits := strings.HasPrefix(end, "COMMIT"); commits != (constraintOf(err) == "receipt_demanded") {
				t.Errorf("%s ended with %v", end, err)
			}
			// Outside of a transaction this would be committed by itself.
			if err := purge(t, key)(tx); err == nil {
				t.Errorf("%s: a statement after the end was run", end)
			}
			return nil
		})
		b.wantNothing(t, c, key, done, outbox.CodeTransactionEnded)
	}
}
