package main

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// connect opens a connection that ends with the test.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	// Cleanups use it too, when the test's own context has ended.
	connection, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

func execute(t *testing.T, address, statements string) {
	t.Helper()
	// The simple protocol takes several statements at once.
	if _, err := connect(t, address).PgConn().Exec(context.Background(), statements).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

func queryString(t *testing.T, address, query string) (value string) {
	t.Helper()
	if err := connect(t, address).QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
