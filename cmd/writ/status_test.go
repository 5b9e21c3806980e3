package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"writ/intent"
)

// Every constant of type intent.Code, wherever in the module it is declared, must have a
// place in the table: a code that is forgotten would pass for broken infrastructure.
func TestEveryCodeHasAnExitStatus(t *testing.T) {
	t.Parallel()
	declared := declaredCodes(t)
	if len(declared) < 30 {
		t.Fatalf("only %d codes were found; the search is broken", len(declared))
	}
	for code, where := range declared {
		if _, ok := statuses[code]; !ok {
			t.Errorf("%s (%s) has no exit status", code, where)
		}
	}
	for code := range statuses {
		if _, ok := declared[code]; !ok {
			t.Errorf("%s has an exit status and is not declared anywhere", code)
		}
	}
}

func declaredCodes(t *testing.T) map[intent.Code]string {
	t.Helper()
	codes := map[intent.Code]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !isCode(spec.Type, file.Name.Name) {
				return true
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					codes[intent.Code(text)] = path
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// isCode reports whether a type is written intent.Code, or Code in package intent.
func isCode(expression ast.Expr, pkg string) bool {
	switch e := expression.(type) {
	case *ast.Ident:
		return pkg == "intent" && e.Name == "Code"
	case *ast.SelectorExpr:
		from, ok := e.X.(*ast.Ident)
		return ok && from.Name == "intent" && e.Sel.Name == "Code"
	}
	return false
}

func TestTheStatusIsTheOneOfTheCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("something broke"), 1},
		{intent.Errorf("a_code_of_a_later_release", "new"), 1},
		{intent.Errorf(intent.CodeNotYetKnown, "interrupted"), 1},
		{intent.Errorf(intent.CodePayloadNotObject, "not an object"), 2},
		{intent.Errorf(intent.CodeIntentNotFound, "not there"), 2},
		{intent.Errorf(intent.CodePolicyDenied, "no"), 3},
		{intent.Errorf(intent.CodeFailed, "card declined"), 4},
		{intent.Errorf(intent.CodeInDoubt, "who knows"), 5},
		{intent.Errorf(intent.CodeIdempotencyConflict, "another action"), 7},
		{fmt.Errorf("wrapped: %w", intent.Errorf(intent.CodeInDoubt, "who knows")), 5},
		{&executionError{cause: intent.Errorf(intent.CodeFailed, "card declined")}, 4},
	} {
		if got := statusOf(c.err); got != c.want {
			t.Errorf("%v: status %d, want %d", c.err, got, c.want)
		}
	}
}
