package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

func transactional() intent.Rules {
	return intent.Rules{Class: intent.Transactional, Retryable: true, Timeout: 10 * time.Second, MaxAttempts: 3,
		InitialBackoff: time.Second, MaxBackoff: time.Minute}
}

const (
	keepDocument  = `INSERT INTO documents (tenant, id, title, content, created_by, created_at) VALUES ('acme', $1, 'Terms', '\x00ff', 'ada', now())`
	purgeDocument = `DELETE FROM documents WHERE id = $1`
)

// effect is a tool; its error is what the tool returns.
type effect func(tx *outbox.EffectTx) error

// claimed is an intent to purge a document that is there, with its first claim granted.
func (b bundle) claimed(t *testing.T, key string) outbox.Claim {
	t.Helper()
	b.exec(t, keepDocument, key)
	return b.granted(t, b.insert(t, propose(key, transactional())))
}

// purge is the tool that does what it should.
func purge(t *testing.T, key string) effect {
	return func(tx *outbox.EffectTx) error {
		_, err := tx.Exec(t.Context(), purgeDocument, key)
		return err
	}
}

// within is the claim's transaction with that much time.
func within(c outbox.Claim, limit time.Duration) outbox.Transaction {
	deadline := time.Now().Add(limit)
	return outbox.Transaction{ID: c.Row.ID, Attempt: c.Attempt.Number, Token: c.Attempt.Token, Deadline: deadline, Lease: deadline.Add(5 * time.Second)}
}

func (b bundle) transact(t *testing.T, c outbox.Claim, run effect) outbox.Transacted {
	t.Helper()
	return b.transactWithin(t, within(c, 10*time.Second), c, run)
}

func (b bundle) transactWithin(t *testing.T, limits outbox.Transaction, c outbox.Claim, run effect) outbox.Transacted {
	t.Helper()
	done, err := b.Transact(t.Context(), limits, evidenceOf(c, run), seal)
	if err != nil {
		t.Errorf("transact: %v", err)
	}
	return done
}

func evidenceOf(c outbox.Claim, run effect) func(*outbox.EffectTx) outbox.Evidence {
	return func(tx *outbox.EffectTx) outbox.Evidence {
		if err := run(tx); err != nil {
			ev := of(c, intent.NotApplied, tx.Cause())
			ev.Message = err.Error()
			return ev
		}
		return of(c, intent.Applied, "")
	}
}

// wantNothing checks that the attempt failed with the code and left the document and the
// intent as they were.
func (b bundle) wantNothing(t *testing.T, c outbox.Claim, key string, done outbox.Transacted, code string) {
	t.Helper()
	if done.Committed || done.Evidence == nil {
		t.Fatalf("it was committed, or has no evidence: %+v", done)
	}
	if ev := *done.Evidence; ev.Outcome != intent.NotApplied || ev.Code != code {
		t.Errorf("the evidence is %s (%s): %s, want not_applied (%s)", ev.Outcome, ev.Code, ev.Message, code)
	}
	if !b.kept(t, key) {
		t.Error("the document is gone")
	}
	row := b.load(t, c.Row.ID)
	if last := row.Attempts[len(row.Attempts)-1]; row.State != intent.Invoking || last.Outcome != "" || last.Transacted {
		t.Errorf("the intent is %s with %+v", row.State, last)
	}
}

func (b bundle) kept(t *testing.T, key string) bool {
	t.Helper()
	return query[bool](t, b, `SELECT EXISTS (SELECT FROM documents WHERE id = $1)`, key)
}

// wantOnce checks that the document is gone and that the intent has one receipt, which says so.
func (b bundle) wantOnce(t *testing.T, id intent.ID, key string, attempts int) {
	t.Helper()
	if b.kept(t, key) {
		t.Error("the document is there")
	}
	row := b.load(t, id)
	if row.State != intent.Completed || len(row.Attempts) != attempts {
		t.Errorf("the intent is %s after %d attempts, want %d", row.State, len(row.Attempts), attempts)
	}
	if n := query[int](t, b, `SELECT count(*) FROM receipts WHERE intent_id = $1`, id[:]); n != 1 {
		t.Errorf("there are %d receipts", n)
	}
}

