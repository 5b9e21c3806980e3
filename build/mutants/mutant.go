package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one breakage, and the one test that must notice it.
type mutant struct {
	// name says what is broken.
	name string
	// file is the path of what is changed, below the repository's root; old occurs in it exactly
	// once, and broken takes its place.
	file, old, broken string
	// dir is the folder of the package, and test the name of the test in it that must fail.
	dir, test string
}

// apply returns the changed text of the file.
func (m mutant) apply(original string) (string, error) {
	if n := strings.Count(original, m.old); n != 1 {
		return "", fmt.Errorf("%s: the text to break occurs %d times in %s, want once:\n%s", m.name, n, m.file, m.old)
	}
	return strings.Replace(original, m.old, m.broken, 1), nil
}

// mutate reads the file below root and returns its changed text.
func (m mutant) mutate(root string) (string, error) {
	original, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	return m.apply(string(original))
}
