package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"writ/cmd/writ-dev/demo"
)

func TestTheDemonstrationCapturesEachPaymentOnceAlthoughAWorkerIsKilled(t *testing.T) {
	t.Parallel()
	const captures = 80
	command := program(nil, "demo", "-o", "json", "--writ", writProgram(t), "--captures", someCaptures(t, captures))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("the demonstration ended with %v:\n%s", err, &stderr)
	}
	var report demo.Report
	if err := json.Unmarshal(output, &report); err != nil {
		t.Fatalf("the demonstration said %q: %v", output, err)
	}
	if report.Captures != captures || report.Intents != captures || report.Completed != captures ||
		report.LedgerEntries != captures || report.Duplicates != 0 || report.Lost != 0 {
		t.Errorf("not each of %d captures happened once: %+v", captures, report)
	}
	if report.InFlight == 0 || report.Recovery <= 0 || report.Dropped == 0 {
		t.Errorf("nothing went wrong that should have: %+v", report)
	}
}

func TestAnInterruptedDemonstrationFailsAndLeavesNoProcess(t *testing.T) {
	t.Parallel()
	command := program(nil, "demo", "--writ", writProgram(t), "--captures", someCaptures(t, 200))
	stderr := newWatchedBuffer()
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	running := &process{command: command, stderr: stderr}
	t.Cleanup(func() { _ = command.Process.Kill() })
	stderr.await(t, "asking two workers")
	children := running.children(t)
	running.signal(t, syscall.SIGINT)
	var exit *exec.ExitError
	if err := running.wait(t); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("the demonstration ended with %v, want exit status %d:\n%s", err, exitFailure, stderr)
	}
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("it does not say that it was interrupted:\n%s", stderr)
	}
	if len(children) < 3 { // PostgreSQL and two workers
		t.Errorf("it had only the children %v", children)
	}
	for _, child := range children {
		if alive(child) {
			t.Errorf("child %d still runs", child)
		}
	}
}

func TestTheDemonstrationSaysWhenAProgramOrAFileIsMissing(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	if code, message := refusal(t, exitUsage, nil, "demo", "--writ", missing); code != "usage" || !strings.Contains(message, "make build") {
		t.Errorf("without the program: %s: %s", code, message)
	}
	code, message := refusal(t, exitUsage, nil, "demo", "--writ", os.Args[0], "--captures", missing)
	if code != "usage" || !strings.Contains(message, missing) {
		t.Errorf("without the captures: %s: %s", code, message)
	}
}

// writProgram returns the path of the writ program, which it builds unless
// WRIT_BIN_DIR names a folder that has it.
func writProgram(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("WRIT_BIN_DIR"); folder != "" {
		return filepath.Join(folder, "writ")
	}
	path := filepath.Join(t.TempDir(), "writ")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/writ")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build writ: %v\n%s", err, output)
	}
	return path
}

// someCaptures returns the path of a file with the first captures of the example.
func someCaptures(t *testing.T, count int) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", "captures.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	path := filepath.Join(t.TempDir(), "captures.jsonl")
	if err := os.WriteFile(path, bytes.Join(lines[:count], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
