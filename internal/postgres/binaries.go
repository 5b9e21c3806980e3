package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// oldestMajor is the oldest PostgreSQL that is used. Older ones are past their
// end of life and lack SQL that the outbox relies on.
const oldestMajor = 14

// installation is one installed PostgreSQL.
type installation struct {
	dir   string // holds postgres and initdb
	major int
}

func (i installation) postgres() string { return filepath.Join(i.dir, "postgres") }
func (i installation) initdb() string   { return filepath.Join(i.dir, "initdb") }

// installPatterns are the folders outside PATH into which packages put the
// server: Debian and Ubuntu, Homebrew on Apple silicon and on Intel,
// PostgreSQL's own RPMs, Fedora.
var installPatterns = []string{
	"/usr/lib/postgresql/*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/pgsql-*/bin",
	"/usr/bin",
}

// findInstallation returns the installation to use: the one on PATH, else the
// newest of the known folders. If major is not 0, only that major version will do.
func findInstallation(ctx context.Context, path string, patterns []string, major int) (installation, error) {
	found := installations(ctx, path, patterns)
	for _, candidate := range found {
		if major == 0 || candidate.major == major {
			return candidate, nil
		}
	}
	if len(found) > 0 {
		return installation{}, &Error{
			code: CodeVersionMismatch,
			message: fmt.Sprintf("the data folder was created by PostgreSQL %d, but only PostgreSQL %d is installed: "+
				"install PostgreSQL %d, or choose another data folder", major, found[0].major, major),
		}
	}
	return installation{}, &Error{
		code: CodeNotFound,
		message: fmt.Sprintf("no PostgreSQL server %d or newer is installed: "+
			"run 'apt-get install postgresql' (Debian, Ubuntu), 'dnf install postgresql-server' (Fedora) or "+
			"'brew install postgresql' (macOS), or set DATABASE_URL to a server that runs already", oldestMajor),
	}
}

// installations lists the usable installations, best first.
func installations(ctx context.Context, path string, patterns []string) []installation {
	var onPath, elsewhere []installation
	for _, dir := range filepath.SplitList(path) {
		if candidate, ok := probe(ctx, dir); ok {
			onPath = append(onPath, candidate)
		}
	}
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			continue // a malformed pattern matches nothing
		}
		for _, dir := range dirs {
			if candidate, ok := probe(ctx, dir); ok {
				elsewhere = append(elsewhere, candidate)
			}
		}
	}
	slices.SortStableFunc(elsewhere, func(a, b installation) int { return b.major - a.major })
	return append(onPath, elsewhere...)
}

// versionOutput is what "postgres --version" prints: "postgres (PostgreSQL) 15.14 (Debian 15.14-0)".
var versionOutput = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// probe looks for a usable installation in dir.
func probe(ctx context.Context, dir string) (installation, bool) {
	if !filepath.IsAbs(dir) {
		return installation{}, false // never run a server out of the working directory
	}
	candidate := installation{dir: dir}
	for _, program := range []string{candidate.postgres(), candidate.initdb()} {
		info, err := os.Stat(program)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return installation{}, false
		}
	}
	output, err := exec.CommandContext(ctx, candidate.postgres(), "--version").Output()
	if err != nil {
		return installation{}, false
	}
	match := versionOutput.FindSubmatch(output)
	if match == nil {
		return installation{}, false
	}
	candidate.major, err = strconv.Atoi(string(match[1]))
	return candidate, err == nil && candidate.major >= oldestMajor
}
