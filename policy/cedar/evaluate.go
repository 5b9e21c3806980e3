package cedar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"writ/intent"
	"writ/policy"
)

// Name returns "cedar".
func (s *Set) Name() string { return "cedar" }

// Evaluate permits what a policy permits and none forbids, and asks for as many people as the
// greatest @confirm that applies. An error says which policy failed, or what of the payload no
// policy can read; it repeats no value of the payload.
func (s *Set) Evaluate(_ context.Context, f policy.Facts) (policy.Verdict, error) {
	q, err := s.questionOf(policy.Asking(f))
	if err != nil {
		return policy.Verdict{}, err
	}
	allow, why := cedar.Authorize(s.binding, q.entities, q.request)
	_, demands := cedar.Authorize(s.demands, q.entities, q.request)
	if err := failure(slices.Concat(why.Errors, demands.Errors)); err != nil {
		return policy.Verdict{}, err
	}
	return s.verdict(bool(allow), s.matched(why), s.matched(demands)), nil
}

// question is what the policies are asked: whether somebody may do that with the tool.
type question struct {
	tool     hosted
	request  cedar.Request
	entities cedar.EntityMap
}

func (s *Set) questionOf(a policy.Act) (question, error) {
	tool, facts, err := s.contextOf(a.On, a.By)
	if err != nil {
		return question{}, err
	}
	if a.Action != policy.ActionExecute {
		facts["requester"] = requesterOf(a)
	}
	principal, resource := principalEntity(a.By), toolEntity(tool)
	return question{tool: tool, request: cedar.Request{
		Principal: principal.UID, Action: cedar.NewEntityUID(typeAction, types.String(a.Action)), Resource: resource.UID, Context: types.NewRecord(facts),
	}, entities: cedar.EntityMap{principal.UID: principal, resource.UID: resource}}, nil
}

// verdict puts into words what matched: the permits or the forbids, and the demands for people,
// which count only for what is permitted.
func (s *Set) verdict(allow bool, matched, demands []rule) policy.Verdict {
	v := policy.Verdict{Allow: allow, Digest: s.digest.String()}
	if allow {
		matched = append(matched, demands...)
	}
	for _, r := range matched {
		v.Policies = append(v.Policies, r.id)
	}
	slices.Sort(v.Policies)
	switch {
	case !allow && len(matched) == 0:
		v.Reason = "no policy permits it"
	case !allow:
		v.Reason = "forbidden by " + some(v.Policies) + reasons(matched)
	default:
		v.Reason = "permitted by " + some(v.Policies)
	}
	if !allow || len(demands) == 0 {
		return v
	}
	v.Approval = &policy.Approval{}
	for _, r := range demands {
		v.Approval.Approvers = max(v.Approval.Approvers, r.approvers)
	}
	v.Reason = fmt.Sprintf("%s when it is confirmed by %d%s", v.Reason, v.Approval.Approvers, reasons(demands))
	return v
}

// maxTold is how many policies, and how many of their reasons, a reason tells.
const maxTold = 10

// some names the policies, or the first of them and how many others there are.
func some(ids []string) string {
	if len(ids) <= maxTold {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(ids[:maxTold], ", "), len(ids)-maxTold)
}

