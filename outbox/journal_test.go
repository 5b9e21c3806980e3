package outbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

func TestTheJournalEndsAnIntentOnceHoweverOftenItIsCalled(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	ev := of(c, intent.Applied, "")
	// The evidence did not survive in the database; the journal writes it.
	row := b.journal(t, c.Row, &ev)
	if row.State != intent.Completed || row.EndedAt.IsZero() || !row.DueAt.IsZero() || row.Attempts[0].Outcome != intent.Applied {
		t.Fatalf("%+v", row)
	}
	for range 2 {
		if again := b.journal(t, row, &ev); again.Version != row.Version || !again.EndedAt.Equal(row.EndedAt) {
			t.Errorf("again: %+v", again)
		}
	}
	if got := b.receipt(t, row.ID); got != `completed effect_applied 1 application/json, 17 of 17 bytes` {
		t.Errorf("receipt %q", got)
	}
}

func TestTheJournalDoesWhatTheRuleSays(t *testing.T) {
	t.Parallel()
	once := keyed()
	once.Retryable = false
	for name, tc := range map[string]struct {
		rules   intent.Rules
		outcome intent.Outcome
		state   intent.State
		next    intent.StepKind
		receipt string
	}{
		"applied":                      {keyed(), intent.Applied, intent.Completed, intent.Stop, `completed effect_applied 1 application/json, 17 of 17 bytes`},
		"not applied, not retryable":   {once, intent.NotApplied, intent.Failed, intent.Stop, "failed definite_failure 1 "},
		"not applied, retryable":       {keyed(), intent.NotApplied, intent.Invoking, intent.Wait, ""},
		"unknown, keyed":               {keyed(), intent.Unknown, intent.Invoking, intent.Wait, ""},
		"unknown, opaque":              {opaque(), intent.Unknown, intent.InDoubt, intent.Stop, ""},
		"no evidence, its lease runs ": {opaque(), "", intent.Invoking, intent.Wait, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			c := b.granted(t, b.insert(t, propose("order-4711", tc.rules)))
			var evidence *outbox.Evidence
			if tc.outcome != "" {
				ev := of(c, tc.outcome, "code")
				evidence = &ev
			}
			row := b.journal(t, c.Row, evidence)
			if row.State != tc.state || row.Next().Kind != tc.next {
				t.Errorf("state %s, next %+v", row.State, row.Next())
			}
			if waits := tc.next == intent.Wait; waits == row.DueAt.IsZero() {
				t.Errorf("due at %s", row.DueAt)
			}
			stored := b.load(t, row.ID)
			if stored.State != row.State || stored.Version != row.Version || !stored.DueAt.Equal(row.DueAt) || !stored.EndedAt.Equal(row.EndedAt) {
				t.Errorf("returned %+v\nstored %+v", row, stored)
			}
			if tc.receipt == "" {
				if n := query[int](t, b, `SELECT count(*) FROM receipts`); n != 0 {
					t.Errorf("%d receipts of an intent that did not end", n)
				}
			} else if got := b.receipt(t, row.ID); got != tc.receipt {
				t.Errorf("receipt %q", got)
			}
		})
	}
}

func TestAnEndWithoutAReceiptIsNoEnd(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	ev := of(c, intent.Applied, "")
	unsealed := errors.New("the receipt could not be written")
	_, err := b.Journal(t.Context(), c.Row.ID, &ev, func(context.Context, pgx.Tx, outbox.Row, string, *outbox.Answer) error { return unsealed })
	if !errors.Is(err, unsealed) {
		t.Errorf("error %v", err)
	}
	if row := b.load(t, c.Row.ID); row.State != intent.Invoking || row.Version != c.Row.Version || row.Attempts[0].Outcome != "" {
		t.Errorf("half of the transaction stayed: %+v", row)
	}
}

