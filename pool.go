package writ

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/outbox"
)

// newPool returns a pool that connects when it is first used. The error is about the URL.
func newPool(url string) (*pgxpool.Pool, error) {
	cfg, err := outbox.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if _, set := cfg.ConnConfig.RuntimeParams["application_name"]; !set {
		cfg.ConnConfig.RuntimeParams["application_name"] = "writ"
	}
	cfg.ConnConfig.BuildContextWatcherHandler = cancelRequest
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "DATABASE_URL cannot be used: %w", err)
	}
	return pool, nil
}

// cancelRequest asks PostgreSQL to cancel the statement of a caller that stopped waiting,
// and only if that is not answered gives the connection up, as pgx does by default at once:
// callers that vanish by the hundred must not leave a pool that connects anew for each.
func cancelRequest(conn *pgconn.PgConn) ctxwatch.Handler {
	const giveUp = time.Second
	return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, CancelRequestDelay: 0, DeadlineDelay: giveUp}
}
