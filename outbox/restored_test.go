package outbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/intent"
	"writ/internal/postgres"
	"writ/outbox"
)

// cluster starts PostgreSQL on a data folder. stop is called by the test, or at its end.
func cluster(t *testing.T, folder string) (b bundle, stop func()) {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Options{DataDir: folder})
	if err != nil {
		t.Fatal(err)
	}
	b = bundleOf(t, server.URL("postgres"))
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		b.pool.Close()
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return b, stop
}

// migratedCluster starts PostgreSQL on a new data folder, migrated, and names a folder beside it for
// a copy.
func migratedCluster(t *testing.T) (b bundle, stop func(), folder, backup string) {
	t.Helper()
	home := t.TempDir()
	if err := os.Chmod(filepath.Dir(home), 0o711); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	folder, backup = filepath.Join(home, "primary"), filepath.Join(home, "backup")
	b, stop = cluster(t, folder)
	if err := outbox.Migrate(t.Context(), b.url); err != nil {
		t.Fatal(err)
	}
	return b, stop, folder, backup
}

// backUp copies the data folder of a cluster that does not run.
func backUp(t *testing.T, folder, backup string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", folder, backup).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// restoreTo makes a backup recover as from an archive, of which nothing is left: PostgreSQL then
// begins a new timeline.
func restoreTo(t *testing.T, backup string) { recoverAs(t, backup, "recovery.signal") }

// recoverAs makes a backup recover as the signal file says.
func recoverAs(t *testing.T, backup, signal string) {
	t.Helper()
	data := filepath.Join(backup, "data")
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
	if err := os.WriteFile(filepath.Join(data, signal), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The claims are made, and the backup that is restored is older than they are.
func TestABackupThatIsRestoredGrantsNothingBeforeAnOperatorHasSaidWhatMayBeLost(t *testing.T) {
	t.Parallel()
	b, stop, folder, backup := migratedCluster(t)
	keyedRow, opaqueRow := b.insert(t, propose("keyed", keyed())), b.insert(t, propose("opaque", opaque()))
	if err := b.enqueue(t, enqueued(`{}`), true); err != nil {
		t.Fatal(err)
	}
	stop()
	backUp(t, folder, backup)
	b, stop = cluster(t, folder)
	b.granted(t, keyedRow)
	b.granted(t, opaqueRow)
	b.takeOne(t)
	stop()

	restoreTo(t, backup)
	b, _ = cluster(t, backup)
	await(t, "the backup is recovered", func() bool { return !query[bool](t, b, `SELECT pg_is_in_recovery()`) })
	now := b.timelines(t)
	if !now.Restored() || now.Current.Number != now.Trusted.Number+1 || now.Current.System != now.Trusted.System {
		t.Errorf("after the restore: %+v", now)
	}
	for _, row := range []outbox.Row{keyedRow, opaqueRow} {
		if c := b.claim(t, b.load(t, row.ID)); c.Granted || c.Row.Next().Reason != intent.ReasonRestored {
			t.Errorf("claimed again in ignorance: granted %v, %+v", c.Granted, c.Row.Next())
		}
	}
	if due := b.take(t, outbox.Take{Limit: 10}); len(due) != 0 {
		t.Errorf("dispatched again in ignorance: %+v", due)
	}

	done := b.afterRestore(t, outbox.Restore{})

	if done.Marked != 2 || done.Parked != 1 || b.timelines(t).Restored() {
		t.Errorf("%+v", done)
	}
	if step := b.load(t, keyedRow.ID).Next(); step.Kind != intent.Invoke || step.Reason != intent.ReasonResend {
		t.Errorf("the keyed one goes on with %+v", step)
	}
	if step := b.load(t, opaqueRow.ID).Next(); step.Kind != intent.Wait || step.Reason != intent.ReasonLeaseRunning {
		t.Errorf("the opaque one goes on with %+v", step)
	}
	if due := b.take(t, outbox.Take{Limit: 10}); len(due) != 0 {
		t.Errorf("dispatched before somebody has looked: %+v", due)
	}
	if code := query[string](t, b, `SELECT error_code FROM enqueued WHERE parked_at IS NOT NULL`); code != string(intent.CodeOutboxRestored) {
		t.Errorf("parked for %q", code)
	}
}

// Whoever is too early would else be told that the outbox is trusted, and promote the standby then.
func TestAStandbyIsNotTrustedBeforeItIsPromoted(t *testing.T) {
	t.Parallel()
	_, stop, folder, copied := migratedCluster(t)
	stop()
	backUp(t, folder, copied)
	recoverAs(t, copied, "standby.signal")
	b, _ := cluster(t, copied)
	for _, what := range []outbox.Restore{{}, {NothingLost: true}, {SameTimeline: true}} {
		done, err := b.AfterRestore(t.Context(), what, ada)
		if intent.CodeOf(err) != intent.CodeDatabaseUnavailable || !strings.Contains(err.Error(), "promote it") || done.Trusted {
			t.Errorf("%+v: %+v, %v", what, done, err)
		}
	}
	if now := b.timelines(t); now.Current.Number != 0 || now.Restored() {
		t.Errorf("%+v", now)
	}
}
