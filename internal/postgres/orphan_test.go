package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// parentVariable makes the test binary a program that starts a server on the
// folder it names, reports it, and waits to be killed.
const parentVariable = "WRIT_POSTGRES_TEST_PARENT"

// report is what that program prints.
type report struct {
	Server int    // the server's process id
	User   uint32 // the user that the server runs as
	URL    string
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentVariable); dir != "" {
		if err := runParent(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

func runParent(dir string) error {
	server, err := Start(context.Background(), Options{DataDir: dir})
	if err != nil {
		return err
	}
	user, err := chooseAccount(pgdata(dir))
	if err != nil {
		return err
	}
	err = json.NewEncoder(os.Stdout).Encode(report{server.process.PID(), user.uid, server.URL("postgres")})
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the test does
	return server.Stop(context.Background())
}

func TestAKilledParentLeavesNoServerAndItsFolderCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	parent, running := startParent(t, os.Args[0], dir, nil)
	execute(t, running.URL, "CREATE TABLE ledger AS SELECT 42 AS amount")
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()

	// At once, while the orphan may still be writing its last checkpoint.
	second := start(t, Options{DataDir: dir})
	if amount := queryInt(t, second.URL("postgres"), "SELECT amount FROM ledger"); amount != 42 {
		t.Fatalf("found %d, want 42", amount)
	}
	waitUntilGone(t, running.Server)
}

func TestRootRunsTheServerAsAnUnprivilegedUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: the server runs as this user, which the other tests show")
		return
	}
	_, running := startParent(t, os.Args[0], reachableDir(t), nil)
	info, err := os.Stat("/proc/" + strconv.Itoa(running.Server))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner == 0 || owner != running.User {
		t.Fatalf("the server runs as user %d, want %d", owner, running.User)
	}
}

func TestAnOrdinaryUserRunsTheServerAsHimself(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: the other tests show it")
		return
	}
	const nobody = 65534
	home := filepath.Dir(reachableDir(t))
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	// The test binary lies in a folder of root's.
	program := filepath.Join(home, "parent")
	copyProgram(t, os.Args[0], program)

	_, running := startParent(t, program, filepath.Join(home, "cluster"), &syscall.Credential{Uid: nobody, Gid: nobody})
	if running.User != nobody {
		t.Fatalf("the server runs as user %d, want %d", running.User, nobody)
	}
	if got := queryInt(t, running.URL, "SELECT 42"); got != 42 {
		t.Fatalf("got %d, want 42", got)
	}
}

func TestRootIsToldWhenTheServersUserCannotReachTheFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: there is no other user")
		return
	}
	private := filepath.Dir(reachableDir(t))
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{DataDir: filepath.Join(private, "deep", "cluster")})
	wantCode(t, err, CodeDataDirUnreachable)
}

func startParent(t *testing.T, program, dir string, user *syscall.Credential) (*exec.Cmd, report) {
	t.Helper()
	parent := exec.Command(program)
	parent.Env = append(os.Environ(), parentVariable+"="+dir)
	parent.Dir = filepath.Dir(dir)
	parent.Stderr = t.Output()
	parent.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	input, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var running report
	if err := json.NewDecoder(output).Decode(&running); err != nil {
		t.Fatalf("the parent did not report a server: %v", err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = parent.Wait() // a second Wait, after a kill, fails and is as good
		waitUntilGone(t, running.Server)
	})
	return parent, running
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeProgram(t, to, content)
}

// writeProgram writes a file that is about to be executed. No child may be
// forked meanwhile: it would hold the file open for writing until its own
// exec, and executing the file would fail with ETXTBSY.
func writeProgram(t *testing.T, path string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func waitUntilGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for alive(pid) {
		select {
		case <-deadline:
			t.Fatalf("process %d still runs", pid)
		case <-time.After(pollInterval):
		}
	}
}
