package cedar

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	expast "github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"

	"writ/policy"
)

// The types of entities.
const (
	typePrincipal = "Principal"
	typeRole      = "Role"
	typeTool      = "Tool"
	typeCategory  = "Category"
	typeProvider  = "Provider"
	typeAction    = "Action"
)

// hosted is a tool with what policies may read of its payloads.
type hosted struct {
	policy.Hosted
	payload *field
}

// ForTools checks the policies against these tools and returns them as the policy that rules
// them. Its errors have code invalid_policy and wrap all [Faults].
func (s *Set) ForTools(list []policy.Hosted) (policy.Policy, error) {
	bound, err := s.bind(list, false)
	if err != nil {
		return nil, err // and not a nil *Set, which is a policy
	}
	return bound, nil
}

// ForSome is ForTools for a worker that hosts these tools of those which the policies rule: a
// policy may name others.
func (s *Set) ForSome(list []policy.Hosted) (*Set, error) { return s.bind(list, true) }

func (s *Set) bind(list []policy.Hosted, others bool) (*Set, error) {
	bound := *s
	bound.tools = make(map[string]hosted, len(list))
	for _, t := range list {
		bound.tools[t.Name] = hosted{Hosted: t, payload: payloadField(t.InputSchema, t.Amount)}
	}
	validators, err := bound.validators()
	if err != nil {
		return nil, err
	}
	var wrong Faults
	for _, r := range s.rules {
		applies := bound.under((*expast.Policy)(r.policy.AST()).Resource)
		wrong = append(wrong, bound.unfit(r, applies, validators)...)
		if !others {
			wrong = append(wrong, bound.unknown(r, applies)...)
		}
	}
	if err := wrong.asError(); err != nil {
		return nil, err
	}
	return &bound, nil
}

// validators returns one for each tool: payloads differ from tool to tool, and Cedar gives one
// context to an action.
func (s *Set) validators() (map[string]*validate.Validator, error) {
	out := make(map[string]*validate.Validator, len(s.tools))
	for name, tool := range s.tools {
		resolved, err := schema.NewSchemaFromAST(schemaFor(tool.payload)).Resolve()
		if err != nil {
			return nil, invalid("the input schema of the tool %s cannot be said in Cedar: %w", name, err)
		}
		out[name] = validate.New(resolved)
	}
	return out, nil
}

// unfit checks the rule against every tool that it applies to.
func (s *Set) unfit(r rule, applies []string, validators map[string]*validate.Validator) (wrong Faults) {
	for _, name := range applies {
		if err := validators[name].Policy("", (*expast.Policy)(r.policy.AST())); err != nil {
			wrong = append(wrong, r.fault("the policy %s does not fit the tool %s: %s", r.id, name, onceForAll(err)))
		}
	}
	return wrong
}

var ofAction = regexp.MustCompile(` for Action::"([^"]+)"`)

// onceForAll says what is wrong with a policy, once where it is wrong for several actions. The
// validator says it of each, in no order.
func onceForAll(err error) string {
	actions := map[string][]string{}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		problem := ofAction.ReplaceAllString(line, "")
		if of := ofAction.FindStringSubmatch(line); of != nil {
			actions[problem] = append(actions[problem], of[1])
		} else {
			actions[problem] = nil
		}
	}
	var told []string
	for _, problem := range slices.Sorted(maps.Keys(actions)) {
		if of := actions[problem]; len(of) > 0 {
			slices.Sort(of)
			problem += " (" + strings.Join(slices.Compact(of), ", ") + ")"
		}
		told = append(told, problem)
	}
	return strings.Join(told, "; ")
}

// unknown finds what the rule names and no tool is, has or takes.
func (s *Set) unknown(r rule, applies []string) (wrong Faults) {
	for _, name := range idsIn(r.policy, typeTool) {
		if _, ok := s.tools[name]; !ok {
			wrong = append(wrong, r.fault("there is no tool %q here", name))
		}
	}
	if len(applies) == 0 {
		return append(wrong, r.fault("the policy %s applies to no tool that is hosted here; correct its resource", r.id))
	}
	paths, _ := readBy(r.policy)
	for _, path := range paths {
		if !slices.ContainsFunc(applies, func(name string) bool { return s.tools[name].payload.has(path) }) {
			wrong = append(wrong, r.fault("the policy %s reads context.payload.%s, which no tool that it applies to takes", r.id, strings.Join(path, ".")))
		}
	}
	return wrong
}

