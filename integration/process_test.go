package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"writ/internal/child"
)

// patience bounds every wait: a test that is right never comes near it.
const patience = 2 * time.Minute

// process is a program under test.
type process struct {
	name           string
	cmd            *exec.Cmd
	child          *child.Process
	stdout, stderr output
}

// launch starts a program with exactly the given variables, beside those that every
// program needs. It gets SIGTERM if this process is killed, so that writ-dev can stop
// PostgreSQL.
func launch(name, path string, environment []string, arguments ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(path, arguments...)}
	p.cmd.Env = append(inherited(), environment...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	// A grandchild that holds the pipes must not keep the end from being noticed.
	p.cmd.WaitDelay = 10 * time.Second
	var err error
	if p.child, err = child.Start(p.cmd, syscall.SIGTERM); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
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
	p.endsWith(t)
	return p
}

// endsWith kills the process when the test ends, and shows what it said if the test has failed.
func (p *process) endsWith(t testing.TB) {
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s ended with %s\n%s", p.name, p.cmd.ProcessState, p.transcript())
		}
	})
}

func (p *process) transcript() string {
	return fmt.Sprintf("stdout: %s\nstderr: %s", p.stdout.bytes(), p.stderr.bytes())
}

// signal sends a signal to a process that may have ended.
func (p *process) signal(s syscall.Signal) {
	_ = p.child.Signal(s) // a process of our own takes every signal
}

// kill ends the process with SIGKILL, which it cannot notice, and returns when it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.child.Ended()
}

// terminate asks the process to end with SIGTERM and returns its exit status.
func (p *process) terminate() (status int, err error) {
	p.signal(syscall.SIGTERM)
	return p.awaitEnd()
}

// awaitEnd waits for the end and returns the exit status, -1 if a signal ended it.
func (p *process) awaitEnd() (status int, err error) {
	select {
	case <-p.child.Ended():
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return -1, fmt.Errorf("%s did not end in %s\n%s", p.name, patience, p.transcript())
	}
}

// stop ends the process with SIGTERM and fails unless it leaves with status 0.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if status, err := p.terminate(); err != nil || status != 0 {
		t.Fatalf("%s ends with status %d after SIGTERM: %v", p.name, status, err)
	}
}

// status waits for the end and returns the exit status, -1 if a signal ended it.
func (p *process) status(t testing.TB) int {
	t.Helper()
	status, err := p.awaitEnd()
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// succeeds waits for the end and fails unless the exit status is 0.
func (p *process) succeeds(t testing.TB) {
	t.Helper()
	if status := p.status(t); status != 0 {
		t.Fatalf("%s ends with status %d\n%s", p.name, status, p.transcript())
	}
}

// document waits for the end and reads what a command printed that succeeded.
func (p *process) document(t testing.TB, into any) {
	t.Helper()
	p.succeeds(t)
	if err := json.Unmarshal(p.stdout.bytes(), into); err != nil {
		t.Fatalf("%s prints %q: %v", p.name, p.stdout.bytes(), err)
	}
}

// readyLine returns the first line of standard output as soon as it is complete.
func (p *process) readyLine() ([]byte, error) {
	timeout := time.After(patience)
	for ended := false; ; {
		written, changed := p.stdout.now()
		if line, _, complete := bytes.Cut(written, []byte("\n")); complete {
			return line, nil
		}
		if ended {
			return nil, fmt.Errorf("%s ended before it was ready\n%s", p.name, p.transcript())
		}
		select {
		case <-changed:
		case <-p.child.Ended():
			ended = true
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
