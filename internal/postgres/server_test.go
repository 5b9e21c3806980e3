package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/internal/loopback"
)

func TestARestartOnTheSameFolderFindsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	first := start(t, Options{DataDir: dir})
	if err := first.CreateDatabase(t.Context(), "writ"); err != nil {
		t.Fatal(err)
	}
	execute(t, first.URL("writ"), "CREATE TABLE ledger AS SELECT 42 AS amount")
	stop(t, first)

	second := start(t, Options{DataDir: dir})
	if amount := queryInt(t, second.URL("writ"), "SELECT amount FROM ledger"); amount != 42 {
		t.Fatalf("found %d, want 42", amount)
	}
}

func TestAKilledServerRecoversWhatWasCommitted(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	first := start(t, Options{DataDir: dir})
	execute(t, first.URL("postgres"), "CREATE TABLE ledger AS SELECT 42 AS amount")
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Stop(expired); !errors.Is(err, context.Canceled) {
		t.Fatalf("Stop with an ended context gave %v, want its error", err)
	}

	second := start(t, Options{DataDir: dir})
	if amount := queryInt(t, second.URL("postgres"), "SELECT amount FROM ledger"); amount != 42 {
		t.Fatalf("found %d, want 42", amount)
	}
}

func TestAServerThatWasStoppedAtOnceRecoversWhatWasCommitted(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	first := start(t, Options{DataDir: dir})
	execute(t, first.URL("postgres"), "CREATE TABLE ledger AS SELECT 42 AS amount")
	if err := first.StopAtOnce(t.Context()); err != nil {
		t.Fatal(err)
	}

	second := start(t, Options{DataDir: dir})
	if amount := queryInt(t, second.URL("postgres"), "SELECT amount FROM ledger"); amount != 42 {
		t.Fatalf("found %d, want 42", amount)
	}
	log, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	if err != nil || !bytes.Contains(log, []byte("was not properly shut down")) {
		t.Errorf("it was no crash (%v):\n%s", err, log)
	}
}

func TestAnEphemeralClusterLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Ephemeral: true})
	stop(t, server)
	if _, err := os.Stat(server.DataDir()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the folder is still there: %v", err)
	}
	if alive(server.process.PID()) {
		t.Fatal("the server still runs")
	}
	stop(t, server) // again, which does nothing
}

func TestTheServerIsDurableAndListensOnLoopbackOnlyAndWantsAPassword(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Ephemeral: true})
	for setting, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "",
		"server_encoding": "UTF8", "max_connections": "200",
	} {
		if got := queryString(t, server.URL("postgres"), "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	wrong := strings.Replace(server.URL("postgres"), server.password, "guess", 1)
	if _, err := pgx.Connect(t.Context(), wrong); err == nil {
		t.Error("a wrong password was accepted")
	}
	info, err := os.Stat(server.dir.passwordFile())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the password file has mode %o, want 600", info.Mode().Perm())
	}
}

func TestCreatingADatabaseThatExistsDoesNothing(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Ephemeral: true})
	for range 2 {
		if err := server.CreateDatabase(t.Context(), `odd "name"`); err != nil {
			t.Fatal(err)
		}
	}
	if got := queryString(t, server.URL(`odd "name"`), "SELECT current_database()"); got != `odd "name"` {
		t.Fatalf("connected to %s", got)
	}
}

func TestSeveralMayCreateOneDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Ephemeral: true})
	ready := make(chan struct{})
	var creators sync.WaitGroup
	for range 8 {
		connection := connect(t, server.URL("postgres"))
		creators.Go(func() {
			<-ready
			if err := CreateDatabase(t.Context(), connection, "shared"); err != nil {
				t.Error(err)
			}
		})
	}
	close(ready)
	creators.Wait()
}

func TestAPortThatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port

	_, err = Start(t.Context(), Options{Ephemeral: true, Port: taken})
	var busy *loopback.PortError
	if !errors.As(err, &busy) || busy.Port != taken {
		t.Fatalf("got %v, want a port_in_use error for port %d", err, taken)
	}
}

func TestTwoServersOnOneFolderAreRefused(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	start(t, Options{DataDir: dir})
	_, err := Start(t.Context(), Options{DataDir: dir})
	wantCode(t, err, CodeDataDirInUse)
}

func TestAClusterOfAVersionThatIsNotInstalledIsRefused(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	stop(t, start(t, Options{DataDir: dir}))
	if err := os.WriteFile(filepath.Join(pgdata(dir), "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{DataDir: dir})
	wantCode(t, err, CodeVersionMismatch)
	if !strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("the error does not name the version: %v", err)
	}
}

func TestAServerThatCannotStartShowsItsLog(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	stop(t, start(t, Options{DataDir: dir}))
	if err := os.Remove(filepath.Join(pgdata(dir), "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	_, err := Start(t.Context(), Options{DataDir: dir, Log: &log})
	wantCode(t, err, CodeStartFailed)
	for name, text := range map[string]string{"the error": err.Error(), "the log": log.String()} {
		if !strings.Contains(text, "database system") {
			t.Errorf("%s does not show why the server ended: %s", name, text)
		}
	}
}

func TestTheLogGoesOnAfterTheStart(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	said := make(chan string)
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			if strings.Contains(lines.Text(), "no_such_table") {
				said <- lines.Text()
				break
			}
		}
		_, _ = io.Copy(io.Discard, reader)
	}()
	server := start(t, Options{Ephemeral: true, Log: writer})
	if _, err := connect(t, server.URL("postgres")).Exec(t.Context(), "SELECT FROM no_such_table"); err == nil {
		t.Fatal("the table exists")
	}
	select {
	case <-said:
	case <-time.After(30 * time.Second):
		t.Fatal("the server's log did not reach the receiver")
	}
	content, err := os.ReadFile(server.dir.logFile())
	if err != nil || !strings.Contains(string(content), "no_such_table") {
		t.Errorf("the log's file lacks what was logged: %v", err)
	}
}

func TestOptionsMustNameOneFolder(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{}, {DataDir: t.TempDir(), Ephemeral: true}} {
		if server, err := Start(t.Context(), options); err == nil {
			stop(t, server)
			t.Errorf("%+v was accepted", options)
		}
	}
}

// reachableDir returns the path of a folder to be made, where an unprivileged
// user may go: the test's own temporary folder is private to root.
func reachableDir(t *testing.T) string {
	t.Helper()
	above, err := os.MkdirTemp("/tmp", "writ-postgres-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(above) })
	if err := os.Chmod(above, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(above, "cluster")
}

func start(t *testing.T, options Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	return server
}

func stop(t *testing.T, server *Server) {
	t.Helper()
	// Not the test's context, which has ended when its cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func execute(t *testing.T, address, statement string) {
	t.Helper()
	connection := connect(t, address)
	if _, err := connection.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func queryInt(t *testing.T, address, query string) (value int) {
	t.Helper()
	if err := connect(t, address).QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func queryString(t *testing.T, address, query string) (value string) {
	t.Helper()
	if err := connect(t, address).QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.PgConn().Conn().Close() })
	return connection
}

func wantCode(t *testing.T, err error, want Code) {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) || failure.Code() != string(want) {
		t.Fatalf("got error %v, want one with the code %s", err, want)
	}
}
