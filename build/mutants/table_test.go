package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func TestEveryMutantChangesWhatIsThereAndNamesATestThatIs(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	form := regexp.MustCompile(`^[a-z0-9_]+$`)
	for _, m := range mutants {
		if !form.MatchString(m.name) || names[m.name] {
			t.Errorf("%q is no name, or one that another mutant has", m.name)
		}
		names[m.name] = true
		broken, err := m.mutate(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.HasSuffix(m.file, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, broken, 0); err != nil {
				t.Errorf("%s is not Go any more: %v", m.name, err)
			}
		}
		if !testsOf(t, m.dir)[m.test] {
			t.Errorf("%s: %s has no test %s", m.name, m.dir, m.test)
		}
	}
	if len(mutants) < 15 {
		t.Errorf("there are %d mutants", len(mutants))
	}
}

// testsOf lists the test functions of a package.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

func TestATextThatIsNotThereExactlyOnceIsNotReplaced(t *testing.T) {
	t.Parallel()
	m := mutant{name: "m", file: "f.go", old: "a", broken: "b"}
	for _, text := range []string{"", "xyz", "a and a"} {
		if broken, err := m.apply(text); err == nil {
			t.Errorf("%q became %q", text, broken)
		}
	}
	if broken, err := m.apply("xay"); err != nil || broken != "xby" {
		t.Errorf("%q, %v", broken, err)
	}
}

func TestOnlyATestThatSaysWhatIsWrongHasFailed(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]end{
		"":                                 notRun,
		"PASS\n":                           notRun,
		"pgtest: PostgreSQL did not start": notRun,
		"=== RUN   TestXYZ\n--- FAIL: TestXYZ (0.00s)\nFAIL\n":                          notRun,
		"=== RUN   TestX\n--- FAIL: TestX (0.00s)\nFAIL\n":                              failed,
		"=== RUN   TestX\n\npanic: test timed out":                                      halted,
		"=== RUN   TestX\n--- FAIL: TestX (0.00s)\npanic: somewhere":                    halted,
		"=== RUN   TestX\n    [rapid] panic after 3 tests: oh\n--- FAIL: TestX (0.00s)": halted,
		"=== RUN   TestXY\n\npanic: somewhere":                                          notRun,
	} {
		if got := endOf(said, "TestX"); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
}
