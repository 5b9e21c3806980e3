//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// startTied starts the command under a watchdog, because this system has no
// signal for a parent's death.
func startTied(command *exec.Cmd, orphaned syscall.Signal) (release func(), err error) {
	watch, err := startWatched(command, orphaned)
	if err != nil {
		return nil, err
	}
	return watch.release, nil
}
