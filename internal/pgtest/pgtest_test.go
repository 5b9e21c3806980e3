package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func TestEachSchemaIsEmptyAndItsOwn(t *testing.T) {
	t.Parallel()
	for range 2 { // the second would fail if it saw the first one's table
		connection := connect(t, Schema(t))
		if _, err := connection.Exec(t.Context(), "CREATE TABLE receipts (id int)"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEachDatabaseIsEmptyAndItsOwn(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for range 2 {
		var name string
		if err := connect(t, Database(t)).QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if len(names) != 2 {
		t.Fatalf("two calls gave the databases %v", names)
	}
}

func TestTheClusterIsDurable(t *testing.T) {
	t.Parallel()
	connection := connect(t, Schema(t))
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		var value string
		if err := connection.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&value); err != nil {
			t.Fatal(err)
		}
		if value != "on" {
			t.Errorf("%s is %s", setting, value)
		}
	}
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	// The test's context has ended when cleanups run, and a server that is
	// about to be dropped needs no goodbye.
	t.Cleanup(func() { _ = connection.PgConn().Conn().Close() })
	return connection
}
