package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAChaosRunSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"--writ", missing}, "make build"},
		{[]string{"--writ", os.Args[0], "--provider", missing}, "--provider"},
		{[]string{"--minutes", "0"}, "--minutes"},
		{[]string{"--rate", "-1"}, "--rate"},
		{[]string{"--workers", "0"}, "--workers"},
		{[]string{"--seed", "many"}, "--seed"},
	} {
		code, message := refusal(t, exitUsage, nil, append([]string{"chaos"}, c.arguments...)...)
		if code != "usage" || !strings.Contains(message, c.want) {
			t.Errorf("%v: %s: %s", c.arguments, code, message)
		}
	}
}

func TestAnInterruptedChaosRunFailsAndLeavesNoProcess(t *testing.T) {
	t.Parallel()
	writ := writProgram(t)
	provider := filepath.Join(filepath.Dir(writ), "writ-provider")
	if _, err := os.Stat(provider); err != nil {
		provider = filepath.Join(t.TempDir(), "writ-provider")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", provider, "./cmd/writ-provider")
		build.Dir = filepath.Join("..", "..")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build writ-provider: %v\n%s", err, output)
		}
	}
	command := program([]string{"TMPDIR=" + reachableFolder(t)}, "chaos", "--writ", writ, "--provider", provider)
	stderr := newWatchedBuffer()
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	running := &process{command: command, stderr: stderr}
	t.Cleanup(func() { _ = command.Process.Kill() })
	stderr.await(t, "seed 1: ")
	children := running.children(t)
	running.signal(t, syscall.SIGINT)
	var exit *exec.ExitError
	if err := running.wait(t); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("the run ended with %v, want exit status %d:\n%s", err, exitFailure, stderr)
	}
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("it does not say that it was interrupted:\n%s", stderr)
	}
	if len(children) < 8 { // PostgreSQL, Temporal, the provider, three workers and two that recover
		t.Errorf("it had only the children %v", children)
	}
	for _, child := range children {
		if alive(child) {
			t.Errorf("child %d still runs", child)
		}
	}
}

// reachableFolder makes a folder that the user of PostgreSQL can reach also when the tests
// run as root; t.TempDir is private to its owner.
func reachableFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "writ-dev-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
