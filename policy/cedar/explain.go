package cedar

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	expast "github.com/cedar-policy/cedar-go/x/exp/ast"

	"writ/policy"
)

// Explanation is how a set comes to its verdict on a request, or on who decides about an intent.
type Explanation struct {
	PolicyDigest string `json:"policy_digest"`
	// Allow, Approvers, Reason and Policies are the verdict; Approvers is 0 if nobody has to confirm.
	Allow     bool     `json:"allow"`
	Approvers int      `json:"approvers,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Policies  []string `json:"policies,omitempty"`
	// Error is why there is no verdict, which denies: a request as gate_error, a decision as
	// not_permitted. Empty if there is one.
	Error string `json:"error,omitempty"`
	// Considered are the policies about the tool, for a decision those that can rule who decides:
	// first those that apply, then those that fail, then the others; each by file and line. None for
	// an action that the set does not govern.
	Considered []Considered `json:"considered"`
	// Given are the facts that policies could read, in Cedar's notation, under their names there.
	// What the input schema marks as writeOnly is hidden.
	Given map[string]string `json:"given,omitempty"`
}

// Outcome is what became of one policy.
type Outcome string

// The outcomes.
const (
	Applies      Outcome = "applies"
	Fails        Outcome = "fails"
	DoesNotApply Outcome = "does_not_apply"
)

// Considered is one policy and what became of it.
type Considered struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Kind is permit, forbid or confirm.
	Kind    string  `json:"kind"`
	Outcome Outcome `json:"outcome"`
	// Why is the error, or the first part of the policy that does not hold.
	Why string `json:"why,omitempty"`
	// Text is the policy as it is written.
	Text string `json:"text"`
}

// Explain answers as Answer does, and evaluates each policy about the tool by itself.
func (s *Set) Explain(ctx context.Context, a policy.Act) Explanation {
	e := Explanation{PolicyDigest: s.digest.String(), Considered: []Considered{}}
	verdict, err := s.Answer(ctx, a)
	if err != nil {
		e.Error = err.Error()
	}
	e.Allow, e.Reason, e.Policies = verdict.Allow, verdict.Reason, verdict.Policies
	if verdict.Approval != nil {
		e.Approvers = verdict.Approval.Approvers
	}
	q, err := s.questionOf(a)
	if err != nil {
		return e
	}
	starts := s.starts()
	for _, r := range s.rules {
		if s.concerns(r, a.Action) && slices.Contains(s.under((*expast.Policy)(r.policy.AST()).Resource), q.tool.Name) {
			considered := q.consider(r)
			considered.Text = textOf(r, s.files[r.file], starts[r.file])
			e.Considered = append(e.Considered, considered)
		}
	}
	order := []Outcome{Applies, Fails, DoesNotApply}
	slices.SortStableFunc(e.Considered, func(a, b Considered) int {
		return cmp.Or(slices.Index(order, a.Outcome)-slices.Index(order, b.Outcome), strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	e.Given = q.given()
	return e
}

// Answer is Evaluate of a request, and MayDecide of a decision.
func (s *Set) Answer(ctx context.Context, a policy.Act) (policy.Verdict, error) {
	if a.Action == policy.ActionExecute {
		return s.Evaluate(ctx, a.On)
	}
	return s.MayDecide(ctx, a)
}

// concerns reports whether the rule is asked about the action.
func (s *Set) concerns(r rule, action policy.Action) bool {
	return action == policy.ActionExecute || s.governs(action) && r.decides()
}

// ask asks one policy; failed says how it failed.
func (q question) ask(p *cedar.Policy) (applies bool, failed string) {
	single := cedar.NewPolicySet()
	single.Add("", p)
	_, why := cedar.Authorize(single, q.entities, q.request)
	if len(why.Errors) > 0 {
		return false, kindOf(why.Errors[0])
	}
	return len(why.Reasons) > 0, ""
}

// consider says what becomes of the policy, without its text.
func (q question) consider(r rule) Considered {
	c := Considered{ID: r.id, File: r.file, Line: r.policy.Position().Line, Kind: "forbid"}
	switch {
	case r.approvers > 0:
		c.Kind = "confirm"
	case r.policy.Effect() == cedar.Permit:
		c.Kind = "permit"
	}
	switch applies, failed := q.ask(r.policy); {
	case failed != "":
		c.Outcome, c.Why = Fails, failed
	case applies:
		c.Outcome = Applies
	default:
		c.Outcome, c.Why = DoesNotApply, q.whyNot((*expast.Policy)(r.policy.AST()))
	}
	return c
}

// starts says where in each file its policies begin, in order.
func (s *Set) starts() map[string][]int {
	starts := map[string][]int{}
	for _, r := range s.rules {
		starts[r.file] = append(starts[r.file], r.policy.Position().Offset)
	}
	for _, list := range starts {
		slices.Sort(list)
	}
	return starts
}

// textOf cuts the policy out of its file, in which policies begin at starts: up to the next one,
// without the comments before that.
func textOf(r rule, text string, starts []int) string {
	begin, end := r.policy.Position().Offset, len(text)
	if next, _ := slices.BinarySearch(starts, begin+1); next < len(starts) {
		end = starts[next]
	}
	lines := strings.Split(text[begin:end], "\n")
	for len(lines) > 1 {
		last := strings.TrimSpace(lines[len(lines)-1])
		if last != "" && !strings.HasPrefix(last, "//") {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \t\r")
}

// whyNot names the first part of a policy that does not hold: of its head, and then of its
// conditions, each taken apart at its &&.
func (q question) whyNot(p *expast.Policy) string {
	all := expast.Scope{}.All()
	part := func(change func(*expast.Policy)) *cedar.Policy {
		one := &expast.Policy{Effect: expast.EffectPermit, Principal: all, Action: all, Resource: all}
		change(one)
		return cedar.NewPolicyFromAST((*ast.Policy)(one))
	}
	for _, head := range []*cedar.Policy{
		part(func(one *expast.Policy) { one.Principal = p.Principal }),
		part(func(one *expast.Policy) { one.Action = p.Action }),
	} {
		if holds, _ := q.ask(head); !holds {
			return "its head does not fit: " + scopeText(head)
		}
	}
	for _, c := range p.Conditions {
		for _, conjunct := range conjuncts(c) {
			one := part(func(one *expast.Policy) { one.Conditions = []expast.ConditionType{conjunct} })
			if holds, _ := q.ask(one); !holds {
				return "this does not hold: " + conditionText(one)
			}
		}
	}
	return ""
}

// conjuncts takes a when apart at its &&.
func conjuncts(c expast.ConditionType) []expast.ConditionType {
	and, ok := c.Body.(expast.NodeTypeAnd)
	if c.Condition != expast.ConditionWhen || !ok {
		return []expast.ConditionType{c}
	}
	left, right := c, c
	left.Body, right.Body = and.Left, and.Right
	return append(conjuncts(left), conjuncts(right)...)
}

// scopeText is the one part of the head that the policy has, which stands on a line of its own.
func scopeText(p *cedar.Policy) string {
	for line := range strings.Lines(string(p.MarshalCedar())) {
		if line = strings.Trim(line, " ,\n"); !slices.Contains([]string{"permit (", "principal", "action", "resource", ");"}, line) {
			return line
		}
	}
	return ""
}

// conditionText is the one condition that the policy has, on its second line.
func conditionText(p *cedar.Policy) string {
	_, condition, _ := strings.Cut(string(p.MarshalCedar()), "\n")
	return strings.TrimSuffix(condition, ";")
}

// given puts what policies could read into words.
func (q question) given() map[string]string {
	out := map[string]string{"principal": q.request.Principal.String(), "action": q.request.Action.String(), "resource": q.request.Resource.String()}
	for name, entity := range map[string]types.Entity{"principal": q.entities[q.request.Principal], "resource": q.entities[q.request.Resource]} {
		for key, value := range entity.Attributes.All() {
			out[name+"."+string(key)] = string(value.MarshalCedar())
		}
	}
	for key, value := range q.request.Context.All() {
		if key != "payload" {
			out["context."+string(key)] = string(value.MarshalCedar())
			continue
		}
		payload, ok := shown(value, q.tool.payload).(types.Record)
		if !ok {
			out["context.payload"] = string(hidden)
		}
		for member, value := range payload.All() {
			out["context.payload."+string(member)] = string(value.MarshalCedar())
		}
	}
	return out
}

// hidden stands for a value that nobody is shown.
const hidden types.String = "(writeOnly)"

// shown is the value without what the schema marks as writeOnly.
func shown(value types.Value, f *field) types.Value {
	if f == nil {
		return value
	}
	if f.secret {
		return hidden
	}
	switch v := value.(type) {
	case types.Record:
		out := types.RecordMap{}
		for name, member := range v.All() {
			out[name] = shown(member, f.members[string(name)])
		}
		return types.NewRecord(out)
	case types.Set:
		var items []types.Value
		for item := range v.All() {
			items = append(items, shown(item, f.items))
		}
		return types.NewSet(items...)
	}
	return value
}
