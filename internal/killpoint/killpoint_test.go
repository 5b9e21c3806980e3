package killpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/killpoint"
)

// In a child process, TestMain lets two intents pass every point, each in a goroutine of
// its own, and says so.
const passing = "WRIT_TEST_PASSING"

var labels = []string{"first", "second"}

func TestMain(m *testing.M) {
	if os.Getenv(passing) == "" {
		os.Exit(m.Run())
	}
	var passed sync.WaitGroup
	for _, label := range labels {
		passed.Go(func() {
			for _, p := range killpoint.Points {
				killpoint.Reach(p, label)
				fmt.Println(p)
			}
		})
	}
	end := time.AfterFunc(time.Minute, func() { os.Exit(3) }) // also keeps the blocked process from being a deadlock
	passed.Wait()
	end.Stop()
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

// upTo is what both goroutines print of the first n points, sorted.
func upTo(n int) string {
	var printed []string
	for _, p := range killpoint.Points[:n] {
		printed = append(printed, string(p), string(p))
	}
	return sorted(strings.Join(printed, "\n"))
}

func sorted(lines string) string {
	list := strings.Fields(lines)
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestAPointDoesNothingUnlessItIsArmed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "reached")
	for _, point := range []string{"", "no_such_point"} {
		out, err := pass(t.Context(), t, point, file).Output()
		if err != nil || sorted(string(out)) != upTo(len(killpoint.Points)) {
			t.Errorf("armed with %q: %q, %v", point, out, err)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

func TestEveryIntentThatReachesAnArmedPointSaysSoAndGoesNoFurther(t *testing.T) {
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
				if content, err := os.ReadFile(file); err == nil && sorted(string(content)) == strings.Join(labels, " ") {
					break
				}
				select {
				case <-poll.C:
				case <-ctx.Done():
					t.Fatal("the point was not reached by both")
				}
			}
			if err := command.Process.Kill(); err != nil {
				t.Error(err)
			}
			if err := command.Wait(); err == nil {
				t.Error("the process ended by itself")
			}
			if out, err := os.ReadFile(printed.Name()); err != nil || sorted(string(out)) != upTo(i) {
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
