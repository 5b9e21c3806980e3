package arch

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// root is the repository, seen from this package's folder.
func root() fs.FS { return os.DirFS("../..") }

func TestEveryFileKeepsTheRulesOfTheHouse(t *testing.T) {
	t.Parallel()
	r, err := read(root())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.sources) < 20 {
		t.Fatalf("only %d files were read", len(r.sources))
	}
	for _, violation := range check(r) {
		t.Error(violation)
	}
}

func TestARoomThatIsNotBuiltYetTakesNoOtherPlace(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, rooms := range floors {
		for _, room := range rooms {
			if _, cellar := cellars[room]; cellar || seen[room] {
				t.Errorf("%s is listed twice", room)
			}
			seen[room] = true
		}
	}
}

func TestAPlantedViolationIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"an import that points upwards": {
			"outbox/row.go", `package outbox; import _ "example.org/x/workflows"`,
			"outbox/row.go imports example.org/x/workflows: workflows is above outbox",
		},
		"an import of the root package from below": {
			"recovery/sweep.go", `package recovery; import _ "example.org/x"`,
			"recovery/sweep.go imports example.org/x: . is above recovery",
		},
		"an upward import in a test": {
			"tools/registry_test.go", `package tools_test; import _ "example.org/x/activities"`,
			"activities is above tools",
		},
		"a neighbour on the same floor": {
			"tools/effecthttp/client.go", `package effecthttp; import _ "example.org/x/outbox"`,
			"tools and outbox are on one floor",
		},
		"a package without a place": {
			"common/strings.go", `package common`,
			"common/strings.go has no place in the house",
		},
		"an internal package for others": {
			"policy/gate.go", `package policy; import _ "example.org/x/internal/postgres"`,
			"internal/postgres is only for",
		},
		"a floor in the cellar": {
			"internal/postgres/server.go", `package postgres; import _ "example.org/x/outbox"`,
			"internal/postgres may import only",
		},
		"I/O on the pure floor": {
			"intent/next.go", `package intent; import _ "net/http"`,
			"intent/next.go imports net/http, which is not pure",
		},
		"a module on the pure floor": {
			"intent/next.go", `package intent; import _ "go.temporal.io/sdk/workflow"`,
			"which is not pure",
		},
		"a clock on the pure floor": {
			"intent/next.go", "package intent\nimport clock \"time\"\nvar now = clock.Now()",
			"intent/next.go:3 uses clock.Now",
		},
		"chance on the pure floor": {
			"intent/id.go", "package intent\nimport \"github.com/google/uuid\"\nvar id = uuid.New()",
			"intent/id.go:3 uses uuid.New",
		},
		"pgx outside its packages": {
			"workflows/execute.go", `package workflows; import _ "github.com/jackc/pgx/v5/pgxpool"`,
			"workflows/execute.go imports github.com/jackc/pgx/v5/pgxpool; only",
		},
		"SQL outside its packages": {
			"activities/persist.go", "package activities\nconst q = `\n\tUPDATE intents\n\tSET state = $1`",
			"activities/persist.go:2 holds SQL",
		},
		"SQL in another tool": {
			"tools/sample/capture.go", "package sample\nconst q = `DELETE FROM documents`",
			"tools/sample/capture.go:2 holds SQL",
		},
		"an error made by hand": {
			"client.go", "package x\nvar err = &Error{Code: \"failed\"}",
			"client.go:2 makes an error by hand",
		},
		"an error made by hand in another package": {
			"outbox/row.go", "package outbox\nimport \"example.org/x/intent\"\nvar err = &intent.Error{Code: intent.CodeFailed}",
			"outbox/row.go:3 makes an error by hand",
		},
		"an error that says something else than its code": {
			"outbox/row.go", "package outbox\nfunc f(e *E) {\n\te.TryAgain = false\n}",
			"outbox/row.go:3 sets TryAgain of an error",
		},
		"the Temporal server in the root module": {
			"cmd/writ/main.go", `package main; import _ "go.temporal.io/server/temporal"`,
			"only cmd/writ-dev, a module of its own, may",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := read(fstest.MapFS{
				"go.mod":   {Data: []byte("module example.org/x\n\ngo 1.26.0\n")},
				c.file:     {Data: []byte(c.text)},
				"bin/x.go": {Data: []byte("not Go, and not ours")},
			})
			if err != nil {
				t.Fatal(err)
			}
			found := check(r)
			if len(found) != 1 || !strings.Contains(found[0], c.want) {
				t.Errorf("found %q, want one that says %q", found, c.want)
			}
		})
	}
}

