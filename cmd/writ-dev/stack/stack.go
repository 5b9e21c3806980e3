package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"writ/cmd/writ-dev/embedded"
	"writ/internal/statedir"
)

// Stack is everything that was started.
type Stack struct {
	options   Options
	addresses Addresses
	folder    *statedir.Folder
	databases databases
	failed    chan error
	parts     []part // in the order in which they were started
}

// part is something that runs and how it is stopped.
type part struct {
	name string
	stop func(context.Context) error
}

// ErrInterrupted is the error of a start whose context ended; everything that
// was started has been stopped cleanly.
var ErrInterrupted = errors.New("the start was interrupted")

// Start starts what the options ask for and returns when it can be used. The
// context bounds the start only. After an error nothing runs.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s := &Stack{options: options.withDefaults(), failed: make(chan error, 1)}
	s.addresses.TaskQueue = s.options.TaskQueue
	s.addresses.TemporalNamespace = Namespace
	for _, step := range s.steps() {
		if step.skip {
			continue
		}
		if step.announce != "" {
			s.options.Progress(step.announce)
		}
		err := step.run(ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, s.undo(ctx, err)
		}
	}
	return s, nil
}

// undo stops what was started before the error.
func (s *Stack) undo(ctx context.Context, err error) error {
	stopErr := s.Stop(context.WithoutCancel(ctx))
	if ctx.Err() != nil && stopErr == nil {
		return ErrInterrupted
	}
	return errors.Join(err, stopErr)
}

type step struct {
	announce string
	run      func(context.Context) error
	skip     bool
}

func (s *Stack) steps() []step {
	return []step{
		{run: s.openFolder},
		{announce: "starting PostgreSQL…", run: s.startPostgres, skip: s.options.DatabaseURL != ""},
		{announce: "using the PostgreSQL that DATABASE_URL names…", run: s.usePostgres, skip: s.options.DatabaseURL == ""},
		{announce: "migrating the outbox…", run: s.migrate},
		{announce: "starting Temporal…", run: s.startTemporal},
		{announce: "starting Temporal's web UI…", run: s.startUI, skip: s.options.NoUI},
		{announce: "starting the sandbox provider…", run: s.startProvider, skip: s.options.NoProvider},
		{announce: "starting a worker with the sample tools…", run: s.startWorker, skip: s.options.NoWorker},
	}
}

// Addresses says where the parts are.
func (s *Stack) Addresses() Addresses { return s.addresses }

// Failed receives the first error of a part that ended by itself.
func (s *Stack) Failed() <-chan error { return s.failed }

// Stop stops the parts in the reverse order of their start, so that none loses
// what it needs, and goes on after an error. The context bounds it; a private
// PostgreSQL that is still running then is killed. Stopping again does nothing.
func (s *Stack) Stop(ctx context.Context) error {
	var failures []error
	for len(s.parts) > 0 {
		last := s.parts[len(s.parts)-1]
		s.parts = s.parts[:len(s.parts)-1]
		if err := last.stop(ctx); err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", last.name, err))
		}
	}
	return errors.Join(failures...)
}

// started adds a part that Stop stops.
func (s *Stack) started(name string, stop func(context.Context) error) {
	s.parts = append(s.parts, part{name, stop})
}

// fail reports the end of a part; the first report counts.
func (s *Stack) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// openFolder opens the data folder, or makes a temporary one.
func (s *Stack) openFolder(context.Context) error {
	if s.options.Ephemeral {
		folder, err := statedir.Temporary(os.TempDir(), "writ-dev-", nil)
		if err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		s.keepFolder(folder, folder.Remove)
		return nil
	}
	permissions := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		permissions = 0o755 // PostgreSQL runs as another user and must get through
	}
	path, err := filepath.Abs(s.options.DataDir)
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	folder, err := statedir.Open(path, permissions)
	switch {
	case errors.Is(err, statedir.ErrInUse):
		return &Error{
			code:    CodeDataDirInUse,
			message: fmt.Sprintf("another writ-dev runs on %s: stop it first, or choose another folder with --data-dir", path),
			cause:   err,
		}
	case err != nil:
		return &Error{
			code:    CodeDataDirUnusable,
			message: fmt.Sprintf("the data folder cannot be used (%v): choose another with --data-dir", err),
			cause:   err,
		}
	}
	s.keepFolder(folder, folder.Release)
	return nil
}

func (s *Stack) keepFolder(folder *statedir.Folder, end func() error) {
	s.folder = folder
	s.addresses.DataDir = folder.Path()
	s.started("the data folder", func(context.Context) error { return end() })
}

// temporalStore returns where Temporal keeps its state.
func (s *Stack) temporalStore(ctx context.Context) (embedded.Store, error) {
	if s.options.TemporalStore == TemporalInMemory {
		return embedded.Memory(), nil
	}
	executions, visibility, err := s.databases.forTemporal(ctx)
	if err != nil {
		return embedded.Store{}, err
	}
	return embedded.PostgreSQL(executions, visibility)
}
