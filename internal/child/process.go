package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a child that was started.
type Process struct {
	command *exec.Cmd
	ended   chan struct{}
	err     error // read after ended
}

// Start starts the command. The child receives orphaned when this process
// ends. Fields of the command's SysProcAttr are kept, save those that
// tie the child to this process. The error is that of the command's Start.
func Start(command *exec.Cmd, orphaned syscall.Signal) (*Process, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	p := &Process{command: command, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux ties a child to the thread that started it, not to the
		// process: this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		release, err := startTied(command, orphaned)
		started <- err
		if err != nil {
			return
		}
		p.err = command.Wait()
		release()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when the child has ended and its output has been read.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err returns how the child ended, as the command's Wait does. It waits for the end.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Signal sends a signal. A child that has ended already is no error.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.command.Process.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Wait returns how the child ended. When ctx ends first, it sends the signal,
// waits for the end and returns the context's cause.
func (p *Process) Wait(ctx context.Context, signal os.Signal) error {
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		err := p.Signal(signal)
		<-p.ended
		return errors.Join(context.Cause(ctx), err)
	}
}

// Stop sends the signal and waits for the end. When ctx ends first, the child
// is killed and the context's cause returned. How the child ended is in Err.
func (p *Process) Stop(ctx context.Context, signal os.Signal) error {
	if err := p.Signal(signal); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		err := p.Signal(syscall.SIGKILL)
		<-p.ended
		return errors.Join(context.Cause(ctx), err)
	}
}