func TestWhatTheHouseAllowsIsNotReported(t *testing.T) {
	t.Parallel()
	r, err := read(fstest.MapFS{
		"go.mod":                   {Data: []byte("module example.org/x\n")},
		"intent/next.go":           {Data: []byte("package intent\nimport (\n\t\"time\"\n\t\"github.com/google/uuid\"\n)\nvar day = 24 * time.Hour\nvar none = uuid.Nil")},
		"intent/fuzz_test.go":      {Data: []byte(`package intent; import _ "os"`)},
		"tools/sample/capture.go":  {Data: []byte(`package sample; import (_ "example.org/x/tools/effecthttp"; _ "example.org/x/intent"; _ "example.org/x/internal/killpoint")`)},
		"tools/sample/_test.go":    {Data: []byte(`package sample; import _ "example.org/x/internal/sandbox"`)},
		"outbox/row.go":            {Data: []byte("package outbox\nimport _ \"github.com/jackc/pgx/v5\"\nconst q = `SELECT 1`")},
		"client.go":                {Data: []byte(`package x; import (_ "example.org/x/recovery"; _ "example.org/x/outbox")`)},
		"cmd/writ-dev/main.go":     {Data: []byte(`package main; import (_ "example.org/x"; _ "go.temporal.io/server/temporal"; _ "example.org/x/internal/postgres")`)},
		"tools/sample/purge.go":    {Data: []byte("package sample\nimport _ \"github.com/jackc/pgx/v5\"\nconst q = `DELETE FROM documents`")},
		"policy/text.go":           {Data: []byte("package policy\nconst help = `Select a tool, or update the policy`")},
		"internal/pgtest/start.go": {Data: []byte(`package pgtest; import _ "example.org/x/internal/postgres"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range check(r) {
		t.Error(violation)
	}
}

// machinePath finds folders that exist on one machine only. It is written so that this
// file does not match itself. Ada is the user of every example in the documentation.
func machinePath(line string) bool {
	return machinePaths.MatchString(strings.ReplaceAll(line, "/home/ada/", "~/"))
}

var machinePaths = regexp.MustCompile(`(^|[^A-Za-z0-9._$~}-])(/` + `work/|/` + `root/|/` + `home/[a-z]|/` + `Users/[A-Za-z])`)

func TestNoFileNamesAFolderOfSomebodysMachine(t *testing.T) {
	t.Parallel()
	r := root()
	err := fs.WalkDir(r, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (name == "bin" || (strings.HasPrefix(path.Base(name), ".") && path.Base(name) != ".ci")):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(r, name)
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			if machinePath(line) {
				t.Errorf("%s:%d names a folder of one machine: %.120s", name, number+1, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAPlantedMachinePathIsFound(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`data := "/` + `work/main/data"`:      true,
		"see /" + "home/anna/notes":           true,
		"(/" + "Users/Anna/go)":               true,
		"/" + "root/.cache":                   true,
		`{"ledger":"/home/ada/ledger.jsonl"}`: false,
		"https://example.org/home/anna":       false,
		"network/" + "work/flow":              false,
		"the worker reads /var/lib/writ":      false,
		"$HOME/" + "work/x, ~/" + "work/y":    false,
		"a folder such as /" + "root is shut": false,
	} {
		if got := machinePath(line); got != want {
			t.Errorf("%q: found is %v, want %v", line, got, want)
		}
	}
}

func TestEveryCellarStillExists(t *testing.T) {
	t.Parallel()
	for _, folder := range slices.Sorted(maps.Keys(cellars)) {
		if _, err := fs.Stat(root(), folder); err != nil {
			t.Errorf("%s is listed in the house and does not exist: %v", folder, err)
		}
	}
}
