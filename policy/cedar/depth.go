package cedar

import (
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// nestedTooDeep returns the line, from 1, on which brackets nest deeper than MaxDepth; 0: nowhere. It
// comes before the parser, which recurses at each bracket: a stack that overflows ends the process.
func nestedTooDeep(text string) int {
	depth, line := 0, 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			line++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				switch text[i] {
				case '\\':
					i++
				case '\n':
					line++
				}
			}
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				rest, _, _ := strings.Cut(text[i:], "\n")
				i += len(rest) - 1
			}
		case '(', '[', '{':
			if depth++; depth > MaxDepth {
				return line
			}
		case ')', ']', '}':
			depth--
		}
	}
	return 0
}

// tooDeep reports whether a condition nests deeper than MaxDepth. What it costs to write a policy as
// JSON, of which the digest is made, grows with the third power of the depth.
func tooDeep(p *cedar.Policy) bool {
	for _, c := range (*ast.Policy)(p.AST()).Conditions {
		if deeper(c.Body, MaxDepth) {
			return true
		}
	}
	return false
}

// deeper reports whether more than so many levels are below and with the node. It looks no further.
func deeper(node ast.IsNode, levels int) (found bool) {
	if levels == 0 {
		return true
	}
	itself := true
	ast.Inspect(ast.NewNode(node), func(n ast.IsNode) bool {
		if itself {
			itself = false
			return true
		}
		found = found || deeper(n, levels-1)
		return false
	})
	return found
}
