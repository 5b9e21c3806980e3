package integration

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"writ/internal/child"
	"writ/internal/sandbox"
)

// startAsProcessOne starts a program as process 1 of a process namespace of its own, as a container
// does. There the kernel drops every signal that the program has no handler for, but for SIGKILL.
func startAsProcessOne(t testing.TB, name, path string, environment []string, arguments ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(path, arguments...)}
	p.cmd.Env = append(inherited(), environment...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	var err error
	if p.child, err = child.Start(p.cmd, syscall.SIGKILL); errors.Is(err, syscall.EPERM) {
		t.Skip("this user may not make a process namespace")
	} else if err != nil {
		t.Fatal(err)
	}
	p.endsWith(t)
	return p
}

func TestAWorkerThatIsProcessOneOfAContainerStopsAsAnyOther(t *testing.T) {
	t.Parallel()
	for _, signals := range []int{1, 2} {
		t.Run(map[int]string{1: "one signal", 2: "two signals"}[signals], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
			worker := startAsProcessOne(t, "worker", program("writ"), w.environment(), "worker", "-o", "json", "--identity", "one", "--stop-grace", "10m")
			line, err := worker.readyLine()
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"ready":true,"identity":"one","pid":1,`; len(line) < len(want) || string(line[:len(want)]) != want {
				t.Fatalf("it is not process 1: %s", line)
			}
			caller := w.ask(t, capture, requestKey)
			w.provider.await(t, sandbox.StateHanging, 1)
			worker.signal(syscall.SIGTERM)
			worker.says(t, "stopping")
			want := 0
			if signals == 2 {
				want = endedBySIGTERM
				worker.signal(syscall.SIGTERM)
			} else if _, err := w.provider.Release(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if status := worker.status(t); status != want {
				t.Errorf("it ends with status %d, want %d", status, want)
			}
			w.startWorker(t)
			caller.outcome(t).completed(t)
			w.provider.effects(t, 1)
		})
	}
}
