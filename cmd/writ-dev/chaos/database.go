package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"writ/internal/postgres"
)

// The databases of the cluster. Temporal's have the names that writ-dev gives them beside
// the outbox's.
const outboxDatabase = "writ"

var temporalDatabases = []string{"writ_temporal", "writ_temporal_visibility"}

// database is the PostgreSQL of the run, which is restarted at the same address.
type database struct {
	options postgres.Options
	outbox  string // its address, without a proxy
	turn    sync.Mutex
	server  *postgres.Server
}

func startDatabase(ctx context.Context, folder string, port int) (*database, error) {
	d := &database{options: postgres.Options{DataDir: folder, Port: port}}
	var err error
	if d.server, err = postgres.Start(ctx, d.options); err != nil {
		return nil, err
	}
	d.outbox = d.server.URL(outboxDatabase)
	return d, d.server.CreateDatabase(ctx, outboxDatabase)
}

// url is the outbox's address, without a proxy.
func (d *database) url() string { return d.outbox }

// restart ends the server with stop and starts it again. It waits for its turn, and then calls
// begun.
func (d *database) restart(ctx context.Context, stop func(*postgres.Server, context.Context) error, begun func()) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	begun()
	if err := stop(d.server, ctx); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	server, err := postgres.Start(ctx, d.options)
	if err != nil {
		return fmt.Errorf("start PostgreSQL again: %w", err)
	}
	d.server = server
	return nil
}

// dropTemporal deletes everything that Temporal has stored. Temporal must not run.
func (d *database) dropTemporal(ctx context.Context) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	connection, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return fmt.Errorf("empty Temporal's store: %w", err)
	}
	defer connection.Close(ctx)
	for _, name := range temporalDatabases {
		if _, err := connection.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("empty Temporal's store: %w", err)
		}
	}
	return nil
}

// storeDocuments keeps documents that the load deletes.
func (d *database) storeDocuments(ctx context.Context, tenant string, ids []string) error {
	connection, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return fmt.Errorf("store documents: %w", err)
	}
	defer connection.Close(ctx)
	const statement = `
		INSERT INTO documents (tenant, id, title, content, created_by, created_at)
		SELECT $1, id, 'an invoice', '', $2, clock_timestamp() FROM unnest($3::text[]) AS id`
	if _, err := connection.Exec(ctx, statement, tenant, principal, ids); err != nil {
		return fmt.Errorf("store documents: %w", err)
	}
	return nil
}

func (d *database) close(ctx context.Context) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	if err := d.server.Stop(ctx); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", errors.Join(err, context.Cause(ctx)))
	}
	return nil
}
