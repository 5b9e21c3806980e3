package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/internal/child"
	"writ/internal/loopback"
)

// maxConnections leaves room for Temporal's pools, several workers and a
// person with psql.
const maxConnections = 200

// Options say where and how a cluster runs. The zero value is not valid: give
// a DataDir or set Ephemeral.
type Options struct {
	// DataDir holds the cluster; it is created when it is missing. Empty if Ephemeral.
	DataDir string
	// Ephemeral runs the cluster in a temporary folder that Stop removes.
	Ephemeral bool
	// Port on 127.0.0.1; 0 takes a free one, a different one at every start.
	Port int
	// Log receives the server's log as well as the file postgres.log; nil for none.
	Log io.Writer
	// StartTimeout bounds the wait for an answer, crash recovery included; 0 means two minutes.
	StartTimeout time.Duration
}

// Server is a running cluster. Its methods may be called by several goroutines.
type Server struct {
	options  Options
	dir      dataDir
	port     int
	password string
	process  *child.Process
}

// Start starts a cluster and returns when it answers. The context bounds the
// start only. Errors are described in the package comment; after an error
// nothing runs and an ephemeral folder is gone.
func Start(ctx context.Context, options Options) (_ *Server, err error) {
	if options.Ephemeral == (options.DataDir != "") {
		return nil, errors.New("postgres: give either a data folder or Ephemeral")
	}
	if options.StartTimeout == 0 {
		options.StartTimeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, options.StartTimeout,
		fmt.Errorf("PostgreSQL did not answer within %s", options.StartTimeout))
	defer cancel()

	server := &Server{options: options}
	runAs, err := server.openFolder()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.closeFolder())
		}
	}()

	major, err := server.dir.major()
	if err != nil {
		return nil, err
	}
	binaries, err := findInstallation(ctx, os.Getenv("PATH"), installPatterns, major)
	if err != nil {
		return nil, err
	}
	if server.password, err = server.dir.initialize(ctx, binaries, runAs, options.Ephemeral); err != nil {
		return nil, err
	}
	if err := server.launch(ctx, binaries, runAs); err != nil {
		return nil, err
	}
	return server, nil
}

// openFolder opens the data folder and says which user works in it.
func (s *Server) openFolder() (account, error) {
	runAs, err := chooseAccount(pgdata(s.options.DataDir))
	if err != nil {
		return account{}, err
	}
	if !s.options.Ephemeral {
		s.dir, err = openDataDir(s.options.DataDir, runAs)
		return runAs, err
	}
	folder, err := makeEphemeral(runAs)
	if err != nil {
		return account{}, fmt.Errorf("make an ephemeral data folder: %w", err)
	}
	if s.dir, err = give(folder, runAs); err != nil {
		return account{}, errors.Join(err, folder.Remove())
	}
	return runAs, nil
}

func (s *Server) closeFolder() error {
	if s.options.Ephemeral {
		return s.dir.Remove()
	}
	return s.dir.Release()
}

// settings are given on the command line, so that they hold for clusters that
// an earlier version created.
func settings(pgdata string, port int) []string {
	return []string{
		"-D", pgdata,
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port=" + strconv.Itoa(port),
		"-c", "unix_socket_directories=",
		"-c", "max_connections=" + strconv.Itoa(maxConnections),
		"-c", "fsync=on",
		"-c", "full_page_writes=on",
		"-c", "synchronous_commit=on",
		"-c", "timezone=UTC",
		"-c", "log_timezone=UTC",
		"-c", "logging_collector=off",
		"-c", "log_destination=stderr",
	}
}

// Port returns the port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// DataDir returns the folder of the cluster.
func (s *Server) DataDir() string { return s.dir.Path() }

// Ended is closed when the server has ended, for whatever reason.
func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// URL returns the address of the database as a connection URL, with the
// password. The database need not exist.
func (s *Server) URL(database string) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     loopback.Address(s.port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return address.String()
}

// CreateDatabase creates the database unless it exists.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	connection, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	defer connection.Close(ctx)
	return CreateDatabase(ctx, connection, name)
}

// Stop ends the server with a fast shutdown: open transactions are rolled
// back, clients are disconnected, and everything that was committed is on disk.
// An ephemeral folder is removed. When ctx ends first, the server is killed,
// which loses nothing that was committed, and the context's error is returned.
// Stopping a stopped server does nothing.
func (s *Server) Stop(ctx context.Context) error { return s.end(ctx, shutdown) }

// StopAtOnce ends the server as Stop does, but without a checkpoint, as if it had crashed:
// the next start finds what was committed in the write-ahead log.
func (s *Server) StopAtOnce(ctx context.Context) error { return s.end(ctx, immediateShutdown) }

func (s *Server) end(ctx context.Context, signal os.Signal) error {
	// Killed, the server's own children notice that it is gone and leave.
	err := s.process.Stop(ctx, signal)
	return errors.Join(err, s.closeFolder())
}
