package cedar

import (
	"slices"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// readers is what policies read of payloads: only that is given to them, so that a value which
// Cedar cannot represent stands in nobody's way unless a policy could see it.
type readers struct {
	all     bool // some policy reads the payload as a whole
	members map[string]bool
}

func (r *readers) add(p *cedar.Policy) {
	paths, all := readBy(p)
	r.all = r.all || all
	for _, path := range paths {
		if r.members == nil {
			r.members = map[string]bool{}
		}
		r.members[path[0]] = true
	}
}

// reads reports whether a policy could see the payload's member.
func (r *readers) reads(member string) bool { return r.all || r.members[member] }

// readBy returns the paths below context.payload that the policy names, and whether it uses the
// payload as a whole.
func readBy(p *cedar.Policy) (paths [][]string, all bool) {
	visit := func(node ast.IsNode) bool {
		if path, ok := payloadPath(node); ok {
			all = all || len(path) == 0
			if len(path) > 0 {
				paths = append(paths, path)
			}
			return false
		}
		switch n := node.(type) {
		case ast.NodeTypeAccess:
			return !isContext(n.Arg) // another attribute than the payload
		case ast.NodeTypeHas:
			return !isContext(n.Arg)
		case ast.NodeTypeVariable:
			all = all || n.Name == "context"
		}
		return true
	}
	for _, c := range (*ast.Policy)(p.AST()).Conditions {
		ast.Inspect(ast.NewNode(c.Body), visit)
	}
	return paths, all
}

// payloadPath returns the members that lead from context.payload to the node, if it is below it.
func payloadPath(node ast.IsNode) ([]string, bool) {
	var path []string
	for {
		var on ast.StrOpNode
		switch n := node.(type) {
		case ast.NodeTypeAccess:
			on = n.StrOpNode
		case ast.NodeTypeHas:
			on = n.StrOpNode
		default:
			return nil, false
		}
		if isContext(on.Arg) {
			slices.Reverse(path)
			return path, on.Value == "payload"
		}
		path, node = append(path, string(on.Value)), on.Arg
	}
}

func isContext(node ast.IsNode) bool {
	v, ok := node.(ast.NodeTypeVariable)
	return ok && v.Name == "context"
}

// idsIn returns the ids of the entities of a type that the policy's conditions name.
func idsIn(p *cedar.Policy, of types.EntityType) (ids []string) {
	for _, c := range (*ast.Policy)(p.AST()).Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(node ast.IsNode) bool {
			if v, ok := node.(ast.NodeValue); ok {
				if uid, ok := v.Value.(types.EntityUID); ok && uid.Type == of {
					ids = append(ids, string(uid.ID))
				}
			}
			return true
		})
	}
	return ids
}
