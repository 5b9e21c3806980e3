package writ

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
)

// newPool returns a pool that connects when it is first used. The error is about the URL.
func newPool(url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "DATABASE_URL is not a PostgreSQL URL: %w", err)
	}
	if _, set := cfg.ConnConfig.RuntimeParams["application_name"]; !set {
		cfg.ConnConfig.RuntimeParams["application_name"] = "writ"
	}
	return pgxpool.NewWithConfig(context.Background(), cfg)
}