func TestAnEffectIsCommittedTogetherWithItsReceiptInTheThirdFlushedCommit(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.exec(t, keepDocument, "terms")
	b.commits.Take()
	c := b.granted(t, b.insert(t, propose("terms", transactional())))
	done := b.transact(t, c, purge(t, "terms"))
	if !done.Committed || done.Evidence != nil || done.Row.State != intent.Completed || done.Row.Next().Kind != intent.Stop {
		t.Fatalf("%+v", done)
	}
	if got, want := b.commits.Take(), (pgtest.CommitCount{Flushed: 3}); got != want {
		t.Errorf("the commits were %+v, want %+v", got, want)
	}
	b.wantOnce(t, c.Row.ID, "terms", 1)
	if got, want := b.receipt(t, c.Row.ID), "completed effect_applied 1 application/json, 17 of 17 bytes"; got != want {
		t.Errorf("the receipt is %q, want %q", got, want)
	}
	if row := b.load(t, c.Row.ID); !row.Attempts[0].Transacted || row.Attempts[0].Outcome != intent.Applied {
		t.Errorf("the attempt is %+v", row.Attempts[0])
	}
}

func TestALargeAnswerIsCommittedInTheSameTransaction(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	body := bytes.Repeat([]byte("x"), 3<<20)
	ev := of(c, intent.Applied, "")
	ev.MediaType, ev.Result = "text/plain", body
	ev.ResultRef = &outbox.ResultRef{Digest: intent.ResultDigest(c.Row.Salt, ev.MediaType, body), Size: int64(len(body))}
	done, err := b.Transact(t.Context(), within(c, 10*time.Second), func(*outbox.EffectTx) outbox.Evidence { return ev }, seal)
	if err != nil || !done.Committed {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, kept, err := b.result(t, c.Row.ID); err != nil || !bytes.Equal(kept, body) {
		t.Errorf("%d bytes are kept, %v", len(kept), err)
	}
}

func TestNothingIsKeptOfAToolThatFailsAndTheNextAttemptMakesTheEffect(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	done := b.transact(t, c, func(tx *outbox.EffectTx) error {
		return errors.Join(purge(t, "terms")(tx), errors.New("on second thoughts"))
	})
	b.wantNothing(t, c, "terms", done, "")
	b.setClock(t, time.Now().Add(time.Hour))
	row := b.evidence(t, done.Row, *done.Evidence)
	b.setClock(t, time.Now().Add(2*time.Hour))
	again := b.granted(t, b.load(t, row.ID))
	if done := b.transact(t, again, purge(t, "terms")); !done.Committed {
		t.Fatalf("%+v", done)
	}
	b.wantOnce(t, row.ID, "terms", 2)
}

func TestAToolThatGoesOnAfterAFailedStatementHasNothingKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, statement := range map[string]string{
		"an_error":                      `SELECT 1/0`,
		"two_statements_in_one":         `DELETE FROM documents; COMMIT`,
		"a_commit_in_a_block":           `DO $$ BEGIN COMMIT; END $$`,
		"a_rollback_in_a_block":         `DO $$ BEGIN ROLLBACK; END $$`,
		"a_commit_in_a_block's_text":    `DO $$ BEGIN EXECUTE 'COMMIT'; END $$`,
		"a_commit_in_a_procedure":       `CALL committing()`,
		"constraints_checked_too_early": `DO $$ BEGIN SET CONSTRAINTS ALL IMMEDIATE; END $$`,
		"no_trigger":                    `DO $$ BEGIN ALTER TABLE attempts DISABLE TRIGGER receipt_demanded; END $$`,
	} {
		t.Run(name, func(t *testing.T) {
			b.exec(t, `CREATE OR REPLACE PROCEDURE committing() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM documents; COMMIT; END $$`)
			c := b.claimed(t, name)
			done := b.transact(t, c, func(tx *outbox.EffectTx) error {
				if err := purge(t, name)(tx); err != nil {
					return err
				}
				if _, err := tx.Exec(t.Context(), statement); err == nil {
					t.Error("the statement did not fail")
				}
				return nil
			})
			b.wantNothing(t, c, name, done, outbox.CodeTransactionBroken)
		})
	}
}

