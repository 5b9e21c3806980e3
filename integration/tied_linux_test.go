package integration

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// The programs under test end with the test binary, also when it is killed or panics over
// a timeout. Linux sends the signal when the thread that started a child ends, not the
// process: so one thread that never ends starts them all.
var tie = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// startTied starts the command so that it ends with this process.
func startTied(cmd *exec.Cmd) error {
	// SIGTERM, so that writ-dev can stop PostgreSQL.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	result := make(chan error)
	tie() <- func() { result <- cmd.Start() }
	return <-result
}
