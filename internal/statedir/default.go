package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Default returns the folder for Writ's state: /var/lib/writ for root, so that
// an unprivileged user's server can reach it; else
// ~/Library/Application Support/writ on macOS and $XDG_STATE_HOME/writ or
// ~/.local/state/writ elsewhere. The folder need not exist. The error says
// that there is no home folder.
func Default() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/writ", nil
	}
	// The XDG specification: a relative path is invalid and must be ignored.
	if state := os.Getenv("XDG_STATE_HOME"); runtime.GOOS != "darwin" && filepath.IsAbs(state) {
		return filepath.Join(state, "writ"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder to keep state in: set HOME, or name a folder")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "writ"), nil
	}
	return filepath.Join(home, ".local", "state", "writ"), nil
}
