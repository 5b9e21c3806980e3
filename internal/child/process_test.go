package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable makes the test binary a parent that starts a child, prints
// the child's process id and waits to be killed.
const parentVariable = "WRIT_CHILD_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		m.Run()
		return
	}
	p, err := Start(sleeper(), syscall.SIGTERM)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	<-p.Ended()
}

// sleeper is a child that would go on for longer than any test.
func sleeper() *exec.Cmd { return exec.Command("sleep", "600") }

func TestAChildEndsWithItsKilledParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()

	deadline := time.After(30 * time.Second)
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		select {
		case <-deadline:
			t.Fatalf("the child %d still runs", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestWaitSignalsTheChildWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	p, err := Start(sleeper(), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx, syscall.SIGTERM); !errors.Is(err, context.Canceled) {
		t.Fatalf("Wait returned %v", err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("a signal to a child that has ended: %v", err)
	}
}

func TestStopKillsAChildThatDoesNotHeedTheSignal(t *testing.T) {
	t.Parallel()
	command := exec.Command("/bin/sh", "-c", `trap '' TERM; echo ready; while :; do sleep 600; done`)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(command, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx, syscall.SIGTERM); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Stop returned %v", err)
	}
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, want a kill", p.Err())
	}
}

func TestTheWatchdogSignalsItsChargeWhenTheParentsPipeCloses(t *testing.T) {
	t.Parallel()
	charge := exec.Command("/bin/sh", "-c", `trap 'exit 7' INT; echo ready; read -r _`)
	charge.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := charge.StdinPipe() // stays open, so that the charge waits
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	output, err := charge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	watch, err := startWatched(charge, syscall.SIGINT)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	watch.alive.Close() // as the system does for a killed parent
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Fatal(err)
	}
	err = charge.Wait()
	watch.release()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("the charge ended with %v, want the exit status of its handler", err)
	}
}
