package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// source is one Go file of the repository.
type source struct {
	name    string // slash-separated, from the repository's root
	room    string // see roomOf
	test    bool
	imports []string
	tree    *ast.File
	lines   *token.FileSet
}

// at returns "file:line" of a node.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.lines.Position(n.Pos()).Line)
}

// repository is the source of all modules.
type repository struct {
	module  string // path of the root module
	sources []source
}

// skipped are folders without source of ours.
func skipped(name string) bool {
	base := path.Base(name)
	return name == "bin" || base == "testdata" || base == "vendor" || (strings.HasPrefix(base, ".") && base != "." && base != ".ci")
}

func read(root fs.FS) (repository, error) {
	var r repository
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return r, err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	r.module = strings.TrimSpace(strings.TrimPrefix(first, "module "))

	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s := source{name: name, room: roomOf(path.Dir(name)), test: strings.HasSuffix(name, "_test.go"), lines: token.NewFileSet()}
		if s.tree, err = parser.ParseFile(s.lines, name, text, parser.SkipObjectResolution); err != nil {
			return err
		}
		for _, i := range s.tree.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		r.sources = append(r.sources, s)
		return nil
	})
	return r, err
}

// own returns the folder of a package of this repository, and false for any other import.
func (r repository) own(imported string) (string, bool) {
	if imported == r.module {
		return ".", true
	}
	return strings.CutPrefix(imported, r.module+"/")
}
