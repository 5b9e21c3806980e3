package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"writ/cmd/writ-dev/stack"
	"writ/internal/pgtest"
)

// mainVariable makes the test binary the program under test.
const mainVariable = "WRIT_DEV_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	pgtest.Main(m)
}

// patience bounds every wait of these tests.
const patience = 2 * time.Minute

// process is a running writ-dev.
type process struct {
	command *exec.Cmd
	stderr  *watchedBuffer
	stack.Addresses
}

// launch starts writ-dev and returns when it has said where everything is.
// The environment's own databases don't reach it unless given here.
func launch(t *testing.T, environment []string, arguments ...string) *process {
	t.Helper()
	p := &process{command: program(environment, append(arguments, "-o", "json")...), stderr: newWatchedBuffer()}
	p.command.Stderr = p.stderr
	output, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
		if t.Failed() {
			t.Logf("writ-dev said:\n%s", p.stderr)
		}
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatalf("writ-dev did not say where it is (%v):\n%s", err, p.stderr)
	}
	if err := json.Unmarshal(line, &p.Addresses); err != nil {
		t.Fatalf("writ-dev said %q: %v", line, err)
	}
	return p
}

// onFreePorts are the flags that let several run at once on data folders.
func onFreePorts(arguments ...string) []string {
	return append(arguments, "--temporal-port", "0", "--ui-port", "0", "--provider-port", "0")
}

func program(environment []string, arguments ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], arguments...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "DATABASE_URL=") && !strings.HasPrefix(variable, "WRIT_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, mainVariable+"=1")
	command.Env = append(command.Env, environment...)
	return command
}

// interruptedRun starts a run and interrupts it when it says something, by which it has at least so
// many children. It must fail, and leave none of them.
func interruptedRun(t *testing.T, command *exec.Cmd, says string, least int) {
	t.Helper()
	stderr := newWatchedBuffer()
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	running := &process{command: command, stderr: stderr}
	t.Cleanup(func() { _ = command.Process.Kill() })
	stderr.await(t, says)
	children := running.children(t)
	running.signal(t, syscall.SIGINT)
	var exit *exec.ExitError
	if err := running.wait(t); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("it ended with %v, want exit status %d:\n%s", err, exitFailure, stderr)
	}
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("it does not say that it was interrupted:\n%s", stderr)
	}
	if len(children) < least {
		t.Errorf("it had only the children %v", children)
	}
	for _, child := range children {
		if alive(child) {
			t.Errorf("child %d still runs", child)
		}
	}
}

// refusal runs writ-dev to its end, which must be a failure with the given
// status, and returns what it reported.
func refusal(t *testing.T, status int, environment []string, arguments ...string) (code, message string) {
	t.Helper()
	command := program(environment, append([]string{"-o", "json"}, arguments...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err := command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != status {
		t.Fatalf("writ-dev ended with %v, want exit status %d:\n%s", err, status, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	var report struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &report); err != nil {
		t.Fatalf("the last line is no report (%v):\n%s", err, &stderr)
	}
	return report.Error.Code, report.Error.Message
}

func (p *process) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// stop asks for a clean stop, which must end with status 0 and leave no child.
func (p *process) stop(t *testing.T) {
	t.Helper()
	children := p.children(t)
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(t); err != nil {
		t.Errorf("writ-dev ended with %v, want exit status 0", err)
	}
	for _, child := range children {
		if alive(child) {
			t.Errorf("child %d still runs after the stop", child)
		}
	}
}

// wait returns how the process ended.
func (p *process) wait(t *testing.T) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.command.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatal("writ-dev does not end")
		return nil
	}
}

// children returns the processes that writ-dev started.
func (p *process) children(t *testing.T) []int {
	t.Helper()
	output, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[1] != strconv.Itoa(p.command.Process.Pid) {
			continue
		}
		child, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	return children
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// waitUntil polls the condition until it holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// watchedBuffer collects output and tells when it contains a text.
type watchedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
	grown  chan struct{}
}

func newWatchedBuffer() *watchedBuffer { return &watchedBuffer{grown: make(chan struct{})} }

func (b *watchedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	close(b.grown)
	b.grown = make(chan struct{})
	return b.buffer.Write(p)
}

func (b *watchedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

func (b *watchedBuffer) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		b.mutex.Lock()
		found, grown := strings.Contains(b.buffer.String(), text), b.grown
		b.mutex.Unlock()
		if found {
			return
		}
		select {
		case <-grown:
		case <-deadline:
			t.Fatalf("waited in vain for %q in:\n%s", text, b)
		}
	}
}
