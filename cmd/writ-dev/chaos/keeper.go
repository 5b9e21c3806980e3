package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"writ/internal/child"
)

const (
	// readyPatience bounds the start of a process. One that cannot start, because what it
	// needs is away, is tried again.
	readyPatience = 30 * time.Second
	// startPause is the time between two starts.
	startPause = 500 * time.Millisecond
	// termPatience is how long a process may take to leave after SIGTERM.
	termPatience = 15 * time.Second
)

// keeper keeps one process running, as an init system does: it starts another one whenever it
// has ended.
type keeper struct {
	name    string
	command func() *exec.Cmd
	log     *os.File

	// turn is held while the process is started or replaced.
	turn    sync.Mutex
	mutex   sync.Mutex
	process *child.Process
	ready   chan struct{} // closed at the first start that succeeded
	stop    context.CancelFunc
	ended   chan struct{}
}

// keep starts the process in the background. What it says goes to a log in the folder.
func keep(ctx context.Context, folder, name string, command func() *exec.Cmd) (*keeper, error) {
	log, err := os.OpenFile(filepath.Join(folder, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{name: name, command: command, log: log, ready: make(chan struct{}), stop: cancel, ended: make(chan struct{})}
	go k.run(ctx)
	return k, nil
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.ended)
	for started := false; ctx.Err() == nil; {
		k.turn.Lock()
		began := time.Now()
		process, err := k.launch(ctx)
		k.turn.Unlock()
		if err == nil {
			k.note("it is ready after %.1f s", time.Since(began).Seconds())
			if !started {
				started = true
				close(k.ready)
			}
			select {
			case <-process.Ended():
				k.note("it ended")
			case <-ctx.Done():
			}
		} else {
			k.note("it was not started: %v", err)
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
		}
	}
}

// note writes into the log of the process. A failed write has nowhere to be told.
func (k *keeper) note(format string, arguments ...any) {
	fmt.Fprintf(k.log, "time=%s msg=%q\n", time.Now().UTC().Format(time.RFC3339Nano), k.name+": "+fmt.Sprintf(format, arguments...))
}

// launch starts the process and returns when it has said that it is ready.
func (k *keeper) launch(ctx context.Context) (*child.Process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, fmt.Errorf("it was not ready within %s", readyPatience))
	defer cancel()
	output, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := k.command()
	command.Stdout, command.Stderr = said, k.log
	process, err := child.Start(command, syscall.SIGKILL)
	said.Close()
	if err != nil {
		return nil, err
	}
	k.mutex.Lock()
	k.process = process
	k.mutex.Unlock()
	// A read of a pipe knows no context, but ends when the pipe is closed.
	defer context.AfterFunc(ctx, func() { output.Close() })()
	if err := readReady(output); err != nil {
		err = errors.Join(err, context.Cause(ctx))
		return nil, errors.Join(err, process.Stop(context.WithoutCancel(ctx), syscall.SIGKILL))
	}
	return process, nil
}

// readReady reads the line with which a process says that it is ready, or why it is not.
func readReady(output io.Reader) error {
	var said struct {
		Error *struct{ Code, Message string }
	}
	if err := json.NewDecoder(output).Decode(&said); err != nil {
		return fmt.Errorf("it ended before it was ready: %w", err)
	}
	if said.Error != nil {
		return fmt.Errorf("%s: %s", said.Error.Code, said.Error.Message)
	}
	return nil
}

// current is the process that runs now; nil before the first one.
func (k *keeper) current() *child.Process {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.process
}

// awaitReady returns when the process has been ready for the first time.
func (k *keeper) awaitReady(ctx context.Context) error {
	select {
	case <-k.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", k.name, context.Cause(ctx))
	}
}

// replace ends the process with the signal, calls between while none runs, if it is not nil,
// and lets another one be started. It waits for one that is just being started, and then calls
// begun.
func (k *keeper) replace(ctx context.Context, signal syscall.Signal, between func(context.Context) error, begun func()) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	begun()
	if process := k.current(); process != nil {
		stopping, cancel := context.WithTimeout(ctx, termPatience)
		defer cancel()
		// One that does not leave in time is killed, which is a fault like another.
		if err := process.Stop(stopping, signal); err != nil && ctx.Err() != nil {
			return fmt.Errorf("end %s: %w", k.name, err)
		}
	}
	if between == nil {
		return nil
	}
	return between(ctx)
}

// freeze stops the process for that long.
func (k *keeper) freeze(ctx context.Context, lasts time.Duration) error {
	process := k.current()
	if process == nil {
		return fmt.Errorf("freeze %s: it does not run", k.name)
	}
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze %s: %w", k.name, err)
	}
	wait(ctx, lasts)
	if err := process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("thaw %s: %w", k.name, err)
	}
	return nil
}

// close ends the process for good.
func (k *keeper) close(ctx context.Context) error {
	k.stop()
	<-k.ended
	process := k.current()
	if process == nil {
		return k.log.Close()
	}
	stopping, cancel := context.WithTimeout(ctx, termPatience)
	defer cancel()
	if err := process.Stop(stopping, syscall.SIGTERM); err != nil && ctx.Err() != nil {
		return errors.Join(fmt.Errorf("end %s: %w", k.name, err), k.log.Close())
	}
	return k.log.Close()
}

// wait returns after that long, or when ctx ends.
func wait(ctx context.Context, long time.Duration) {
	select {
	case <-time.After(long):
	case <-ctx.Done():
	}
}
