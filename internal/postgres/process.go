package postgres

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// process is a running child.
type process struct {
	pid    int
	ended  chan struct{} // closed when the child has ended
	err    error         // how it ended; read after ended
	signal func(os.Signal) error
}

// command prepares a program of PostgreSQL. Its environment leaves out what
// would change the program's behaviour behind our back (PGDATA, PGPORT,
// locales), and its working folder is one that its user may enter.
func command(program, dir string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") && !strings.HasPrefix(variable, "LANG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	// Messages in English, since port and lock conflicts are recognized by them.
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	return cmd
}

// spawn starts the command as the account. The child ends when this process
// does, and has a process group of its own: a Ctrl-C on the terminal reaches
// its clients first, who then stop it.
func spawn(cmd *exec.Cmd, runAs account) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if runAs.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: runAs.uid, Gid: runAs.gid}
	}
	child := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux ties a child to the thread that started it, not to the
		// process: this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		release, err := startTied(cmd)
		if err != nil {
			started <- err
			return
		}
		child.pid, child.signal = cmd.Process.Pid, cmd.Process.Signal
		started <- nil
		child.err = cmd.Wait()
		release()
		close(child.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return child, nil
}

// wait returns how the child ended. When ctx ends first, it interrupts the
// child, waits for its end and returns the context's error.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		p.interrupt()
		<-p.ended
		return context.Cause(ctx)
	}
}

// interrupt asks for PostgreSQL's fast shutdown. A child that has ended
// already is no error.
func (p *process) interrupt() { _ = p.signal(syscall.SIGINT) }
