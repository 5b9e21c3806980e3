package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"writ/internal/postgres"
	"writ/outbox"
)

// The databases of a private cluster.
const (
	outboxDatabase     = "writ"
	executionsDatabase = "temporal"
	visibilityDatabase = "temporal_visibility"
)

// databases knows the databases of the server in use.
type databases interface {
	// forTemporal returns the URLs of Temporal's two databases, which it
	// creates when they are missing.
	forTemporal(ctx context.Context) (executions, visibility string, err error)
}

// startPostgres starts the private cluster.
func (s *Stack) startPostgres(ctx context.Context) error {
	options := postgres.Options{Port: s.options.PostgresPort, Ephemeral: s.options.Ephemeral}
	if !options.Ephemeral {
		options.DataDir = filepath.Join(s.folder.Path(), "postgres")
	}
	server, err := postgres.Start(ctx, options)
	if err != nil {
		return portError(err, "PostgreSQL", "--postgres-port")
	}
	stopping := make(chan struct{})
	s.started("PostgreSQL", func(ctx context.Context) error {
		close(stopping)
		return server.Stop(ctx)
	})
	go func() {
		select {
		case <-server.Ended():
			s.fail(fmt.Errorf("PostgreSQL ended by itself; its log is in %s", server.DataDir()))
		case <-stopping:
		}
	}()
	if err := server.CreateDatabase(ctx, outboxDatabase); err != nil {
		return err
	}
	s.addresses.DatabaseURL = server.URL(outboxDatabase)
	s.databases = privateCluster{server}
	return nil
}

// usePostgres uses the server that the options name.
func (s *Stack) usePostgres(context.Context) error {
	s.addresses.DatabaseURL = s.options.DatabaseURL
	s.databases = givenServer(s.options.DatabaseURL)
	return nil
}

func (s *Stack) migrate(ctx context.Context) error {
	return outbox.Migrate(ctx, s.addresses.DatabaseURL)
}

type privateCluster struct{ server *postgres.Server }

func (c privateCluster) forTemporal(ctx context.Context) (executions, visibility string, err error) {
	for _, name := range []string{executionsDatabase, visibilityDatabase} {
		if err := c.server.CreateDatabase(ctx, name); err != nil {
			return "", "", err
		}
	}
	return c.server.URL(executionsDatabase), c.server.URL(visibilityDatabase), nil
}

// givenServer is the URL of the outbox's database on a server that runs already.
type givenServer string

func (g givenServer) forTemporal(ctx context.Context) (executions, visibility string, err error) {
	address, err := url.Parse(string(g))
	if err != nil || !strings.HasPrefix(address.Scheme, "postgres") || address.Hostname() == "" || len(address.Path) < 2 {
		return "", "", &Error{
			code: CodeDatabaseURLUnsupported,
			message: "Temporal's databases need a DATABASE_URL of the form postgres://user:password@host:port/database: " +
				"write it so, or keep Temporal's state in memory with --temporal-store memory",
			cause: err,
		}
	}
	connection, err := pgx.Connect(ctx, string(g))
	if err != nil {
		return "", "", fmt.Errorf("connect to DATABASE_URL: %w", err)
	}
	defer connection.Close(ctx)
	address.RawQuery = connectionSettings(address.Query()).Encode()
	outbox := address.Path
	urls := make([]string, 2)
	for i, suffix := range []string{"_" + executionsDatabase, "_" + visibilityDatabase} {
		address.Path = outbox + suffix
		urls[i] = address.String()
		if err := createMissing(ctx, connection, address.Path[1:]); err != nil {
			return "", "", err
		}
	}
	return urls[0], urls[1], nil
}

// connectionSettings leaves only what says how to reach the server: the rest,
// such as a search path or a pool's size, is for the outbox alone.
func connectionSettings(query url.Values) url.Values {
	kept := url.Values{}
	for name, values := range query {
		if strings.HasPrefix(name, "ssl") || name == "connect_timeout" || name == "target_session_attrs" {
			kept[name] = values
		}
	}
	return kept
}

func createMissing(ctx context.Context, connection *pgx.Conn, name string) error {
	err := postgres.CreateDatabase(ctx, connection, name)
	const insufficientPrivilege = "42501"
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == insufficientPrivilege {
		return &Error{
			code: CodeDatabaseCreateDenied,
			message: fmt.Sprintf("Temporal needs the database %s, which the user of DATABASE_URL may not create: "+
				"create it for this user, or keep Temporal's state in memory with --temporal-store memory", name),
			cause: err,
		}
	}
	return err
}
