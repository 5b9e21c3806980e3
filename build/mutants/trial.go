package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// testTimeout bounds one test.
const testTimeout = time.Minute

// drawing lists the packages whose tests draw their cases with pgregory.net/rapid. It would
// look long for the smallest case that shows the mutant, and keep it in testdata.
var drawing = map[string]bool{"intent": true, "outbox": true}

// bench compiles and runs tests. Its folder holds the copies and the test programs.
type bench struct {
	root, folder string
}

// try breaks the code and returns nil if the mutant's test fails because of it.
func (b bench) try(ctx context.Context, m mutant) error {
	broken, err := m.mutate(b.root)
	if err != nil {
		return err
	}
	overlay, err := b.overlay(m, broken)
	if err != nil {
		return err
	}
	program := filepath.Join(b.folder, m.name+".test")
	defer func() { _ = os.Remove(program) }() // they are large
	if err := b.compile(ctx, m.dir, program, "-overlay="+overlay); err != nil {
		return fmt.Errorf("the mutant does not compile, which proves nothing: %w", err)
	}
	said, err := b.run(ctx, m.dir, program, m.test)
	if err == nil {
		return errors.New("the test passes")
	}
	if end := endOf(said, m.test); end != failed {
		said, _, _ = strings.Cut(said, "\n\ngoroutine ") // the stacks are long and tell nothing more
		return fmt.Errorf("the test has not said what is wrong, it has %s: %w\n%s", end, err, said)
	}
	return nil
}

// end is how a test ended that did not pass.
type end string

const (
	// notRun: something else went wrong.
	notRun end = "not run to its end"
	// failed: the test said what is wrong.
	failed end = "failed"
	// halted: it panicked, or its time was over, which it may do for many reasons.
	halted end = "panicked or run out of time"
)

// endOf reads from the output of a test program, which did not succeed, how a test of it ended.
func endOf(said, test string) end {
	switch {
	case !strings.Contains(said, "=== RUN   "+test+"\n"):
		return notRun
	case strings.Contains(said, "\npanic: ") || strings.Contains(said, "[rapid] panic after "):
		return halted
	case strings.Contains(said, "--- FAIL: "+test+" "):
		return failed
	}
	return notRun
}

// passes returns nil if all tests of one package pass as the code is.
func (b bench) passes(ctx context.Context, dir string, tests []string) error {
	program := filepath.Join(b.folder, strings.ReplaceAll(dir, "/", "_")+".test")
	defer func() { _ = os.Remove(program) }()
	if err := b.compile(ctx, dir, program); err != nil {
		return err
	}
	said, err := b.run(ctx, dir, program, tests...)
	if err != nil {
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", dir, err, said)
	}
	for _, test := range tests {
		if !strings.Contains(said, "--- PASS: "+test+" ") {
			return fmt.Errorf("%s did not run %s", dir, test)
		}
	}
	return nil
}

// overlay writes the copy of the broken file and the description that puts it in place.
func (b bench) overlay(m mutant, broken string) (path string, err error) {
	copied := filepath.Join(b.folder, m.name+filepath.Ext(m.file))
	if err := os.WriteFile(copied, []byte(broken), 0o600); err != nil {
		return "", err
	}
	description, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(b.root, m.file): copied}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(b.folder, m.name+".json")
	return path, os.WriteFile(path, description, 0o600)
}

func (b bench) compile(ctx context.Context, dir, program string, flags ...string) error {
	// Only the test counts: what vet would say of a mutant does not.
	arguments := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}, flags...)
	compiling := exec.CommandContext(ctx, "go", append(arguments, "./"+dir)...)
	compiling.Dir = b.root
	if out, err := compiling.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the tests of %s: %w\n%s", dir, err, out)
	}
	return nil
}

// run runs tests of a compiled package and returns what they print.
func (b bench) run(ctx context.Context, dir, program string, tests ...string) (said string, err error) {
	arguments := []string{"-test.v", "-test.count=1", "-test.timeout=" + testTimeout.String(), "-test.run=^(" + strings.Join(tests, "|") + ")$"}
	if drawing[dir] {
		arguments = append(arguments, "-rapid.nofailfile", "-rapid.shrinktime=100ms")
	}
	running := exec.CommandContext(ctx, program, arguments...)
	running.Dir = filepath.Join(b.root, dir)
	out, err := running.CombinedOutput()
	return string(out), err
}
