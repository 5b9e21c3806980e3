package integration

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ"
	"writ/intent"
	"writ/internal/loopback"
	"writ/internal/sandbox"
)

// pooledWorld is a world whose programs reach PostgreSQL through a PgBouncer in transaction mode,
// as a role that has the search path, which PgBouncer does not pass on.
func pooledWorld(t *testing.T, urlSettings string) *world {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer") // where Debian has it, and ordinary users' PATH not
	}
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("pgbouncer is not installed: apt-get install pgbouncer")
	}
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	server, err := url.Parse(w.stack.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(server.Path, "/")
	query(t, w.stack.DatabaseURL, fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD '%[1]s' IN ROLE %[2]s; ALTER ROLE %[1]s SET search_path = %[1]s`,
		w.name, server.User.Username()))
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]s user=%[4]s password=%[4]s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[5]d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`, database, server.Hostname(), server.Port(), w.name, port)
	arguments := []string{"-q"}
	if os.Geteuid() == 0 {
		arguments = append(arguments, "-u", "nobody") // it refuses to run as root
	}
	file := filepath.Join(stateFolder(t), "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, "pgbouncer", path, nil, append(arguments, file)...)
	pooled := url.URL{Scheme: "postgres", User: url.User(w.name), Host: loopback.Address(port), Path: server.Path, RawQuery: "sslmode=disable" + urlSettings}
	eventually(t, "pgbouncer answers", func(ctx context.Context) error {
		connection, err := pgx.Connect(ctx, pooled.String())
		if err != nil {
			return err
		}
		return connection.Close(ctx)
	})
	w.database = pooled.String()
	return w
}

// The pool is much smaller than the crowd, and lends each of its connections to everybody in turn.
func TestEverythingButMigrationsWorksThroughPgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	w := pooledWorld(t, "&default_query_exec_mode=cache_describe")
	lost := 10
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultDropAfterAct, Every: 4, Times: &lost})
	w.startWorkerWith(t, []string{"--recover-every", "500ms", "--breaker-failures", "0"})
	doomed := w.startWorkerWith(t, []string{"--recover-every", "500ms", "--breaker-failures", "0"})
	client := w.dial(t)
	hold, _, err := client.SetHold(t.Context(), writ.HoldRequest{Scope: writ.HoldTool, Name: notify.tool}, operator)
	if err != nil {
		t.Fatal(err)
	}
	const each = 15
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all sync.WaitGroup
	for _, k := range openKinds {
		for n := range each {
			r, _ := k.request(w.name, n)
			all.Go(func() {
				got, err := client.Execute(ctx, r)
				if k.class == intent.Opaque && intent.CodeOf(err) == intent.CodeInDoubt {
					return // its answer was lost
				}
				if err != nil || got.Receipt == nil {
					t.Errorf("%s: %v, receipt %s", r.RequestKey, err, got.Receipt)
				}
			})
		}
	}
	w.provider.await(t, sandbox.StateAnswered, each)
	doomed.kill()
	if _, err := client.LiftHold(t.Context(), hold.ID, operator); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	performed := map[string]int{}
	for _, e := range w.provider.effects(t, 3*each) {
		performed[string(e.Body)]++
	}
	if len(performed) != 3*each {
		t.Errorf("there were %d different effects, want %d: %v", len(performed), 3*each, performed)
	}
	var documents int
	if query(t, w.database, `SELECT count(*) FROM documents`, &documents); documents != each {
		t.Errorf("%d documents are stored, want %d", documents, each)
	}
}

func TestAWorkerDoesNotStartBehindAPgBouncerThatItCannotWorkThroughAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ settings, mend string }{
		"it loses prepared statements": {"", "default_query_exec_mode=cache_describe"},
		"it refuses the search path":   {"&default_query_exec_mode=cache_describe&search_path=public", "ALTER ROLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pooledWorld(t, "")
			w.database += c.settings
			p := w.writ(t, "worker")
			if status := p.status(t); status != 2 || !strings.Contains(p.transcript(), string(intent.CodeInvalidConfig)) || !strings.Contains(p.transcript(), c.mend) {
				t.Errorf("it ends with status %d, and says\n%s", status, p.transcript())
			}
		})
	}
}
