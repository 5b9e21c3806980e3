package killpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"writ/internal/killpoint"
)

// In a child process, TestMain passes every point and says so.
const passing = "WRIT_TEST_PASSING"

func TestMain(m *testing.M) {
	if os.Getenv(passing) == "" {
		os.Exit(m.Run())
	}
	for _, p := range killpoint.Points {
		killpoint.Reach(p)
		fmt.Println(p)
	}
}

// pass returns a process that passes every point with one of them armed.
func pass(ctx context.Context, t *testing.T, point, file string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, self)
	command.Env = append(os.Environ(), passing+"=1", killpoint.EnvPoint+"="+point, killpoint.EnvFile+"="+file)
	return command
}

func upTo(n int) (printed string) {
	for _, p := range killpoint.Points[:n] {
		printed += string(p) + "\n"
	}
	return printed
}

func TestAPointDoesNothingUnlessItIsArmed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "reached")
	for _, point := range []string{"", "no_such_point"} {
		out, err := pass(t.Context(), t, point, file).Output()
		if err != nil || string(out) != upTo(len(killpoint.Points)) {
			t.Errorf("armed with %q: %q, %v", point, out, err)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

func TestAnArmedPointSaysThatItWasReachedAndStopsThere(t *testing.T) {
	t.Parallel()
	for i, p := range killpoint.Points {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			file := filepath.Join(t.TempDir(), "reached")
			command := pass(ctx, t, string(p), file)
			printed, err := os.Create(filepath.Join(t.TempDir(), "printed"))
			if err != nil {
				t.Fatal(err)
			}
			defer printed.Close()
			command.Stdout = printed
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			poll := time.NewTicker(5 * time.Millisecond)
			defer poll.Stop()
			for {
				if content, err := os.ReadFile(file); err == nil && string(content) == string(p) {
					break
				}
				select {
				case <-poll.C:
				case <-ctx.Done():
					t.Fatal("the point was not reached")
				}
			}
			if err := command.Process.Kill(); err != nil {
				t.Error(err)
			}
			if err := command.Wait(); err == nil {
				t.Error("the process ended by itself")
			}
			if out, err := os.ReadFile(printed.Name()); err != nil || string(out) != upTo(i) {
				t.Errorf("it passed %q, %v", out, err)
			}
		})
	}
}

func TestAPointThatCannotSayItWasReachedFailsLoudly(t *testing.T) {
	t.Parallel()
	err := pass(t.Context(), t, string(killpoint.BeforeSend), filepath.Join(t.TempDir(), "missing", "reached")).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("%v", err)
	}
}
