package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"

	"writ/internal/pgtest"
)

func TestAnEphemeralStackAnswersEverywhereAndLeavesNothing(t *testing.T) {
	t.Parallel()
	// The variables of telemetry are Writ's: Temporal refuses this exporter.
	p := launch(t, []string{"OTEL_TRACES_EXPORTER=console"}, "--ephemeral", "--temporal-store", "memory", "--no-worker")

	if got := queryString(t, p.DatabaseURL, "SELECT to_regclass('intents')::text"); got != "intents" {
		t.Errorf("the outbox was not migrated: found %q", got)
	}
	if got := queryString(t, p.DatabaseURL, "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s", got)
	}
	startWorkflow(t, p, "in memory")
	for _, page := range []string{p.UIURL, p.ProviderURL + "/healthz"} {
		if body := get(t, page); body == "" {
			t.Errorf("%s answers with nothing", page)
		}
	}
	p.stop(t)
	if _, err := os.Stat(p.DataDir); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

func TestARestartGoesOnWhereTheLastRunStopped(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	first := launch(t, nil, onFreePorts("--data-dir", dir, "--no-worker")...)
	startWorkflow(t, first, "before the restart")
	first.stop(t)

	second := launch(t, nil, onFreePorts("--data-dir", dir, "--no-worker")...)
	if second.TemporalAddress == first.TemporalAddress {
		t.Log("by chance on the same port again")
	}
	if !hasWorkflow(t, second, "before the restart") {
		t.Error("the workflow is gone after a clean stop")
	}

	// Killed, it leaves no PostgreSQL, and the next run goes on as well.
	startWorkflow(t, second, "before the kill")
	children := second.children(t)
	if len(children) == 0 {
		t.Fatal("no PostgreSQL runs under writ-dev")
	}
	second.signal(t, syscall.SIGKILL)
	_ = second.wait(t)
	third := launch(t, nil, onFreePorts("--data-dir", dir, "--no-worker")...)
	if !hasWorkflow(t, third, "before the kill") {
		t.Error("the workflow is gone after a kill")
	}
	for _, child := range children {
		waitUntil(t, "the orphaned PostgreSQL ended", func() bool { return !alive(child) })
	}
	third.stop(t)
}

func TestASecondSignalLeavesAtOnceAndPostgreSQLStopsByItself(t *testing.T) {
	t.Parallel()
	p := launch(t, nil, "--ephemeral", "--temporal-store", "memory", "--no-worker", "--no-ui")
	children := p.children(t)
	p.signal(t, syscall.SIGTERM)
	p.stderr.await(t, "stopping…")
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended by now
	_ = p.wait(t)
	for _, child := range children {
		waitUntil(t, "PostgreSQL ended", func() bool { return !alive(child) })
	}
}

func TestAnInterruptedStartStopsCleanly(t *testing.T) {
	t.Parallel()
	command := program(nil, "--ephemeral", "--temporal-store", "memory", "--no-worker")
	stderr := newWatchedBuffer()
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.await(t, "migrating")
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("writ-dev ended with %v, want exit status 0:\n%s", err, stderr)
	}
}

func TestASecondStackOnTheSameFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	launch(t, nil, onFreePorts("--data-dir", dir, "--temporal-store", "memory", "--no-worker", "--no-ui")...)
	code, message := refusal(t, exitFailure, nil, onFreePorts("--data-dir", dir, "--no-worker")...)
	if code != "data_dir_in_use" || !strings.Contains(message, dir) {
		t.Errorf("got %s: %s", code, message)
	}
}

func TestAPortThatIsTakenIsRefusedWithTheFlagThatChoosesAnother(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, flag := range []string{"--postgres-port", "--temporal-port", "--ui-port", "--provider-port"} {
		code, message := refusal(t, exitFailure, nil,
			"--ephemeral", "--temporal-store", "memory", "--no-worker", flag, taken)
		if code != "port_in_use" || !strings.Contains(message, flag) || !strings.Contains(message, taken) {
			t.Errorf("%s: got %s: %s", flag, code, message)
		}
	}
}

func TestAGivenServerHoldsTemporalsDatabasesBesideTheOutbox(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	p := launch(t, []string{"DATABASE_URL=" + database}, "--ephemeral", "--no-worker", "--no-ui", "--no-provider")
	startWorkflow(t, p, "on a given server")
	if p.DatabaseURL != database {
		t.Errorf("the outbox is in %s, want %s", p.DatabaseURL, database)
	}
	name := queryString(t, database, "SELECT current_database()")
	for _, suffix := range []string{"_temporal", "_temporal_visibility"} {
		if got := queryString(t, database, "SELECT count(*)::text FROM pg_database WHERE datname = '"+name+suffix+"'"); got != "1" {
			t.Errorf("there are %s databases %s", got, name+suffix)
		}
	}
	p.stop(t)
	execute(t, database, `DROP DATABASE "`+name+`_temporal" WITH (FORCE)`)
	execute(t, database, `DROP DATABASE "`+name+`_temporal_visibility" WITH (FORCE)`)
}

func TestAGivenServerWhereNoDatabaseMayBeCreatedIsRefused(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	role := "r" + queryString(t, database, "SELECT current_database()")
	execute(t, database, `CREATE ROLE `+role+` LOGIN PASSWORD 'secret'; GRANT ALL ON SCHEMA public TO `+role)
	t.Cleanup(func() { execute(t, database, `DROP OWNED BY `+role+`; DROP ROLE `+role) })
	limited, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	limited.User = url.UserPassword(role, "secret")
	code, message := refusal(t, exitFailure, []string{"DATABASE_URL=" + limited.String()}, "--ephemeral", "--no-worker", "--no-ui")
	if code != "database_create_denied" || !strings.Contains(message, "_temporal") {
		t.Errorf("got %s: %s", code, message)
	}
}

func TestMistakesOnTheCommandLineHaveTheirOwnStatus(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{
		{"--no-such-flag"},
		{"no-such-command"},
		{"--temporal-store", "file"},
		{"--log-level", "loud"},
		{"--ephemeral", "--data-dir", "somewhere"},
		{"--ui-port", "70000"},
	} {
		if code, message := refusal(t, exitUsage, nil, arguments...); code != "usage" {
			t.Errorf("%v: got %s: %s", arguments, code, message)
		}
	}
}

// reachableDir returns the path of a folder to be made, where an unprivileged
// user may go: the test's own temporary folder is private to root.
func reachableDir(t *testing.T) string {
	t.Helper()
	above, err := os.MkdirTemp("/tmp", "writ-dev-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(above) })
	if err := os.Chmod(above, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(above, "state")
}

// startWorkflow starts a workflow that no worker will take.
func startWorkflow(t *testing.T, p *process, id string) {
	t.Helper()
	_, err := dial(t, p).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "none")
	if err != nil {
		t.Fatal(err)
	}
}

func hasWorkflow(t *testing.T, p *process, id string) bool {
	t.Helper()
	_, err := dial(t, p).DescribeWorkflowExecution(t.Context(), id, "")
	return err == nil
}

func dial(t *testing.T, p *process) client.Client {
	t.Helper()
	connection, err := client.Dial(client.Options{HostPort: p.TemporalAddress, Namespace: p.TemporalNamespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	return connection
}

func get(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s, %v", address, response.Status, err)
	}
	return string(body)
}
