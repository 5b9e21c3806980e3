package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait: a test that is right never comes near it.
const patience = 2 * time.Minute

// process is a program under test.
type process struct {
	name           string
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{} // closed when it has ended and its output is complete
}

// launch starts a program with exactly the given variables, beside those that every
// program needs.
func launch(name, path string, environment []string, arguments ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(path, arguments...), ended: make(chan struct{})}
	p.cmd.Env = append(inherited(), environment...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	// A grandchild that holds the pipes must not keep Wait from returning.
	p.cmd.WaitDelay = 10 * time.Second
	if err := startTied(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the state says it, see status
	}()
	return p, nil
}

// inherited is what programs need of this process's environment. Whatever would lead them
// to another database, server or collector stays out.
func inherited() []string {
	var kept []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if value, set := os.LookupEnv(name); set {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// start starts a program for a test. When the test fails its output is shown; when the
// test ends it is killed if it still runs.
func start(t testing.TB, name, path string, environment []string, arguments ...string) *process {
	t.Helper()
	p, err := launch(name, path, environment, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s ended with %s\n%s", p.name, p.cmd.ProcessState, p.transcript())
		}
	})
	return p
}

func (p *process) transcript() string {
	return fmt.Sprintf("stdout: %s\nstderr: %s", p.stdout.bytes(), p.stderr.bytes())
}

// signal sends a signal to a process that may have ended.
func (p *process) signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // os.ErrProcessDone: it has what the signal is for
}

// kill ends the process with SIGKILL, which it cannot notice, and returns when it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// stop asks the process to end with SIGTERM and fails unless it does so with status 0.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	if status := p.status(t); status != 0 {
		t.Errorf("%s ends with status %d after SIGTERM", p.name, status)
	}
}

// status waits for the end and returns the exit status, -1 if a signal ended it.
func (p *process) status(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%s did not end", p.name)
	}
	return p.cmd.ProcessState.ExitCode()
}

// line returns line n of standard output, counted from 0, as soon as it is complete.
func (p *process) line(n int) ([]byte, error) {
	timeout := time.After(patience)
	for {
		written, changed := p.stdout.now()
		if lines := bytes.Split(written, []byte("\n")); len(lines) > n+1 {
			return lines[n], nil
		}
		select {
		case <-changed:
		case <-p.ended:
			if written, _ := p.stdout.now(); bytes.Count(written, []byte("\n")) <= n {
				return nil, fmt.Errorf("%s ended before it was ready\n%s", p.name, p.transcript())
			}
		case <-timeout:
			return nil, fmt.Errorf("%s was not ready in %s\n%s", p.name, patience, p.transcript())
		}
	}
}

// output is what a process has written so far.
type output struct {
	mu      sync.Mutex
	written []byte
	changed chan struct{} // closed at the next write; nil while nobody waits
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written = append(o.written, p...)
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return len(p), nil
}

// now returns what was written and a channel that is closed when there is more.
func (o *output) now() ([]byte, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return bytes.Clone(o.written), o.changed
}

func (o *output) bytes() []byte {
	written, _ := o.now()
	return written
}

// eventually calls look until it returns nil. It is for what can only be asked again and
// again: another program's files and Temporal's visibility, which is eventually right.
func eventually(t testing.TB, what string, look func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		err := look(ctx)
		if err == nil {
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, errors.Join(err, ctx.Err()))
		}
	}
}