func TestAnEffectThatItsOwnConstraintsRefuseAtTheCommitIsNotKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.exec(t, `CREATE TABLE parents (id text PRIMARY KEY);
		CREATE TABLE children (parent text REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`)
	c := b.claimed(t, "terms")
	done := b.transact(t, c, func(tx *outbox.EffectTx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO children VALUES ('nobody')`)
		return errors.Join(err, purge(t, "terms")(tx))
	})
	b.wantNothing(t, c, "terms", done, outbox.CodeCommitRefused)
}

func TestAToolHasTheTimeOfItsAttemptForALockAStatementAndAPause(t *testing.T) {
	t.Parallel()
	b := start(t)
	blocker, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback(context.WithoutCancel(t.Context()))
	for _, c := range []struct {
		name, code string
		hang       effect
	}{
		{"a_lock", outbox.CodeLockTimeout, func(tx *outbox.EffectTx) error {
			if _, err := blocker.Exec(t.Context(), `SELECT FROM documents WHERE id = 'a_lock' FOR UPDATE`); err != nil {
				return err
			}
			return purge(t, "a_lock")(tx)
		}},
		{"a_statement", outbox.CodeStatementTimeout, func(tx *outbox.EffectTx) error {
			_, err := tx.Exec(t.Context(), `SELECT pg_sleep(60)`)
			return err
		}},
		{"a_pause", outbox.CodeIdleTimeout, func(tx *outbox.EffectTx) error {
			var pid int
			if err := tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
				return err
			}
			b.awaitGone(t, pid)
			return purge(t, "a_pause")(tx)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := b.claimed(t, c.name)
			began := time.Now()
			done := b.transactWithin(t, within(claim, time.Second), claim, c.hang)
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("it took %v of one second", took)
			}
			b.wantNothing(t, claim, c.name, done, c.code)
		})
	}
}

// awaitGone waits until PostgreSQL has ended the process.
func (b bundle) awaitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for query[bool](t, b, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`, pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not end", pid)
		}
	}
}

func TestAStatementAfterALongPauseHasOnlyWhatIsLeftOfTheTime(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	var early, late time.Duration
	b.transactWithin(t, within(c, 30*time.Second), c, func(tx *outbox.EffectTx) error {
		const limit = `SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'`
		read := func(into *time.Duration) error {
			var ms int
			err := tx.QueryRow(t.Context(), limit).Scan(&ms)
			*into = time.Duration(ms) * time.Millisecond
			return err
		}
		return errors.Join(read(&early), justErr(tx.Exec(t.Context(), `SELECT pg_sleep(1.1)`)), read(&late))
	})
	if early > 30*time.Second || early < 25*time.Second || late > early-time.Second {
		t.Errorf("a statement had %v at the start and %v after more than a second", early, late)
	}
}

func TestAToolsSettingsDoNotReachTheCommit(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	var during, sealing []string
	const settings = `SELECT ARRAY[current_setting('synchronous_commit'), current_setting('client_connection_check_interval')]`
	done, err := b.Transact(t.Context(), within(c, 10*time.Second), evidenceOf(c, func(tx *outbox.EffectTx) error {
		err := tx.QueryRow(t.Context(), settings).Scan(&during)
		return errors.Join(err, justErr(tx.Exec(t.Context(), `SELECT set_config('synchronous_commit', 'off', true)`)))
	}), func(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
		return errors.Join(tx.QueryRow(ctx, settings).Scan(&sealing), seal(ctx, tx, row, reason, answer))
	})
	if err != nil || !done.Committed {
		t.Fatalf("%+v, %v", done, err)
	}
	if want := []string{"on", "1s"}; !slices.Equal(during, want) || !slices.Equal(sealing, want) {
		t.Errorf("the settings are %v for the tool and %v for the COMMIT, want %v", during, sealing, want)
	}
}

func justErr(_ any, err error) error { return err }

// The constraint alone: whoever gets past everything else meets it at the COMMIT.
func TestARawCommitWithoutAReceiptIsRefusedByTheDatabase(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, also := range map[string]string{
		"plain":            `SELECT 1`,
		"replica":          `SET LOCAL session_replication_role = replica`,
		"a forged outcome": `UPDATE attempts SET outcome = 'applied', evidence_at = now()`,
		"another receipt":  `INSERT INTO receipts (intent_id, generation, number, body, created_at) SELECT id, 1, 1, 'x', now() FROM intents`,
		"only a receipt":   `INSERT INTO receipts (intent_id, generation, number, body, created_at) SELECT id, 1, 0, 'x', now() FROM intents`,
	} {
		c := b.claimed(t, name)
		err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			for _, statement := range []string{
				`UPDATE attempts SET transacted = true WHERE intent_id = '` + c.Row.ID.String() + `'`,
				`DELETE FROM documents`, also,
			} {
				if _, err := tx.Exec(t.Context(), statement); err != nil {
					t.Errorf("%s: %s: %v", name, statement, err)
				}
			}
			return nil
		})
		if constraintOf(err) != "receipt_demanded" {
			t.Errorf("%s: the COMMIT ended with %v", name, err)
		}
		if !b.kept(t, name) {
			t.Errorf("%s: the document is gone", name)
		}
	}
}
