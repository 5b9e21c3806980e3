package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// CreateDatabase creates the database on the server of the connection, which
// may be any server, unless it exists. Several may do so at once. A refusal
// wraps the server's own error, a [*pgconn.PgError].
func CreateDatabase(ctx context.Context, connection *pgx.Conn, name string) error {
	var exists bool
	// The look comes first for users who may not create databases and need not.
	err := connection.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	_, err = connection.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if isDuplicateDatabase(err) { // made by somebody else since the look
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

func isDuplicateDatabase(err error) bool {
	const (
		duplicateDatabase = "42P04"
		uniqueViolation   = "23505" // two CREATE DATABASE at once meet in the catalogue's index
	)
	var failure *pgconn.PgError
	return errors.As(err, &failure) && (failure.Code == duplicateDatabase || failure.Code == uniqueViolation)
}
