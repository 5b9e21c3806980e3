package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheInstallationOnThePathWinsAndElsewhereTheNewest(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, version := range []string{"9.6", "14.9", "15.4", "17.0"} {
		install(t, filepath.Join(root, "opt", version), version)
	}
	onPath := filepath.Join(root, "path")
	install(t, onPath, "15.1")
	clientOnly := filepath.Join(root, "client")
	if err := os.MkdirAll(clientOnly, 0o755); err != nil {
		t.Fatal(err)
	}
	opt := func(version string) string { return filepath.Join(root, "opt", version) }

	for _, c := range []struct {
		name  string
		path  string
		major int
		want  string
	}{
		{"on the path", onPath, 0, onPath},
		{"nothing on the path", "", 0, opt("17.0")},
		{"only a client on the path", clientOnly, 0, opt("17.0")},
		{"the cluster's version is elsewhere", onPath, 14, opt("14.9")},
		{"the cluster's version is on the path", onPath, 15, onPath},
		{"a relative path is not trusted", ".", 15, opt("15.4")},
	} {
		found, err := findInstallation(t.Context(), c.path, []string{filepath.Join(root, "opt", "*")}, c.major)
		if err != nil || found.dir != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, found.dir, err, c.want)
		}
	}
}

func TestWithoutAServerTheErrorSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	old := filepath.Join(t.TempDir(), "old")
	install(t, old, "12.3")
	_, err := findInstallation(t.Context(), old, nil, 0)
	wantCode(t, err, CodeNotFound)
	for _, advice := range []string{"apt-get install", "dnf install", "brew install", "DATABASE_URL"} {
		if !strings.Contains(err.Error(), advice) {
			t.Errorf("the error does not mention %q: %v", advice, err)
		}
	}
}

// install puts programs into dir that say they are PostgreSQL.
func install(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"postgres", "initdb"} {
		script := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %s'\n", program, version)
		writeProgram(t, filepath.Join(dir, program), []byte(script))
	}
}
