package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"writ/internal/loopback"
	"writ/internal/postgres"
)

// mortal is a world whose PostgreSQL is its own and can be taken back to an older backup. Temporal
// lives on and remembers everything. The port stays, so that the address does too.
type mortal struct {
	*world
	home string
	port int
	stop func()
}

func newMortal(t testing.TB) *mortal {
	t.Helper()
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{home: t.TempDir(), port: port}
	if err := os.Chmod(filepath.Dir(m.home), 0o711); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	own := m.run(t, "primary")
	m.world = worldOn(t, &stack{DatabaseURL: own, TemporalAddress: shared.TemporalAddress, TemporalNamespace: shared.TemporalNamespace})
	return m
}

// run starts PostgreSQL on one of its folders and returns its address.
func (m *mortal) run(t testing.TB, folder string) (address string) {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Options{DataDir: filepath.Join(m.home, folder), Port: m.port})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	m.stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(m.stop)
	return server.URL("postgres")
}

// backUp copies the data folder while PostgreSQL is stopped.
func (m *mortal) backUp(t testing.TB) {
	t.Helper()
	m.stop()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(m.home, "primary"), filepath.Join(m.home, "backup")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m.run(t, "primary")
}

// restore goes on with the backup, recovered as from an archive of which nothing is left: PostgreSQL
// then begins a new timeline. What was committed since the backup is lost.
func (m *mortal) restore(t testing.TB) {
	t.Helper()
	m.stop()
	data := filepath.Join(m.home, "backup", "data")
	settings, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settings.WriteString("restore_command = 'false'\n"); err != nil {
		t.Fatal(err)
	}
	if err := settings.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "recovery.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m.run(t, "backup")
}
