package arch

import (
	"go/ast"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")

// docs/guarantees.md is signed with tests: each promise names the ones that hold it.
func TestEveryGuaranteeNamesATestAndEveryNamedTestExists(t *testing.T) {
	t.Parallel()
	page, err := fs.ReadFile(root(), "docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	r, err := read(root())
	if err != nil {
		t.Fatal(err)
	}
	promises := 0
	for _, promise := range promisesOf(string(page)) {
		promises++
		if !testName.MatchString(promise) {
			t.Errorf("no test is named behind %s", promise)
		}
	}
	if promises < 30 {
		t.Errorf("only %d promises were read", promises)
	}
	existing := testsOf(r)
	for _, named := range testName.FindAllStringSubmatch(string(page), -1) {
		if !existing[named[1]] {
			t.Errorf("%s is named and does not exist", named[1])
		}
	}
}

// promisesOf returns the rows of the tables whose last column says which tests show them.
func promisesOf(page string) (rows []string) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case strings.HasSuffix(line, "| Shown by |"):
			inside = true
		case inside && !strings.HasPrefix(line, "| ---"):
			rows = append(rows, line)
		}
	}
	return rows
}

// testsOf returns the names of all test functions of the repository.
func testsOf(r repository) map[string]bool {
	names := map[string]bool{}
	for _, s := range r.sources {
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
