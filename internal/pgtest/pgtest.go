package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/internal/postgres"
)

// environment names the variable with the URL of a server to test against.
const environment = "WRIT_TEST_DATABASE_URL"

// cluster is the server that the tests of this binary share.
var cluster struct {
	sync.Mutex
	private *postgres.Server // nil while not started, and with an external server
	err     error            // why it could not be started
}

// Main runs the tests and stops the cluster that they started. It is meant to
// be all that TestMain does.
func Main(m *testing.M) {
	m.Run() // its result becomes the exit status when TestMain returns
	cluster.Lock()
	defer cluster.Unlock()
	if cluster.private == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := cluster.private.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
	}
}

// Schema creates an empty schema and returns a URL whose connections work in
// it: search_path names it and nothing else. The test fails if there is no server.
func Schema(t testing.TB) string {
	t.Helper()
	base, external := server(t)
	schema := freshName()
	execute(t, base, "CREATE SCHEMA "+schema)
	if external {
		t.Cleanup(func() { execute(t, base, "DROP SCHEMA "+schema+" CASCADE") })
	}
	return rewritten(t, base, func(address *url.URL) {
		query := address.Query()
		query.Set("search_path", schema)
		address.RawQuery = query.Encode()
	})
}

// Database creates an empty database and returns its URL. It costs a few times
// as much as a schema. The test fails if there is no server.
func Database(t testing.TB) string {
	t.Helper()
	base, external := server(t)
	database := freshName()
	execute(t, base, "CREATE DATABASE "+database)
	if external {
		t.Cleanup(func() { execute(t, base, "DROP DATABASE "+database+" WITH (FORCE)") })
	}
	return rewritten(t, base, func(address *url.URL) { address.Path = "/" + database })
}

// server returns the URL of the server to test against, starting one if need be.
func server(t testing.TB) (base string, external bool) {
	t.Helper()
	if base := os.Getenv(environment); base != "" {
		return base, true
	}
	cluster.Lock()
	defer cluster.Unlock()
	if cluster.private == nil && cluster.err == nil {
		cluster.private, cluster.err = postgres.Start(context.Background(), postgres.Options{Ephemeral: true})
	}
	if cluster.err != nil {
		t.Fatalf("start PostgreSQL for the tests: %v", cluster.err)
	}
	return cluster.private.URL("postgres"), false
}

// freshName returns a name that needs no quotes in SQL.
func freshName() string { return "t_" + strings.ToLower(rand.Text()) }

func rewritten(t testing.TB, base string, change func(*url.URL)) string {
	t.Helper()
	address, err := url.Parse(base)
	if err != nil || address.Scheme == "" {
		t.Fatalf("%s must be a URL (postgres://...)", environment)
	}
	change(address)
	return address.String()
}

func execute(t testing.TB, base, statement string) {
	t.Helper()
	// Not the test's context, which has ended when its cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection, err := pgx.Connect(ctx, base)
	if err != nil {
		t.Fatalf("connect to the test server: %v", err)
	}
	defer connection.Close(ctx)
	if _, err := connection.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
