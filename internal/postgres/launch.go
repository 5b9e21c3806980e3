package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/internal/loopback"
)

const (
	// pollInterval is the time between two looks at something that is not ready yet.
	pollInterval = 50 * time.Millisecond
	// orphanPatience is how long a start waits for a server that lost its
	// parent and is still writing its last checkpoint.
	orphanPatience = 15 * time.Second
	// portTries bounds the starts on free ports that others took first.
	portTries = 10
)

// launch starts the server and waits until it answers.
func (s *Server) launch(ctx context.Context, binaries installation, runAs account) error {
	if err := os.Rename(s.dir.logFile(), s.dir.logFile()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the earlier log: %w", err)
	}
	givenUp := time.Now().Add(orphanPatience)
	for try := 1; ; try++ {
		said, err := s.try(ctx, binaries, runAs)
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch {
		case mentions(said, "Address already in use"):
			if s.options.Port != 0 {
				return &loopback.PortError{Port: s.options.Port, Err: err}
			}
			if try >= portTries {
				return err
			}
		case mentions(said, `lock file "postmaster.pid" already exists`, "pre-existing shared memory block"):
			if time.Now().After(givenUp) {
				return inUse(s.dir.Path(), err)
			}
			if err := pause(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// try starts the server once. On failure it returns what the server logged.
func (s *Server) try(ctx context.Context, binaries installation, runAs account) (said []byte, err error) {
	s.port = s.options.Port
	if s.port == 0 {
		if s.port, err = loopback.FreePort(); err != nil {
			return nil, err
		}
	} else if err := loopback.Claim(s.port); err != nil {
		return nil, err
	}

	log, err := os.OpenFile(s.dir.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the server's log: %w", err), log.Close())
	}
	server := command(binaries.postgres(), s.dir.Path(), settings(s.dir.pgdata(), s.port)...)
	server.Stdout, server.Stderr = log, log
	if s.options.Log != nil {
		server.Stderr = io.MultiWriter(log, s.options.Log)
		server.WaitDelay = time.Second // a lingering child of the server must not hold up its end
	}
	if s.process, err = spawn(server, runAs); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), log.Close())
	}
	ended := s.process.Ended()
	go func() {
		// With a second receiver it is this process that writes the file, to the server's end.
		<-ended
		_ = log.Close()
	}()
	if err := s.awaitAnswer(ctx); err != nil {
		stopErr := s.process.Stop(context.WithoutCancel(ctx), shutdown)
		said, readErr := readFrom(s.dir.logFile(), before)
		return said, &Error{
			code:    CodeStartFailed,
			message: fmt.Sprintf("PostgreSQL did not start in %s: %v:\n%s", s.dir.Path(), err, lastLines(said)),
			cause:   errors.Join(err, stopErr, readErr),
		}
	}
	return nil, nil
}

// awaitAnswer returns when a connection can be made, the server has ended or
// ctx has.
func (s *Server) awaitAnswer(ctx context.Context) error {
	for {
		connection, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return connection.Close(ctx)
		}
		select {
		case <-s.process.Ended():
			return fmt.Errorf("the server ended: %w", s.process.Err())
		default:
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pause waits for the next look.
func pause(ctx context.Context) error {
	select {
	case <-time.After(pollInterval):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func mentions(log []byte, phrases ...string) bool {
	for _, phrase := range phrases {
		if bytes.Contains(log, []byte(phrase)) {
			return true
		}
	}
	return false
}

func readFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, offset, 1<<20))
}

// lastLines returns the end of a log, short enough for an error message.
func lastLines(log []byte) string {
	const most = 12
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