func TestPolicyCanRefuseOnlyWhatWasNeverClaimed(t *testing.T) {
	t.Parallel()
	b := start(t)
	refuse := func(row outbox.Row) outbox.Row {
		row, err := b.Refuse(t.Context(), outbox.Refusal{
			ID: row.ID, Version: row.Version, Decision: []byte(`{"allow":false}`),
		}, seal)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	recorded := b.insert(t, propose("never claimed", keyed()))
	old := recorded
	old.Version++
	if row := refuse(old); row.State != intent.Recorded {
		t.Errorf("refused on another version: %+v", row)
	}
	row := refuse(recorded)
	if row.State != intent.Refused || row.Commitment != intent.Commitment(row.Authorized()) || string(row.Decision) != `{"allow":false}` {
		t.Errorf("%+v", row)
	}
	if stored := b.load(t, row.ID); stored.State != intent.Refused || stored.Commitment != row.Commitment || b.receipt(t, row.ID) != "refused refused 0 " {
		t.Errorf("stored %+v, receipt %q", stored, b.receipt(t, row.ID))
	}
	if again := refuse(row); again.Version != row.Version {
		t.Errorf("refused twice: %+v", again)
	}
	claimed := b.granted(t, b.insert(t, propose("claimed", keyed()))).Row
	if row := refuse(claimed); row.State != intent.Invoking || string(row.Decision) != `{"allow":true}` {
		t.Errorf("refused after a claim: %+v", row)
	}
}

// The three flushed commits of a side-effectful intent that succeeds at once.
func TestACleanRunTakesThreeFlushedCommits(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.commits.Take()
	row := b.insert(t, propose("order-4711", keyed()))
	c := b.granted(t, row)
	b.evidence(t, c.Row, of(c, intent.Applied, ""))
	b.journal(t, c.Row, nil)
	if count, want := b.commits.Take(), (pgtest.CommitCount{Flushed: 3, Relaxed: 1}); count != want {
		t.Errorf("%+v, want %+v", count, want)
	}
}

// The promise must not hang on a setting that somebody else chose.
func TestCommitsWaitForTheDiskWhateverTheConnectionSays(t *testing.T) {
	t.Parallel()
	b := start(t, "synchronous_commit=off")
	b.exec(t, `CREATE TABLE seen (what text, setting text)`)
	b.exec(t, `CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO seen VALUES (TG_TABLE_NAME || ' ' || TG_OP, current_setting('synchronous_commit')); RETURN NULL; END $$`)
	for _, table := range []string{"intents", "attempts", "receipts"} {
		b.exec(t, `CREATE TRIGGER look AFTER INSERT OR UPDATE ON `+table+` FOR EACH ROW EXECUTE FUNCTION look()`)
	}
	settings := func() string {
		defer b.exec(t, `DELETE FROM seen`)
		return query[string](t, b, `SELECT coalesce(string_agg(DISTINCT setting, ' '), 'nothing') FROM seen`)
	}
	row := b.insert(t, propose("order-4711", keyed()))
	if got := settings(); got != "on" {
		t.Errorf("persist: synchronous_commit %s", got)
	}
	c := b.granted(t, row)
	if got := settings(); got != "on" {
		t.Errorf("claim: synchronous_commit %s", got)
	}
	b.evidence(t, row, of(c, intent.Applied, ""))
	if got := settings(); got != "off" {
		t.Errorf("evidence that the journal receives too: synchronous_commit %s", got)
	}
	b.journal(t, row, nil)
	if got := settings(); got != "on" {
		t.Errorf("journal: synchronous_commit %s", got)
	}
	c = b.granted(t, b.insert(t, propose("order-4712", keyed())))
	settings()
	if _, err := b.RecordEvidence(t.Context(), c.Row.ID, of(c, intent.Applied, ""), true, seal); err != nil {
		t.Fatal(err)
	}
	if got := settings(); got != "on" {
		t.Errorf("evidence that must be flushed: synchronous_commit %s", got)
	}
}

func TestAnErrorOfTheDatabaseSaysWhatToDo(t *testing.T) {
	t.Parallel()
	empty, _ := pgtest.Pool(t, pgtest.Schema(t))
	_, err := outbox.New(empty).Load(t.Context(), intent.IntentID("acme", "order-4711"))
	var e *intent.Error
	if !errors.As(err, &e) || e.Code != intent.CodeMigrationRequired || e.TryAgain || e.Effect != intent.Unknown {
		t.Errorf("an empty schema: %+v", e)
	}
	// Port 1 is reserved and nobody listens there.
	gone, _ := pgtest.Pool(t, "postgres://writ@127.0.0.1:1/writ?connect_timeout=2")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = outbox.New(gone).Insert(ctx, propose("order-4711", keyed()))
	if !errors.As(err, &e) || e.Code != intent.CodeDatabaseUnavailable || !e.TryAgain || e.Effect != intent.Unknown {
		t.Errorf("no server: %+v", e)
	}
}
