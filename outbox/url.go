package outbox

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
)

// connectTimeout bounds the wait for a PostgreSQL that accepts a connection and says
// nothing, where the URL sets no connect_timeout.
const connectTimeout = 10 * time.Second

// ParseURL reads a PostgreSQL URL or keyword string; what it does not say comes from the
// PG* variables. Its error, with code invalid_configuration, does not repeat the input,
// which may hold a password.
func ParseURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, intent.Errorf(intent.CodeInvalidConfig,
			"DATABASE_URL, or a PG* variable, is not what PostgreSQL takes; write postgres://user:password@host:port/database with special characters percent-encoded")
	}
	if strings.Contains(cfg.ConnConfig.Host, "@") {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "the host in DATABASE_URL contains an @; percent-encode the one in the password as %%40")
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	return cfg, nil
}
