package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	interruptedRun(t, command, "asking two workers", 3) // PostgreSQL and two workers
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
