package child

import (
	"os/exec"
	"syscall"
)

// startTied starts the command so that the kernel signals it when the calling
// thread ends. The release has nothing to do.
func startTied(command *exec.Cmd, orphaned syscall.Signal) (release func(), err error) {
	command.SysProcAttr.Pdeathsig = orphaned
	return func() {}, command.Start()
}
