package cedar

import (
	"context"
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	expast "github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/ast"

	"writ/policy"
)

// governs reports whether the policies rule who may do that: some policy's head names the action.
// Then it is refused to whom no policy permits it; else it is open to everybody.
func (s *Set) governs(action policy.Action) bool { return s.governed[action] }

// GovernsDeciders reports whether some policy's head names any of policy.DecidingActions: otherwise
// all of them are open to everybody.
func (s *Set) GovernsDeciders() bool {
	return slices.ContainsFunc(policy.DecidingActions(), s.governs)
}

// MayDecide permits an action that the policies do not govern, and else what a policy permits that
// names the action in its head, and none forbids. Errors are as those of Evaluate; an action by
// which nobody decides is one.
func (s *Set) MayDecide(_ context.Context, a policy.Act) (policy.Verdict, error) {
	if !slices.Contains(policy.DecidingActions(), a.Action) {
		return policy.Verdict{}, fmt.Errorf("nobody decides by the action %.64q", a.Action)
	}
	if !s.governs(a.Action) {
		return policy.Verdict{Allow: true, Reason: "no policy names " + string(a.Action), Digest: s.digest.String()}, nil
	}
	q, err := s.questionOf(a)
	if err != nil {
		return policy.Verdict{}, err
	}
	allow, why := cedar.Authorize(s.deciding, q.entities, q.request)
	if err := failure(why.Errors); err != nil {
		return policy.Verdict{}, err
	}
	return s.verdict(bool(allow), s.matched(why), nil), nil
}

// requesterOf is who asked for the intent. It is a record, because the decider may be the same
// principal in other roles, and an entity has its roles once.
func requesterOf(a policy.Act) types.Record {
	asked := a.On.Context
	requester := actingAs(asked)
	requester["principal"], requester["authentication"] = principalOf(asked.Principal), authenticationOf(asked)
	return types.NewRecord(requester)
}

func requesterType() ast.RecordType {
	return ast.RecordType{
		"principal":      {Type: ast.EntityType(typePrincipal)},
		"roles":          {Type: ast.Set(ast.String())},
		"onBehalfOf":     {Type: ast.Set(ast.EntityType(typePrincipal))},
		"authentication": {Type: authenticationType()},
	}
}

func authenticationType() ast.RecordType {
	return ast.RecordType{"source": {Type: ast.String()}, "proven": {Type: ast.Bool()}}
}

// readActions reads the actions in the policy's head. In a condition they are refused: whether an
// action is governed must be plain from the heads, for a permit that never applies looks like a
// rule.
func (r *rule) readActions() (wrong Faults) {
	if len(idsIn(r.policy, typeAction)) > 0 {
		wrong = append(wrong, r.fault("the policy %s names an action in a condition; name it in the head", r.id))
	}
	var named []types.EntityUID
	switch head := (*expast.Policy)(r.policy.AST()).Action.(type) {
	case expast.ScopeTypeEq:
		named = []types.EntityUID{head.Entity}
	case expast.ScopeTypeIn:
		named = []types.EntityUID{head.Entity}
	case expast.ScopeTypeInSet:
		named = head.Entities
	}
	for _, uid := range named {
		r.actions = append(r.actions, policy.Action(uid.ID))
	}
	if r.approvers > 0 && slices.ContainsFunc(r.actions, func(a policy.Action) bool { return a != policy.ActionExecute }) {
		wrong = append(wrong, r.fault("@confirm asks for people before something is run; it stands before a forbid of %s alone", policy.ActionExecute))
	}
	return wrong
}

// decides reports whether the policy rules who may decide. A forbid whose head names no action
// forbids every action, unless it asks for people; a permit like that permits only to ask, so that
// a set which says nothing of deciders lets nobody decide by accident.
func (r rule) decides() bool {
	return r.approvers == 0 && (len(r.actions) > 0 || r.policy.Effect() == cedar.Forbid)
}