// reasons is what the policies' authors say, after a colon.
func reasons(list []rule) string {
	var said []string
	for _, r := range list {
		if len(said) < maxTold && r.reason != "" && !slices.Contains(said, r.reason) {
			said = append(said, r.reason)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, "; ")
}

// matched returns the rules of a diagnostic, ordered by id.
func (s *Set) matched(d cedar.Diagnostic) (list []rule) {
	matched := make(map[cedar.PolicyID]bool, len(d.Reasons))
	for _, reason := range d.Reasons {
		matched[reason.PolicyID] = true
	}
	for _, r := range s.rules {
		if matched[cedar.PolicyID(r.id)] {
			list = append(list, r)
		}
	}
	return list
}

// failure names the policies that failed, and how.
func failure(list []cedar.DiagnosticError) error {
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = fmt.Errorf("policy %s failed: %s", e.PolicyID, kindOf(e))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// contextOf is what policies know beside principal and tool, of whom who is the principal. What is
// not known is left out, and a policy that reads it fails.
func (s *Set) contextOf(f policy.Facts, who intent.EffectContext) (hosted, types.RecordMap, error) {
	tool, ok := s.tools[f.Tool.Name]
	if !ok {
		return hosted{}, nil, fmt.Errorf("the policies were not checked against the tool %s", f.Tool.Name)
	}
	payload, err := recordOf(f.Payload, tool.payload, s.read.reads)
	if err != nil {
		return hosted{}, nil, err
	}
	risk, err := riskOf(f.Risk)
	if err != nil {
		return hosted{}, nil, err
	}
	out := types.RecordMap{
		"tenant": types.String(f.Context.Tenant), "risk": risk, "payload": payload, "authentication": authenticationOf(who),
	}
	if f.Context.Service != "" {
		out["service"] = types.String(f.Context.Service)
	}
	if !f.Now.IsZero() {
		out["now"] = types.NewDatetime(f.Now)
	}
	return tool, out, nil
}

// riskOf gives the risk as it is written, and one with more than four digits after the point
// rounded up: a policy never sees less than there is.
func riskOf(risk float64) (types.Decimal, error) {
	if !(risk >= 0 && risk <= 1) {
		return types.Decimal{}, fmt.Errorf("the risk %v is not from 0 to 1", risk)
	}
	if d, ok := exactDecimal(strconv.FormatFloat(risk, 'f', -1, 64)); ok {
		return d, nil
	}
	return types.NewDecimal(int64(math.Ceil(risk*10_000)), -4)
}

// authenticationOf is who vouches for what is said of c.
func authenticationOf(c intent.EffectContext) types.Record {
	return types.NewRecord(types.RecordMap{
		"source": types.String(c.AuthenticationSource), "proven": types.Boolean(c.Proven()),
	})
}

// principalEntity is who acts, in its roles and for others.
func principalEntity(c intent.EffectContext) types.Entity {
	attributes := actingAs(c)
	attributes["name"] = types.String(c.Principal)
	var parents []types.EntityUID
	for _, role := range c.Roles {
		parents = append(parents, cedar.NewEntityUID(typeRole, types.String(role)))
	}
	return types.Entity{UID: principalOf(c.Principal), Parents: types.NewEntityUIDSet(parents...), Attributes: types.NewRecord(attributes)}
}

func principalOf(name string) types.EntityUID {
	return cedar.NewEntityUID(typePrincipal, types.String(name))
}

// actingAs is as what somebody acts, and for whom.
func actingAs(c intent.EffectContext) types.RecordMap {
	roles, behalf := []types.Value{}, []types.Value{}
	for _, role := range c.Roles {
		roles = append(roles, types.String(role))
	}
	for _, name := range c.OnBehalfOf {
		behalf = append(behalf, principalOf(name))
	}
	return types.RecordMap{"roles": types.NewSet(roles...), "onBehalfOf": types.NewSet(behalf...)}
}

func toolEntity(t hosted) types.Entity {
	attributes := types.RecordMap{
		"name": types.String(t.Name), "class": types.String(t.Class), "sideEffectful": types.Boolean(t.SideEffectful),
	}
	if t.Category != "" {
		attributes["category"] = types.String(t.Category)
	}
	if t.Provider != "" {
		attributes["provider"] = types.String(t.Provider)
	}
	return types.Entity{UID: uidOf(t), Parents: types.NewEntityUIDSet(groupsOf(t)...), Attributes: types.NewRecord(attributes)}
}

// kindOf says how a policy failed without what a value was: parsers repeat what they were given
// after a colon.
func kindOf(e cedar.DiagnosticError) string {
	kind, _, _ := strings.Cut(e.Message, ":")
	if strings.Contains(kind, " while attempting to ") {
		kind, _, _ = strings.Cut(kind, " while ")
	}
	return kind
}
