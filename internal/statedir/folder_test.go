package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAFolderIsHeldByOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "above", "state")
	first, err := Open(path, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, 0o700); !errors.Is(err, ErrInUse) {
		t.Fatalf("a second Open gave %v, want ErrInUse", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil {
		t.Fatalf("releasing again: %v", err)
	}
	second, err := Open(path, 0o700)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := second.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the removed folder is there: %v", err)
	}
}

func TestTemporaryFoldersOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	inUse := temporary(t, base, nil)
	abandoned, spared, young := temporary(t, base, nil), temporary(t, base, nil), temporary(t, base, nil)
	for _, folder := range []*Folder{abandoned, spared, young} {
		if err := folder.Release(); err != nil { // as the system does for a killed process
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(base, "writ-test-foreign") // has no lock of ours
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{inUse.Path(), abandoned.Path(), spared.Path(), foreign} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}

	temporary(t, base, func(path string) bool { return path == spared.Path() })

	if exists(abandoned.Path()) {
		t.Error("an old folder that nobody holds is still there")
	}
	for name, path := range map[string]string{
		"one in use": inUse.Path(), "one to spare": spared.Path(), "a young one": young.Path(), "a foreign one": foreign,
	} {
		if !exists(path) {
			t.Errorf("%s was removed", name)
		}
	}
}

func temporary(t *testing.T, base string, spare func(string) bool) *Folder {
	t.Helper()
	folder, err := Temporary(base, "writ-test-", spare)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Remove() })
	return folder
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
