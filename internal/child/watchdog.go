package child

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watchdogScript waits for the end of its input, which comes when the process
// at the other end of the pipe has ended in whatever way, and then signals the
// process that it guards.
const watchdogScript = `while read -r _; do :; done; kill -s "$1" "$2" 2>/dev/null`

// watchdog guards one process, for systems without a parent-death signal.
type watchdog struct {
	shell *exec.Cmd
	alive *os.File // the end of the pipe that closes when this process ends
}

// startWatched starts the command and a small shell that signals it when this
// process ends.
func startWatched(command *exec.Cmd, orphaned syscall.Signal) (*watchdog, error) {
	input, alive, err := os.Pipe() // close-on-exec: the command does not hold the pipe open
	if err != nil {
		return nil, fmt.Errorf("make the watchdog's pipe: %w", err)
	}
	defer input.Close()
	if err := command.Start(); err != nil {
		alive.Close()
		return nil, err
	}
	shell := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog",
		strconv.Itoa(int(orphaned)), strconv.Itoa(command.Process.Pid))
	shell.Stdin = input
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: command.SysProcAttr.Credential}
	if err := shell.Start(); err != nil {
		alive.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &watchdog{shell: shell, alive: alive}, nil
}

// release ends the watchdog. It is called when the guarded process has ended,
// so that the watchdog cannot hit another one which got the same number.
func (w *watchdog) release() {
	_ = w.shell.Process.Kill()
	_ = w.shell.Wait()
	w.alive.Close()
}
