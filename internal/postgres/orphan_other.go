//go:build unix && !linux

package postgres

import "os/exec"

// startTied starts the command under a watchdog, because this system has no
// signal for a parent's death.
func startTied(cmd *exec.Cmd) (release func(), err error) {
	watch, err := startWatched(cmd)
	if err != nil {
		return nil, err
	}
	return watch.release, nil
}