// under returns the names of the tools that a policy's scope names, in order.
func (s *Set) under(scope expast.IsResourceScopeNode) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		if covers(scope, s.tools[name]) {
			names = append(names, name)
		}
	}
	return names
}

// covers reports whether a policy with this scope is asked about the tool.
func covers(scope expast.IsResourceScopeNode, t hosted) bool {
	in := func(group types.EntityUID) bool { return uidOf(t) == group || slices.Contains(groupsOf(t), group) }
	switch sc := scope.(type) {
	case expast.ScopeTypeEq:
		return uidOf(t) == sc.Entity
	case expast.ScopeTypeIn:
		return in(sc.Entity)
	case expast.ScopeTypeIs:
		return sc.Type == typeTool
	case expast.ScopeTypeIsIn:
		return sc.Type == typeTool && in(sc.Entity)
	}
	return true
}

func uidOf(t hosted) types.EntityUID { return cedar.NewEntityUID(typeTool, types.String(t.Name)) }

// groupsOf returns what the tool is in.
func groupsOf(t hosted) (groups []types.EntityUID) {
	if t.Category != "" {
		groups = append(groups, cedar.NewEntityUID(typeCategory, types.String(t.Category)))
	}
	if t.Provider != "" {
		groups = append(groups, cedar.NewEntityUID(typeProvider, types.String(t.Provider)))
	}
	return groups
}

// schemaFor is the Cedar schema of requests for a tool with such payloads.
func schemaFor(payload *field) *ast.Schema {
	required := func(t ast.IsType) ast.Attribute { return ast.Attribute{Type: t} }
	optional := func(t ast.IsType) ast.Attribute { return ast.Attribute{Type: t, Optional: true} }
	out := &ast.Schema{
		Entities: ast.Entities{
			typeRole: {}, typeCategory: {}, typeProvider: {},
			typePrincipal: {ParentTypes: []ast.EntityTypeRef{typeRole}, Shape: ast.RecordType{
				"name":       required(ast.String()),
				"roles":      required(ast.Set(ast.String())),
				"onBehalfOf": required(ast.Set(ast.EntityType(typePrincipal))),
			}},
			typeTool: {ParentTypes: []ast.EntityTypeRef{typeCategory, typeProvider}, Shape: ast.RecordType{
				"name": required(ast.String()), "class": required(ast.String()), "sideEffectful": required(ast.Bool()),
				"category": optional(ast.String()), "provider": optional(ast.String()),
			}},
		},
		Actions: ast.Actions{},
	}
	// An action that policies are never asked about would look like a rule, so there is none.
	facts := func() ast.RecordType {
		return ast.RecordType{
			"tenant": required(ast.String()), "service": optional(ast.String()),
			"risk": required(ast.Decimal()), "now": required(ast.Datetime()),
			"authentication": required(authenticationType()), "payload": required(payload.cedarType()),
		}
	}
	appliesTo := func(context ast.RecordType) ast.Action {
		return ast.Action{AppliesTo: &ast.AppliesTo{
			Principals: []ast.EntityTypeRef{typePrincipal}, Resources: []ast.EntityTypeRef{typeTool}, Context: context,
		}}
	}
	out.Actions[types.String(policy.ActionExecute)] = appliesTo(facts())
	deciding := facts()
	deciding["requester"] = required(requesterType())
	for _, action := range policy.DecidingActions() {
		out.Actions[types.String(action)] = appliesTo(deciding)
	}
	return out
}

// cedarType is not asked of what is unchecked: that has no type.
func (f *field) cedarType() ast.IsType {
	switch f.kind {
	case text:
		return ast.String()
	case long:
		return ast.Long()
	case decimal:
		return ast.Decimal()
	case boolean:
		return ast.Bool()
	case set:
		return ast.Set(f.items.cedarType())
	case record:
		members := ast.RecordType{}
		for name, sub := range f.members {
			if sub.kind != unchecked {
				members[types.String(name)] = ast.Attribute{Type: sub.cedarType(), Optional: sub.optional}
			}
		}
		return members
	case unchecked:
	}
	panic(fmt.Sprintf("cedar: no type for kind %d", f.kind))
}
