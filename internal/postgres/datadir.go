package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"writ/internal/statedir"
)

// superuser owns the cluster and everything in it.
const superuser = "writ"

// dataDir is the folder of one cluster, held against other processes.
type dataDir struct{ *statedir.Folder }

func (d dataDir) pgdata() string       { return pgdata(d.Path()) }
func (d dataDir) passwordFile() string { return filepath.Join(d.Path(), "password") }
func (d dataDir) logFile() string      { return filepath.Join(d.Path(), "postgres.log") }

func pgdata(dataDir string) string { return filepath.Join(dataDir, "data") }

// openDataDir opens the folder, which it creates when it is missing, for the
// account to work in.
func openDataDir(path string, runAs account) (dataDir, error) {
	if err := runAs.checkReachable(filepath.Dir(path)); err != nil {
		return dataDir{}, err
	}
	folder, err := statedir.Open(path, 0o700)
	if errors.Is(err, statedir.ErrInUse) {
		return dataDir{}, inUse(path, err)
	}
	if err != nil {
		return dataDir{}, fmt.Errorf("open the data folder: %w", err)
	}
	dir, err := give(folder, runAs)
	if err != nil {
		return dataDir{}, errors.Join(err, folder.Release())
	}
	return dir, nil
}

// give makes the account the owner of the folder.
func give(folder *statedir.Folder, runAs account) (dataDir, error) {
	if err := runAs.give(folder.Path()); err != nil {
		return dataDir{}, fmt.Errorf("give the data folder to user %s: %w", runAs.name, err)
	}
	// Folders above that were just made carry the process's umask.
	if err := runAs.checkReachable(filepath.Dir(folder.Path())); err != nil {
		return dataDir{}, err
	}
	return dataDir{folder}, nil
}

func inUse(path string, cause error) error {
	return &Error{
		code: CodeDataDirInUse,
		message: fmt.Sprintf("another process runs PostgreSQL on %s: stop it first, or choose another data folder",
			path),
		cause: cause,
	}
}

// major returns the major version that created the cluster, 0 if there is none.
func (d dataDir) major() (int, error) {
	content, err := os.ReadFile(filepath.Join(d.pgdata(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the cluster's version: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("read the cluster's version: %w", err)
	}
	return major, nil
}

// initialize creates the cluster when there is none and returns its password.
// An ephemeral one is not flushed, since it need not survive a crash of the machine.
func (d dataDir) initialize(ctx context.Context, binaries installation, runAs account, ephemeral bool) (string, error) {
	if _, err := os.Stat(d.pgdata()); err == nil {
		password, err := os.ReadFile(d.passwordFile())
		if err != nil {
			return "", fmt.Errorf("read the cluster's password: %w", err)
		}
		return strings.TrimSpace(string(password)), nil
	}

	password := rand.Text()
	if err := d.writePassword(password, runAs); err != nil {
		return "", fmt.Errorf("store the cluster's password: %w", err)
	}
	// The cluster gets its name only when it is complete, so that an initdb
	// that was killed leaves nothing that looks like one.
	unfinished := d.pgdata() + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return "", fmt.Errorf("remove what an earlier initdb left: %w", err)
	}
	var output bytes.Buffer
	arguments := []string{
		"--pgdata=" + unfinished,
		"--username=" + superuser,
		"--pwfile=" + d.passwordFile(),
		"--auth=scram-sha-256",
		"--encoding=UTF8",
		"--locale=C", // the same order of strings on every machine
	}
	if ephemeral {
		arguments = append(arguments, "--no-sync")
	}
	initdb := command(binaries.initdb(), d.Path(), arguments...)
	initdb.Stdout, initdb.Stderr = &output, &output
	running, err := spawn(initdb, runAs)
	if err != nil {
		return "", fmt.Errorf("start initdb: %w", err)
	}
	if err := running.Wait(ctx, shutdown); err != nil {
		return "", &Error{
			code:    CodeStartFailed,
			message: fmt.Sprintf("initdb could not create a PostgreSQL cluster in %s:\n%s", d.Path(), lastLines(output.Bytes())),
			cause:   err,
		}
	}
	if err := os.Rename(unfinished, d.pgdata()); err != nil {
		return "", fmt.Errorf("put the new cluster in place: %w", err)
	}
	return password, nil
}

func (d dataDir) writePassword(password string, runAs account) error {
	file, err := os.OpenFile(d.passwordFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(password + "\n"); err != nil {
		return err
	}
	if err := runAs.give(d.passwordFile()); err != nil { // initdb reads it
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}
