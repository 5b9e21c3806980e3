package main

import (
	"strings"
	"testing"

	"writ/internal/pgtest"
	"writ/outbox"
)

func TestRecoveryRefusesFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"--every 0s", "--every -1s", "--start-within -1s"} {
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
