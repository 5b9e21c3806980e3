package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	interruptedRun(t, command, "seed 1: ", 8) // PostgreSQL, Temporal, the provider, three workers and two that recover
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
