package chaos

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests.
const patience = time.Minute

// sleeper says that it is ready and then does nothing.
func sleeper() *exec.Cmd { return exec.Command("sh", "-c", `echo '{"ready":true}'; exec sleep 600`) }

func startKeeper(t *testing.T, command func() *exec.Cmd) *keeper {
	t.Helper()
	k, err := keep(t.Context(), t.TempDir(), "kept", command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := k.close(ctx); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := k.awaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return k
}

// awaitAnother returns the process that came after the one with that id.
func awaitAnother(t *testing.T, k *keeper, pid int) int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); wait(t.Context(), 10*time.Millisecond) {
		if now := k.current().PID(); now != pid {
			return now
		}
	}
	t.Fatal("no other process was started")
	return 0
}

func TestAProcessThatEndsIsReplacedAndTheOldOneIsGone(t *testing.T) {
	t.Parallel()
	k := startKeeper(t, sleeper)
	first := k.current()
	emptied := false
	err := k.replace(t.Context(), syscall.SIGKILL, func(context.Context) error {
		select {
		case <-first.Ended():
			emptied = true
		default:
		}
		return nil
	}, func() {})
	if err != nil || !emptied {
		t.Errorf("nothing was done between the two, or the first one still ran: %v", err)
	}
	second := awaitAnother(t, k, first.PID())
	if err := k.current().Signal(syscall.SIGKILL); err != nil { // by somebody else
		t.Fatal(err)
	}
	awaitAnother(t, k, second)
}

func TestAProcessThatCannotStartIsTriedAgain(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]string{
		`exit 1`: "ended before it was ready",
		`echo '{"error":{"code":"temporal_unavailable","message":"it is away"}}'; exec sleep 600`: "temporal_unavailable: it is away",
	} {
		open := filepath.Join(t.TempDir(), "open")
		k := startKeeper(t, func() *exec.Cmd {
			return exec.Command("sh", "-c", `[ -e "$0" ] || { touch "$0"; `+failure+`; }; echo '{}'; exec sleep 600`, open)
		})
		log, err := os.ReadFile(k.log.Name())
		if err != nil || !strings.Contains(string(log), want) {
			t.Errorf("the log does not say %q: %q, %v", want, log, err)
		}
	}
}

func TestAFrozenProcessGoesOn(t *testing.T) {
	t.Parallel()
	k := startKeeper(t, sleeper)
	before := k.current()
	if err := k.freeze(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	// It takes a signal that a stopped process would only take later.
	if err := before.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-before.Ended():
	case <-time.After(patience):
		t.Error("the process is still frozen")
	}
}
