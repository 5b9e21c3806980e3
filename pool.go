package writ

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/outbox"
)

// newPool returns a pool that connects when it is first used. The error is about the URL.
//
// A caller that stops waiting costs its connection, which is pgx's default. Cancelling the
// statement instead would keep it, and would also make a COMMIT that waits for a synchronous
// standby report success before the standby has it.
func newPool(url string) (*pgxpool.Pool, error) {
	cfg, err := outbox.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if _, set := cfg.ConnConfig.RuntimeParams["application_name"]; !set {
		cfg.ConnConfig.RuntimeParams["application_name"] = "writ"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "DATABASE_URL cannot be used: %w", err)
	}
	return pool, nil
}
