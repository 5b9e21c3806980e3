package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// rules are what every file must keep. Each returns one sentence for each violation.
var rules = map[string]func(repository, source) []string{
	"imports point downwards":                     downwards,
	"the pure floor does not reach for the world": pure,
	"SQL and pgx stay where they belong":          ownSQL,
	"nobody compiles a Temporal server unasked":   noServer,
	"an error says what its code says":            codedErrors,
}

// check returns the violations of all rules, each with the rule that it breaks.
func check(r repository) []string {
	var all []string
	for _, s := range r.sources {
		for name, rule := range rules {
			for _, violation := range rule(r, s) {
				all = append(all, fmt.Sprintf("%s (rule: %s)", violation, name))
			}
		}
	}
	return all
}

func downwards(r repository, s source) (violations []string) {
	if s.room == "" {
		return []string{fmt.Sprintf("%s has no place in the house; give its folder one in internal/arch/house_test.go", s.name)}
	}
	for _, imported := range s.imports {
		dir, own := r.own(imported)
		if !own {
			continue
		}
		if why := forbidden(s, roomOf(dir)); why != "" {
			violations = append(violations, fmt.Sprintf("%s imports %s: %s", s.name, imported, why))
		}
	}
	return violations
}

// forbidden says why s may not import a package of room, or "".
func forbidden(s source, room string) string {
	if room == s.room {
		return ""
	}
	if below, ok := cellars[room]; ok {
		if s.test || contains(below.users, s.room) || contains(cellars[s.room].imports, room) {
			return ""
		}
		return room + " is only for " + list(below.users)
	}
	if from, ok := cellars[s.room]; ok {
		if s.test || contains(from.imports, room) {
			return ""
		}
		return s.room + " may import only " + list(from.imports)
	}
	from, to := floorOf(s.room), floorOf(room)
	switch {
	case to < 0:
		return "it has no place in the house"
	case to == from:
		return fmt.Sprintf("%s and %s are on one floor and must not know each other", s.room, room)
	case to > from:
		return fmt.Sprintf("%s is above %s", room, s.room)
	}
	return ""
}

func list(folders []string) string {
	if len(folders) == 0 {
		return "tests"
	}
	return strings.Join(folders, ", ")
}

func pure(r repository, s source) (violations []string) {
	if s.room != "intent" || s.test {
		return nil
	}
	for _, imported := range s.imports {
		_, own := r.own(imported)
		foreign := strings.Contains(imported, ".") && !own
		if within(imported, impure) || (foreign && !within(imported, pureModules)) {
			violations = append(violations, fmt.Sprintf("%s imports %s, which is not pure", s.name, imported))
		}
	}
	names := importNames(s)
	ast.Inspect(s.tree, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if on, ok := selector.X.(*ast.Ident); ok && contains(impureCalls[names[on.Name]], selector.Sel.Name) {
			violations = append(violations, fmt.Sprintf("%s uses %s.%s; take the value as an argument", s.at(n), on.Name, selector.Sel.Name))
		}
		return true
	})
	return violations
}

// importNames maps the names under which a file knows its imports to their paths.
func importNames(s source) map[string]string {
	names := map[string]string{}
	for i, imported := range s.imports {
		name := imported[strings.LastIndex(imported, "/")+1:]
		if given := s.tree.Imports[i].Name; given != nil {
			name = given.Name
		}
		names[name] = imported
	}
	return names
}

// sqlText recognizes a statement by its first words, in capitals as all of ours are.
var sqlText = regexp.MustCompile(`(?s)^\s*(--[^\n]*\n\s*)*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\S+\s.*SET\s|DELETE\s+FROM\s|WITH\s+\w+\s.*AS\s|CREATE\s|ALTER\s|DROP\s|TRUNCATE\s)`)

func ownSQL(_ repository, s source) (violations []string) {
	if s.test || s.room == "integration" {
		return nil
	}
	if !contains(packagesWithPgx, s.room) && !contains(filesWithPgx, s.name) {
		for _, imported := range s.imports {
			if within(imported, []string{"github.com/jackc", "database/sql"}) {
				violations = append(violations, fmt.Sprintf("%s imports %s; only %s may", s.name, imported, list(packagesWithPgx)))
			}
		}
	}
	if contains(packagesWithSQL, s.room) || contains(filesWithSQL, s.name) {
		return violations
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && sqlText.MatchString(text) {
			violations = append(violations, fmt.Sprintf("%s holds SQL; it belongs in outbox or receipts", s.at(n)))
		}
		return true
	})
	return violations
}

func noServer(_ repository, s source) (violations []string) {
	if s.room == "cmd/writ-dev" {
		return nil
	}
	for _, imported := range s.imports {
		if within(imported, temporalServer) {
			violations = append(violations, fmt.Sprintf("%s imports %s; only cmd/writ-dev, a module of its own, may", s.name, imported))
		}
	}
	return violations
}

// codedErrors keeps errors to the table of codes: only intent.Errorf makes one, and only
// Error.Proven changes what it says of the effect.
func codedErrors(_ repository, s source) (violations []string) {
	if s.test || s.name == "intent/errors.go" {
		return nil
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isError(s, n.Type) {
				violations = append(violations, s.at(n)+" makes an error by hand; use intent.Errorf")
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if field, ok := left.(*ast.SelectorExpr); ok && (field.Sel.Name == "Effect" || field.Sel.Name == "TryAgain") {
					violations = append(violations, fmt.Sprintf("%s sets %s of an error; its code says that", s.at(n), field.Sel.Name))
				}
			}
		}
		return true
	})
	return violations
}

// isError reports whether a type is written as intent.Error, or as the root package's name
// for it.
func isError(s source, written ast.Expr) bool {
	switch e := written.(type) {
	case *ast.Ident:
		return e.Name == "Error" && (s.room == "intent" || s.room == ".")
	case *ast.SelectorExpr:
		on, ok := e.X.(*ast.Ident)
		return ok && e.Sel.Name == "Error" && (on.Name == "intent" || on.Name == "writ")
	}
	return false
}
