package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// constant is a string constant of the repository, wherever it is declared.
type constant struct {
	folder, name, value string
	// kind is the declared type as the source writes it; "" if there is none.
	kind string
	pkg  string
}

// constants reads the declarations of all files but tests, of every module.
func constants(t *testing.T) (all []constant) {
	t.Helper()
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
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.CONST {
				all = append(all, constantsOf(t, d, filepath.ToSlash(folder), file.Name.Name)...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d constants were found; the search is broken", len(all))
	}
	return all
}

// constantsOf returns those with a literal of their own; one that repeats another is not
// a second declaration.
func constantsOf(t *testing.T, d *ast.GenDecl, folder, pkg string) (found []constant) {
	t.Helper()
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		for i, value := range spec.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, constant{folder: folder, pkg: pkg, name: spec.Names[i].Name, value: text, kind: kindOf(spec.Type)})
		}
	}
	return found
}

func kindOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return kindOf(e.X) + "." + e.Sel.Name
	}
	return ""
}

// isCode reports whether a constant is of type intent.Code.
func (c constant) isCode() bool {
	return c.kind == "intent.Code" || c.pkg == "intent" && c.kind == "Code"
}
