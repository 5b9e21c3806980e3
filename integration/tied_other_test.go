//go:build !linux

package integration

import "os/exec"

// startTied starts the command. Only Linux can tie it to the life of this process; here a
// killed test binary leaves its programs behind.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }
