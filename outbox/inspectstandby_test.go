package outbox_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"writ/internal/postgres"
)

// standby follows the server's log as a standby does, and claims to have all of it on disk.
// It ends with the test.
func standby(t *testing.T, address, name string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), with(t, with(t, address, "replication", "true"), "application_name", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	results, err := conn.Exec(t.Context(), "IDENTIFY_SYSTEM").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	position := string(results[0].Rows[0][2])
	conn.Frontend().Send(&pgproto3.Query{String: "START_REPLICATION PHYSICAL " + position})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	message, err := conn.ReceiveMessage(t.Context())
	if _, streams := message.(*pgproto3.CopyBothResponse); !streams {
		t.Fatalf("START_REPLICATION is answered with %T, %v", message, err)
	}
	// Standby status update: what is written, flushed and applied, the time, and whether an
	// answer is wanted (section 55.4 of PostgreSQL's manual).
	var high, low uint64
	if _, err := fmt.Sscanf(position, "%X/%X", &high, &low); err != nil {
		t.Fatal(err)
	}
	update := []byte{'r'}
	for _, field := range []uint64{high<<32 | low, high<<32 | low, high<<32 | low, 0} {
		update = binary.BigEndian.AppendUint64(update, field)
	}
	conn.Frontend().Send(&pgproto3.CopyData{Data: append(update, 0)})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestStandbysAreCountedByWhetherCommitsWaitForThem(t *testing.T) {
	t.Parallel()
	// A server of its own: the settings are those of all databases.
	server, err := postgres.Start(t.Context(), postgres.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b := bundleOf(t, server.URL("postgres"))
	_, limited := b.newRole(t, "")
	standby(t, b.url, "second")
	standby(t, b.url, "third")
	i := inspector(t, b.url)
	await(t, "both stream", func() bool {
		return query[int](t, b, `SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'`) == 2
	})
	seen, err := i.Server(t.Context())
	if err != nil || seen.Standbys != 2 || seen.Synchronous != 0 || seen.Hidden != 0 || seen.SynchronousNames != "" {
		t.Errorf("two that nobody waits for: %+v, %v", seen, err)
	}

	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (second)'`, `SELECT pg_reload_conf()`} {
		if _, err := b.pool.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "one is waited for", func() bool {
		seen, err = i.Server(t.Context())
		return err != nil || seen.Synchronous == 1
	})
	if err != nil || seen.Standbys != 2 || seen.SynchronousNames != "ANY 1 (second)" {
		t.Errorf("two of which one is waited for: %+v, %v", seen, err)
	}
	seen, err = inspector(t, limited).Server(t.Context())
	if err != nil || seen.Standbys != 2 || seen.Synchronous != 0 || seen.Hidden != 2 {
		t.Errorf("a role that may not see them: %+v, %v", seen, err)
	}
}

// await asks until the server's own processes have done what they were told to.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s: not in a minute", what)
		}
	}
}
