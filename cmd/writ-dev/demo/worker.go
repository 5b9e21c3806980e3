package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"writ/cmd/writ-dev/stack"
	"writ/internal/child"
)

// worker is a process of "writ worker".
type worker struct {
	name     string
	identity string // in its claims
	process  *child.Process
	log      string // path of what it says on stderr
}

// startWorker starts the program as a worker of the stack and returns when it
// polls for work.
func startWorker(ctx context.Context, program, name string, addresses stack.Addresses) (*worker, error) {
	w := &worker{name: name, log: filepath.Join(addresses.DataDir, name+".log")}
	log, err := os.Create(w.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close() // the process has it by then
	command := exec.Command(program, "worker", "-o", "json")
	command.Env = addresses.ChildEnvironment()
	command.Stderr = log
	output, ready, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer output.Close()
	command.Stdout = ready
	w.process, err = child.Start(command, syscall.SIGKILL)
	ready.Close()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if w.identity, err = awaitReady(ctx, output); err != nil {
		stopErr := w.process.Stop(context.WithoutCancel(ctx), syscall.SIGKILL)
		said, _ := os.ReadFile(w.log)
		return nil, fmt.Errorf("start %s: %w (%v):\n%s", name, err, stopErr, said)
	}
	return w, nil
}

// awaitReady reads the line with which a worker says that it is ready.
func awaitReady(ctx context.Context, output *os.File) (identity string, err error) {
	// A read of a pipe knows no context, but ends when the pipe is closed.
	defer context.AfterFunc(ctx, func() { output.Close() })()
	var said struct {
		Ready    bool
		Identity string
	}
	if err := json.NewDecoder(output).Decode(&said); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("it ended before it was ready: %w", err)
	}
	if !said.Ready || said.Identity == "" {
		return "", fmt.Errorf("it said %+v instead of being ready", said)
	}
	return said.Identity, nil
}

// stop asks the worker to finish what it is doing and waits for its end.
func (w *worker) stop(ctx context.Context) error {
	if err := w.process.Stop(ctx, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", w.name, err)
	}
	return nil
}
