package postgres

import (
	"os/exec"
	"syscall"
)

// startTied starts the command so that the kernel interrupts it when the
// calling thread ends, which is how PostgreSQL is asked for a fast shutdown.
// The release does nothing here.
func startTied(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGINT
	return func() {}, cmd.Start()
}
