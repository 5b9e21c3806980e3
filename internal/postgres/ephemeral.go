package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"writ/internal/statedir"
)

// makeEphemeral makes an empty folder that the account can reach.
func makeEphemeral(runAs account) (*statedir.Folder, error) {
	base, err := ephemeralBase(runAs)
	if err != nil {
		return nil, err
	}
	return statedir.Temporary(base, "writ-postgres-", serverAlive)
}

// ephemeralBase returns the first temporary folder that the account can reach:
// root's TMPDIR is often private to root.
func ephemeralBase(runAs account) (string, error) {
	var failures []error
	for _, base := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		err := runAs.checkReachable(base)
		if err == nil {
			return base, nil
		}
		failures = append(failures, err)
	}
	return "", errors.Join(failures...)
}

// serverAlive reports whether a server that lost its parent may still be
// shutting down in the data folder.
func serverAlive(dataDir string) bool {
	content, err := os.ReadFile(filepath.Join(dataDir, "data", "postmaster.pid"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 {
		return true
	}
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
