package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/internal/sandbox"
)

// closedPort returns an address of this machine on which nothing listens until open is called, which
// then passes every connection on to the target.
func closedPort(t testing.TB, target string) (address string, open func()) {
	t.Helper()
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = reserved.Addr().String()
	if err := reserved.Close(); err != nil {
		t.Fatal(err)
	}
	return address, func() {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				near, err := listener.Accept()
				if err != nil {
					return // closed
				}
				go pass(near, target)
			}
		}()
	}
}

// pass copies both ways until one side ends.
func pass(near net.Conn, target string) {
	defer near.Close()
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// behind returns the world's database at another address.
func (w *world) behind(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(w.database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = address
	return u.String()
}

// postgresAddress is where the world's PostgreSQL listens.
func (w *world) postgresAddress(t testing.TB) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(w.database)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)
}

// says waits until the process has written the text to standard error.
func (p *process) says(t testing.TB, text string) {
	t.Helper()
	eventually(t, p.name+" says "+text, func(context.Context) error {
		if !bytes.Contains(p.stderr.bytes(), []byte(text)) {
			return errors.New("it has not said so")
		}
		return nil
	})
}

func TestAProcessThatStartsBeforePostgreSQLAndTemporalWaitsForThemAndSaysWhichIsMissing(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"worker", "recover"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			postgres, openPostgres := closedPort(t, w.postgresAddress(t))
			temporal, openTemporal := closedPort(t, w.stack.TemporalAddress)
			p := start(t, command, program("writ"), append(w.environment(), "DATABASE_URL="+w.behind(t, postgres), "TEMPORAL_ADDRESS="+temporal), command, "-o", "json")
			p.says(t, "not ready: PostgreSQL and Temporal did not answer")
			openPostgres()
			p.says(t, "not ready: Temporal did not answer")
			if out := p.stdout.bytes(); len(out) > 0 {
				t.Errorf("before Temporal answers it says %s", out)
			}
			openTemporal()
			if _, err := p.readyLine(); err != nil {
				t.Fatal(err)
			}
			p.stop(t)
		})
	}
}

func TestAProcessThatWaitsForPostgreSQLLeavesAtOnceWhenItIsAskedTo(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"worker", "recover"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := start(t, command, program("writ"), append(w.environment(), "DATABASE_URL="+w.behind(t, "127.0.0.1:1")), command)
			p.says(t, "not ready: PostgreSQL did not answer")
			p.stop(t)
		})
	}
}

func TestRecoveryStartsATerminatedWorkflowOnceAndListsItBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// No worker sweeps; the one that hosts the tools only polls.
	worker := start(t, "worker", program("writ"), w.environment(), "worker", "-o", "json", "--recover-every", "0")
	if _, err := worker.readyLine(); err != nil {
		t.Fatal(err)
	}
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	accepted := w.ask(t, capture, requestKey, "--detach").accepted(t)
	w.provider.await(t, sandbox.StateHanging, 1)
	w.terminate(t)
	w.aheadBy(t, "10 minutes")

	var listed struct {
		Overdue []struct {
			ID string `json:"intent_id"`
		}
	}
	for range 2 { // listing takes nothing away
		w.recovery(t, &listed, "--dry-run")
		if len(listed.Overdue) != 1 || listed.Overdue[0].ID != accepted.ID.String() {
			t.Fatalf("overdue: %+v", listed)
		}
	}
	var done struct {
		Counts  struct{ Started, Failed int }
		Intents []struct {
			ID string `json:"intent_id"`
		}
	}
	w.recovery(t, &done, "--once")
	if done.Counts.Started != 1 || done.Counts.Failed != 0 || len(done.Intents) != 1 || done.Intents[0].ID != accepted.ID.String() {
		t.Fatalf("recovered: %+v", done)
	}
	w.recovery(t, &done, "--once")
	if done.Counts.Started != 0 {
		t.Errorf("once more: %+v", done)
	}
	w.awaitReceipt(t)
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)
}

// recovery runs writ recover to its end and reads its document.
func (w *world) recovery(t testing.TB, into any, arguments ...string) {
	t.Helper()
	w.writ(t, append([]string{"recover"}, arguments...)...).document(t, into)
}
