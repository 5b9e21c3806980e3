package writ

import (
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"writ/codec"
	"writ/intent"
)

// DefaultTaskQueue is the Temporal task queue of workers that name none.
const DefaultTaskQueue = "writ"

// Config says where PostgreSQL and Temporal are.
type Config struct {
	// DatabaseURL is a PostgreSQL URL or keyword string. What it does not say comes from
	// the PG* variables. Its search_path names the schema of the outbox.
	DatabaseURL string
	// Temporal says where Temporal is. Its zero value is 127.0.0.1:7233, namespace
	// "default". Logger is set if it is nil.
	Temporal client.Options
	// Logger receives what an operator should know. Default: slog.Default().
	Logger *slog.Logger
	// MaxPayload is the size in bytes that a payload may have, as it is sent and in canonical
	// form; clients and workers must agree on it. Default: 1 MiB; at most 64 MiB.
	MaxPayload int
	// PayloadKeys seal what Temporal stores; clients and workers must have the same. See
	// codec.ParseKeys. A DataConverter in Temporal works underneath, and a FailureConverter is
	// refused beside keys. Default: none, and everything that Temporal stores can be read there.
	PayloadKeys codec.Keys
}

// The bounds of Config.MaxPayload and WorkerConfig.MaxResult, in bytes. Both are held in
// memory, and PostgreSQL takes values of up to 1 GB.
const (
	maxMaxPayload = 64 << 20
	maxMaxResult  = 256 << 20
)

// checkLimit refuses a limit that is not between 0, which means the default, and most.
func checkLimit(what string, limit, most int) error {
	if limit < 0 || limit > most {
		return intent.Errorf(intent.CodeInvalidConfig, "%s is %d bytes; choose 1 to %d, or 0 for the default", what, limit, most)
	}
	return nil
}

// FromEnvironment reads DATABASE_URL (else PG*), Temporal's own environment configuration
// (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE and so on), WRIT_MAX_PAYLOAD, a
// number of bytes, and the keys in WRIT_PAYLOAD_KEYS or in the file WRIT_PAYLOAD_KEYS_FILE.
func FromEnvironment() (Config, error) {
	temporal, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return Config{}, intent.Errorf(intent.CodeInvalidConfig, "Temporal's environment configuration cannot be used, correct the TEMPORAL_* variables: %w", err)
	}
	cfg := Config{DatabaseURL: os.Getenv("DATABASE_URL"), Temporal: temporal}
	if text := os.Getenv("WRIT_MAX_PAYLOAD"); text != "" {
		if cfg.MaxPayload, err = strconv.Atoi(text); err != nil {
			return Config{}, intent.Errorf(intent.CodeInvalidConfig, "WRIT_MAX_PAYLOAD %q is not a number of bytes", text)
		}
	}
	if cfg.PayloadKeys, err = payloadKeysFromEnvironment(); err != nil {
		return Config{}, err
	}
	return cfg, checkLimit("WRIT_MAX_PAYLOAD", cfg.MaxPayload, maxMaxPayload)
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Temporal.Logger == nil {
		c.Temporal.Logger = log.NewStructuredLogger(c.Logger)
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = intent.MaxPayload
	}
	if c.Temporal.Namespace == "" {
		c.Temporal.Namespace = client.DefaultNamespace
	}
	return c
}

// connection is what clients and workers hold.
type connection struct {
	pool     *pgxpool.Pool
	temporal client.Client
	// namespace is Temporal's.
	namespace string
	log       *slog.Logger
}

// connect prepares both connections. Neither is opened before it is used, so that a
// command that needs only one of them works without the other.
func connect(cfg Config) (*connection, error) {
	cfg = cfg.withDefaults()
	if err := checkLimit("MaxPayload", cfg.MaxPayload, maxMaxPayload); err != nil {
		return nil, err
	}
	if err := cfg.seal(); err != nil {
		return nil, err
	}
	pool, err := newPool(cfg.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if err := checkHostPort(cfg.Temporal.HostPort); err != nil {
		pool.Close()
		return nil, err
	}
	reconnectSoon(&cfg.Temporal)
	temporal, err := client.NewLazyClient(cfg.Temporal)
	if err != nil {
		pool.Close()
		return nil, intent.Errorf(intent.CodeInvalidConfig, "Temporal's options cannot be used: %w", err)
	}
	return &connection{pool: pool, temporal: temporal, namespace: cfg.Temporal.Namespace, log: cfg.Logger}, nil
}

func (c *connection) close() {
	c.temporal.Close()
	c.pool.Close()
}

func temporalError(err error) error {
	return intent.Errorf(intent.CodeTemporalUnavailable, "Temporal did not answer; the same request key again is safe: %w", err)
}

// checkHostPort refuses an address that cannot be one, before it is mistaken for a
// Temporal that does not answer. Targets of a gRPC resolver, as dns:///host:port, pass.
func checkHostPort(address string) error {
	if address == "" || strings.Contains(address, ":///") {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return intent.Errorf(intent.CodeInvalidConfig, "TEMPORAL_ADDRESS %q is not host:port", address)
	}
	return nil
}
