package main

import (
	"strings"
	"testing"

	"writ/internal/pgtest"
	"writ/outbox"
)

func TestRecoveryRefusesFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--once --dry-run", "--after-restore --dispatch-every 1s", "--after-restore --dispatch-at-once 5",
		"--every 0s", "--every -1s", "--start-within -1s",
		"--after-restore --once", "--after-restore --dry-run", "--after-restore --every 1s", "--after-restore --before yesterday",
		"--after-restore --start-within 1s", "--after-restore --dispatch-every 2s", "--after-restore --dispatch-at-once 7",
		"--before 2026-03-01T12:00:00Z", "--nothing-lost", "--same-timeline --once", "--note why", "--principal ada",
		"--after-restore --nothing-lost --same-timeline", "--after-restore --nothing-lost --before 2026-03-01T12:00:00Z",
	} {
		r := command(t, append([]string{"recover", "--database-url", nowhere}, strings.Fields(line)...)...)
		if r.status != 2 || !strings.Contains(r.stderr, "usage") {
			t.Errorf("%s: status %d, %s", line, r.status, r.stderr)
		}
	}
}

func TestRecoveryThatIsToEndSaysAtOnceWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, url, code string }{
		{"--once", nowhere, "database_unavailable"},
		{"--dry-run", nowhere, "database_unavailable"},
		{"--start-within 1ms", nowhere, "database_unavailable"},
		{"--once", url, "temporal_unavailable"},
		{"--start-within 1ms", url, "temporal_unavailable"},
		{"--once", pgtest.Schema(t), "migration_required"},
		{"", pgtest.Schema(t), "migration_required"}, // waiting does not mend it
	} {
		var f failure
		r := command(t, append([]string{"recover", "-o", "json", "--temporal-address", "127.0.0.1:1", "--database-url", c.url}, strings.Fields(c.line)...)...)
		r.document(t, &f)
		if r.status != 1 || f.Error.Code != c.code {
			t.Errorf("recover %s: status %d, %s, want %s", c.line, r.status, r.stdout, c.code)
		}
	}
}

func TestADryRunNeedsNoTemporalAndSaysThatNothingIsOverdue(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	r := command(t, "recover", "--dry-run", "--temporal-address", "127.0.0.1:1", "--database-url", url)
	if r.status != 0 || r.stdout != "nothing is overdue\n" {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
}

func TestAfterARestoreTheOutboxIsTrustedOnceAndWithoutTemporal(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	if _, err := pool.Exec(t.Context(), `
		INSERT INTO timelines (number, system_identifier, timeline, principal, note, decided_at, marked)
		SELECT 2, system_identifier, timeline + 1, 'nobody', '', writ_now(), 0 FROM timelines`); err != nil {
		t.Fatal(err)
	}
	line := []string{"recover", "--after-restore", "--principal", "ada", "--note", "the disk was lost", "--temporal-address", "127.0.0.1:1", "--database-url", url}
	r := command(t, line...)
	if r.status != 0 || !strings.Contains(r.stdout, "marked as possibly sent: 0\n") || !strings.Contains(r.stdout, "what waited goes on") {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	var who string
	if err := pool.QueryRow(t.Context(), `SELECT principal || ': ' || note FROM timelines WHERE number = 3`).Scan(&who); err != nil || who != "ada: the disk was lost" {
		t.Errorf("%q, %v", who, err)
	}
	if r = command(t, line...); r.status != 0 || !strings.HasPrefix(r.stdout, "nothing to do") {
		t.Errorf("again: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
}
