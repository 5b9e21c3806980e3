package outbox

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"writ/intent"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationTable records which migrations were applied, in the schema that they were
// applied to.
const migrationTable = "writ_migrations"

// Migration is one numbered step of the schema.
type Migration struct {
	Version   int64     `json:"version"`
	Name      string    `json:"name"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// Migrator moves the schema of one database. Close it after use.
type Migrator struct {
	db       *sql.DB
	provider *goose.Provider
}

// NewMigrator returns a migrator for the database at url, in the first schema of its
// search path. Migrations run under a session lock, so any number of processes may
// migrate at once. The session lock needs a direct connection, not a transaction pooler.
func NewMigrator(url string) (*Migrator, error) {
	pool, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	cfg := pool.ConnConfig
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	// Tried every second, for five minutes: another process may be migrating.
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(lockID(cfg.RuntimeParams["search_path"])), lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(migrationTable), goose.WithSessionLocker(locker), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return &Migrator{db: db, provider: provider}, nil
}

// lockID derives the key of the advisory lock from the schema, so that installations that
// share a database do not wait for each other.
func lockID(schema string) int64 {
	sum := sha256.Sum256([]byte("writ/migrations/v1\n" + schema))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Close closes the connections.
func (m *Migrator) Close() error { return m.db.Close() }

// Up applies every migration that is missing and returns those. A migration that does not
// get a table's lock soon gives way to whoever waits behind it and is tried again, a few
// times; then the error wraps PostgreSQL's lock_not_available.
func (m *Migrator) Up(ctx context.Context) ([]Migration, error) {
	var all []Migration
	for try := 1; ; try++ {
		results, err := m.provider.Up(ctx)
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			results = partial.Applied
		}
		all = append(all, applied(results, true)...)
		if !lockNotAvailable(err) || try == lockTries || !pause(ctx, lockPause) {
			return all, migrationError(err)
		}
	}
}

// How often, and after which pause, a migration is tried that did not get its locks.
const (
	lockTries = 5
	lockPause = time.Second
)

func lockNotAvailable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// pause waits, and reports whether ctx is still there afterwards.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Down takes the newest migration back and returns it, or nothing if none is applied. It
// refuses, with code records_exist, while the outbox holds intents, unless discard is
// set: the records of what was done to the world would be lost.
func (m *Migrator) Down(ctx context.Context, discard bool) ([]Migration, error) {
	if !discard {
		holds, err := m.holdsIntents(ctx)
		if err != nil {
			return nil, migrationError(err)
		}
		if holds {
			return nil, intent.Errorf(intent.CodeRecordsExist,
				"the outbox holds intents and receipts that migrating down would destroy; back them up and say --discard-records")
		}
	}
	result, err := m.provider.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return nil, nil
	}
	if result == nil {
		return nil, migrationError(err)
	}
	return applied([]*goose.MigrationResult{result}, false), migrationError(err)
}

func (m *Migrator) holdsIntents(ctx context.Context) (bool, error) {
	var exists bool
	if err := m.db.QueryRowContext(ctx, `SELECT to_regclass('intents') IS NOT NULL`).Scan(&exists); err != nil || !exists {
		return false, err
	}
	err := m.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM intents)`).Scan(&exists)
	return exists, err
}

// Status lists every migration and whether it is applied.
func (m *Migrator) Status(ctx context.Context) ([]Migration, error) {
	statuses, err := m.provider.Status(ctx)
	if err != nil {
		return nil, migrationError(err)
	}
	list := make([]Migration, len(statuses))
	for i, s := range statuses {
		list[i] = Migration{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied, AppliedAt: s.AppliedAt}
	}
	return list, nil
}

func applied(results []*goose.MigrationResult, up bool) []Migration {
	list := make([]Migration, 0, len(results))
	for _, r := range results {
		list = append(list, Migration{Version: r.Source.Version, Name: r.Source.Path, Applied: up})
	}
	return list
}

func migrationError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("migrate: %w", err)
}

// Migrate applies every missing migration to the database at url.
func Migrate(ctx context.Context, url string) error {
	m, err := NewMigrator(url)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.Up(ctx)
	return err
}
