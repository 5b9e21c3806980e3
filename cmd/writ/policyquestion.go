package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ"
	"writ/intent"
	"writ/policy"
)

// policyQuestion is what policies are asked about: a request, or a decision about the intent of one.
type policyQuestion struct {
	// Action is tool.execute if it is absent, and else one by which people decide.
	Action  policy.Action  `json:"action"`
	Tool    string         `json:"tool"`
	Payload jsontext.Value `json:"payload"`
	// The identity is that of who acts.
	policyIdentity
	// Requester is who asked for what is decided about; nil for a request.
	Requester *policyIdentity `json:"requester"`
	Tenant    string          `json:"tenant"`
	Service   string          `json:"service"`
	Risk      float64         `json:"risk"`
	// Now is what policies see as context.now; zero: they see none.
	Now time.Time `json:"now"`
}

// policyIdentity is who somebody is, with the members of a request.
type policyIdentity struct {
	Principal  string   `json:"principal"`
	Roles      []string `json:"roles"`
	OnBehalfOf []string `json:"on_behalf_of"`
}

func (q policyQuestion) isRequest() bool { return q.Action == "" || q.Action == policy.ActionExecute }

// check says what is wrong with who is named; "" if nothing is.
func (q policyQuestion) check() string {
	switch {
	case q.isRequest() && q.Requester != nil:
		return "who asks is the principal; a requester is only of an action by which people decide"
	case !q.isRequest() && q.Requester == nil:
		return fmt.Sprintf("the requester is missing: who asked for what %.64q decides about", q.Action)
	}
	return ""
}

// act returns the tool of the list with what policies are asked. The error says that nobody could
// ask or decide so.
func (q policyQuestion) act(list []writ.Tool) (writ.Tool, policy.Act, error) {
	at := slices.IndexFunc(list, func(t writ.Tool) bool { return t.Name == q.Tool })
	if at < 0 {
		return writ.Tool{}, policy.Act{}, intent.Errorf(intent.CodeUnknownTool, "there is no tool named %.100q; `writ tools list` shows those that workers have published", q.Tool)
	}
	tool := list[at]
	asks := q.policyIdentity
	if q.Requester != nil {
		asks = *q.Requester
	}
	facts, err := writ.FactsOf(writ.Request{
		Payload: q.Payload, Tenant: q.Tenant, Principal: asks.Principal, Roles: asks.Roles, OnBehalfOf: asks.OnBehalfOf, Service: q.Service, Risk: q.Risk,
	}, tool, q.Now)
	if err != nil || q.isRequest() {
		return tool, policy.Asking(facts), err
	}
	act, err := writ.ActOf(q.Action, writ.Decider{Principal: q.Principal, Roles: q.Roles, OnBehalfOf: q.OnBehalfOf}, facts)
	return tool, act, err
}
