package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrInUse says that another process holds the folder.
var ErrInUse = errors.New("the folder is in use by another process")

const (
	lockName = "lock"
	// sweepAge spares temporary folders whose owner may not have locked them yet.
	sweepAge = time.Minute
)

// Folder is a folder that this process holds.
type Folder struct {
	path string
	lock *os.File
}

// Open creates the folder with the given permissions when it is missing, and
// holds it. Folders above it are made with mode 0755. The error wraps
// [ErrInUse] while another process holds it.
func Open(path string, permissions fs.FileMode) (*Folder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the folder above: %w", err)
	}
	err := os.Mkdir(path, permissions)
	switch {
	case err == nil:
		// The process's umask may have taken away what was asked for.
		if err := os.Chmod(path, permissions); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("create the folder: %w", err)
	}
	lock, err := takeLock(path, os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", path, err)
	}
	return &Folder{path: path, lock: lock}, nil
}

// Temporary makes a new folder in base, readable by this user only, whose name
// begins with prefix, and holds it. Before that it removes earlier ones that
// no process holds, unless spare, which may be nil, asks to leave them.
func Temporary(base, prefix string, spare func(path string) bool) (*Folder, error) {
	sweep(base, prefix, time.Now().Add(-sweepAge), spare)
	path, err := os.MkdirTemp(base, prefix)
	if err != nil {
		return nil, err
	}
	return Open(path, 0o700)
}

// Path returns the folder's path.
func (f *Folder) Path() string { return f.path }

// Release gives the folder up and leaves what is in it. Releasing again does nothing.
func (f *Folder) Release() error {
	if err := f.lock.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Remove deletes the folder with what is in it, and gives it up.
func (f *Folder) Remove() error {
	return errors.Join(os.RemoveAll(f.path), f.Release())
}

// takeLock locks the folder until the file is closed or the process ends.
// Children don't inherit the lock: Go opens files close-on-exec. A file that
// is a link or a pipe was not put there by us.
func takeLock(folder string, flags int) (*os.File, error) {
	flags |= os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(filepath.Join(folder, lockName), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, &fs.PathError{Op: "flock", Path: file.Name(), Err: err}
	}
	return file, nil
}

// sweep removes temporary folders of this user whose process was killed. It is
// a service to the disk: what it cannot remove, it leaves.
func sweep(base, prefix string, olderThan time.Time, spare func(path string) bool) {
	entries, err := filepath.Glob(filepath.Join(base, prefix+"*"))
	if err != nil {
		return
	}
	for _, path := range entries {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.ModTime().After(olderThan) {
			continue
		}
		lock, err := takeLock(path, 0)
		if err != nil {
			continue // in use, or not one of ours
		}
		if ownedByUs(lock) && (spare == nil || !spare(path)) {
			_ = os.RemoveAll(path)
		}
		lock.Close()
	}
}

func ownedByUs(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}
