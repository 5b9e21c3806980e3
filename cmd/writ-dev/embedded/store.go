package embedded

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	sqlplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/tools/common/schema"
	temporalsql "go.temporal.io/server/tools/sql"
)

// historyShards is fixed when a store is first used. Four was the fastest of
// one, four and sixteen on PostgreSQL on a machine with two cores.
const historyShards = 4

// Each of the server's four services opens a pool of its own on both
// databases: at most 4 × (12 + 4) = 64 connections.
const (
	executionConnections  = 12
	visibilityConnections = 4
)

// Store says where Temporal keeps its state. Get one from [PostgreSQL] or [Memory].
type Store struct {
	executions *config.SQL
	visibility *config.SQL
	migrate    bool // the schema must be brought up to date first
}

// Memory keeps the state in this process: a restart begins empty.
func Memory() Store {
	database := &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: "writ-" + rand.Text(), // databases of one name in one process are one database
		ConnectAttributes: map[string]string{
			"mode":  "memory",
			"cache": "shared",
		},
	}
	return Store{executions: database, visibility: database}
}

// PostgreSQL keeps the state in two databases, given by their URLs. The
// databases must exist; their schema is created or updated at the start.
func PostgreSQL(executionsURL, visibilityURL string) (Store, error) {
	executions, err := postgresConfig(executionsURL, executionConnections)
	if err != nil {
		return Store{}, err
	}
	visibility, err := postgresConfig(visibilityURL, visibilityConnections)
	if err != nil {
		return Store{}, err
	}
	return Store{executions: executions, visibility: visibility, migrate: true}, nil
}

// postgresConfig takes a URL apart for Temporal, which puts it together again
// from its parts and escapes nothing but the password.
func postgresConfig(address string, connections int) (*config.SQL, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read the URL of Temporal's database: %w", err)
	}
	password, _ := parsed.User.Password()
	port := parsed.Port()
	if port == "" {
		port = "5432"
	}
	attributes := map[string]string{}
	for name, values := range parsed.Query() {
		attributes[name] = values[len(values)-1]
	}
	return &config.SQL{
		PluginName:        sqlplugin.PluginNamePGX,
		ConnectProtocol:   "tcp",
		ConnectAddr:       net.JoinHostPort(parsed.Hostname(), port),
		User:              url.User(parsed.User.Username()).String(),
		Password:          password,
		DatabaseName:      url.PathEscape(parsed.Path[min(1, len(parsed.Path)):]),
		ConnectAttributes: attributes,
		MaxConns:          connections,
		MaxIdleConns:      connections,
		MaxConnLifetime:   time.Hour,
	}, nil
}

// prepare brings the schema of both databases up to date.
func (s Store) prepare(logger log.Logger) error {
	if !s.migrate {
		return nil
	}
	if err := migrate(s.executions, "postgresql/v12/temporal", logger); err != nil {
		return fmt.Errorf("bring Temporal's database up to date: %w", err)
	}
	if err := migrate(s.visibility, "postgresql/v12/visibility", logger); err != nil {
		return fmt.Errorf("bring Temporal's visibility database up to date: %w", err)
	}
	return nil
}

func migrate(database *config.SQL, schemaName string, logger log.Logger) error {
	connection, err := temporalsql.NewConnection(database, logger)
	if err != nil {
		return err
	}
	defer connection.Close()
	// The set-up makes the version tables when they are missing, and leaves a
	// later version as it is.
	setup := schema.NewSetupSchemaTask(connection, &schema.SetupConfig{InitialVersion: "0.0"}, logger)
	if err := setup.Run(); err != nil {
		return err
	}
	return schema.NewUpdateSchemaTask(connection, &schema.UpdateConfig{SchemaName: schemaName}, logger).Run()
}
