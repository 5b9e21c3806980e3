package embedded

import "testing"

func TestADatabaseURLIsTakenApartForTemporal(t *testing.T) {
	t.Parallel()
	got, err := postgresConfig("postgres://me%40home:p%2Fw%3F@db/writ%20temporal?sslmode=require", 7)
	if err != nil {
		t.Fatal(err)
	}
	// Temporal escapes the password alone, so the rest must be escaped.
	if got.User != "me%40home" || got.Password != "p/w?" || got.DatabaseName != "writ%20temporal" {
		t.Errorf("got user %q, password %q, database %q", got.User, got.Password, got.DatabaseName)
	}
	if got.ConnectAddr != "db:5432" || got.ConnectAttributes["sslmode"] != "require" || got.MaxConns != 7 {
		t.Errorf("got address %q, attributes %v, %d connections", got.ConnectAddr, got.ConnectAttributes, got.MaxConns)
	}
}

func TestTwoStoresInMemoryAreTwo(t *testing.T) {
	t.Parallel()
	first, second := Memory(), Memory()
	if first.executions.DatabaseName == second.executions.DatabaseName {
		t.Error("two stores share a name, and so a database")
	}
}
