package pgtest

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestCommitsAreCountedByHowTheyWereBegun(t *testing.T) {
	t.Parallel()
	pool, commits := Pool(t, Schema(t))
	if _, err := pool.Exec(t.Context(), "CREATE TABLE notes (id int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	const (
		on  = "begin; set local synchronous_commit to on"
		off = "begin; set local synchronous_commit to off"
	)
	within := func(begin string, statements ...string) func() error {
		return func() error {
			return pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error {
				for _, s := range statements {
					if _, err := tx.Exec(t.Context(), s); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	for _, tc := range []struct {
		name string
		do   func() error
		want CommitCount
	}{
		{"a flushed write", within(on, "INSERT INTO notes VALUES (1)", "UPDATE notes SET id = 2"), CommitCount{Flushed: 1}},
		{"a relaxed write", within(off, "INSERT INTO notes VALUES (3)"), CommitCount{Relaxed: 1}},
		{"a row lock is a write", within(on, "SELECT FROM notes FOR UPDATE"), CommitCount{Flushed: 1}},
		{"a statement that found nothing is none", within(on, "DELETE FROM notes WHERE id = 99"), CommitCount{}},
		{"a read is none", within(on, "SELECT FROM notes"), CommitCount{}},
		{"what is rolled back is none", within(on, "INSERT INTO notes VALUES (4)", "INSERT INTO notes VALUES (3)"), CommitCount{}},
		{"a transaction that did not say how", within("begin", "INSERT INTO notes VALUES (5)"), CommitCount{Unsaid: 1}},
		{"a write outside of a transaction", func() error {
			_, err := pool.Exec(t.Context(), "DELETE FROM notes")
			return err
		}, CommitCount{Unsaid: 1}},
	} {
		var refused interface{ SQLState() string }
		if err := tc.do(); err != nil && !errors.As(err, &refused) {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := commits.Take(); got != tc.want {
			t.Errorf("%s: counted %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
