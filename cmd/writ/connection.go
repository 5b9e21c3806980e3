package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"writ"
)

// connectionFlags say where PostgreSQL and Temporal are, over what the environment says.
type connectionFlags struct {
	databaseURL string
	address     string
	namespace   string
}

func (f *connectionFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.databaseURL, "database-url", "", "PostgreSQL `URL` of the outbox (default: $DATABASE_URL, else $PGHOST and so on)")
	flags.StringVar(&f.address, "temporal-address", "", "`host:port` of Temporal (default: $TEMPORAL_ADDRESS, else 127.0.0.1:7233)")
	flags.StringVar(&f.namespace, "temporal-namespace", "", "Temporal `namespace` (default: $TEMPORAL_NAMESPACE, else default)")
}

// names are the names of the flags.
func (f *connectionFlags) names() []string {
	return []string{"database-url", "temporal-address", "temporal-namespace"}
}

// namesDatabase reports whether a flag or the environment says which database is meant.
func (f *connectionFlags) namesDatabase() bool {
	return f.databaseURL != "" || os.Getenv("DATABASE_URL") != "" || os.Getenv("PGHOST") != "" || os.Getenv("PGSERVICE") != ""
}

// config is the environment with the flags over it.
func (p *program) config() (writ.Config, error) {
	cfg, err := writ.FromEnvironment()
	if err != nil {
		return writ.Config{}, err
	}
	override(&cfg.DatabaseURL, p.connection.databaseURL)
	override(&cfg.Temporal.HostPort, p.connection.address)
	override(&cfg.Temporal.Namespace, p.connection.namespace)
	cfg.Logger = p.log
	return cfg, nil
}

func override(value *string, flag string) {
	if flag != "" {
		*value = flag
	}
}

// dial returns a client; the caller closes it.
func (p *program) dial(ctx context.Context) (*writ.Client, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, err
	}
	return writ.Dial(ctx, cfg)
}

// withClient returns what get reads, through a client that is closed then.
func withClient[T any](ctx context.Context, p *program, get func(*writ.Client, context.Context) (T, error)) (T, error) {
	client, err := p.dial(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer client.Close()
	return get(client, ctx)
}
