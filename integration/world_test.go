package integration

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/internal/sandbox"
	"writ/outbox"
)

// world is what one test has for itself: a schema, a task queue, a tenant, and a provider
// with its books.
type world struct {
	stack    *stack
	name     string // of the schema, the task queue and the tenant
	database string // URL whose search path is the schema
	provider *provider
	settings []string // further variables of Writ's programs
}

// newWorld makes a world on the stack that the tests share.
func newWorld(t testing.TB) *world {
	t.Helper()
	return worldOn(t, shared)
}

func worldOn(t testing.TB, s *stack) *world {
	t.Helper()
	w := &world{stack: s, name: "t_" + strings.ToLower(rand.Text()), provider: startProvider(t)}
	query(t, s.DatabaseURL, `CREATE SCHEMA `+w.name)
	w.moveTo(t, s)
	if err := outbox.Migrate(t.Context(), w.database); err != nil {
		t.Fatal(err)
	}
	return w
}

// moveTo connects the world to the stack, which may have new ports after a restart.
func (w *world) moveTo(t testing.TB, s *stack) {
	t.Helper()
	w.stack, w.database = s, within(t, s.DatabaseURL, w.name)
}

// within returns the URL of a database with the schema as search path.
func within(t testing.TB, database, schema string) string {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	settings := address.Query()
	settings.Set("search_path", schema)
	address.RawQuery = settings.Encode()
	return address.String()
}

// environment is what connects Writ's programs to the world.
func (w *world) environment() []string {
	return append([]string{
		"DATABASE_URL=" + w.database,
		"TEMPORAL_ADDRESS=" + w.stack.TemporalAddress,
		"TEMPORAL_NAMESPACE=" + w.stack.TemporalNamespace,
		"WRIT_PROVIDER_URL=" + w.provider.url,
		"WRIT_TASK_QUEUE=" + w.name,
		"WRIT_PRINCIPAL=shop",
	}, w.settings...)
}

// startWorker starts a worker with the sample tools and returns when it polls.
func (w *world) startWorker(t testing.TB, environment ...string) *process {
	t.Helper()
	return w.startWorkerWith(t, []string{"--recover-every", "500ms"}, environment...)
}

// startWorkerWith is startWorker with these flags and the defaults of all others.
func (w *world) startWorkerWith(t testing.TB, flags []string, environment ...string) *process {
	t.Helper()
	p := start(t, "worker", program("writ"), append(w.environment(), environment...), append([]string{"worker", "-o", "json"}, flags...)...)
	line, err := p.readyLine()
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Ready bool }
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready {
		t.Fatalf("the ready line of the worker is %q", line)
	}
	return p
}

// query returns the values of the only row of a query, or runs a statement.
func query(t testing.TB, database, sql string, into ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(ctx)
	if len(into) == 0 {
		_, err = connection.Exec(ctx, sql)
	} else {
		err = connection.QueryRow(ctx, sql).Scan(into...)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// provider is a running sandbox provider.
type provider struct {
	*sandbox.Client
	url string
}

func startProvider(t testing.TB) *provider {
	t.Helper()
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	p := start(t, "provider", program("writ-provider"), nil, "--listen", "127.0.0.1:0", "--ledger", ledger, "-o", "json")
	line, err := p.readyLine()
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Address string }
	if err := json.Unmarshal(line, &ready); err != nil || ready.Address == "" {
		t.Fatalf("the ready line of the provider is %q", line)
	}
	return &provider{Client: sandbox.NewClient(ready.Address), url: ready.Address}
}

// fault makes requests fail.
func (p *provider) fault(t testing.TB, f sandbox.Fault) {
	t.Helper()
	if _, err := p.AddFault(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// await waits until the provider has seen count requests that reached the state.
func (p *provider) await(t testing.TB, state string, count int) {
	t.Helper()
	filter := sandbox.RequestFilter{State: state}
	if _, err := p.AwaitRequests(t.Context(), filter, count, time.Minute); err != nil {
		t.Fatalf("waiting for %d requests that are %s: %v", count, state, err)
	}
}

// effects returns what really happened, and fails unless that is want effects.
func (p *provider) effects(t testing.TB, want int) []sandbox.Entry {
	t.Helper()
	entries, err := p.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != want {
		t.Errorf("the provider's ledger has %d effects, want %d: %+v", len(entries), want, entries)
	}
	return entries
}
