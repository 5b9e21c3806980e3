package policy

import (
	"context"

	"writ/intent"
)

// Action is what somebody does, in the words of policies.
type Action string

// ActionExecute is to ask for a tool to be run; the others are a person's decisions about an intent.
const (
	ActionExecute     Action = "tool.execute"
	ActionConfirm     Action = "tool.confirm"
	ActionDeny        Action = "tool.deny"
	ActionCancel      Action = "tool.cancel"
	ActionResolve     Action = "tool.resolve"
	ActionInquire     Action = "tool.inquire"
	ActionReissue     Action = "tool.reissue"
	ActionAcknowledge Action = "tool.acknowledge"
)

// DecidingActions returns the actions by which people decide about intents.
func DecidingActions() []Action {
	return []Action{ActionConfirm, ActionDeny, ActionCancel, ActionResolve, ActionInquire, ActionReissue, ActionAcknowledge}
}

// ActionOf is the action of a decision.
func ActionOf(kind intent.DecisionKind) Action {
	switch kind {
	case intent.Confirm:
		return ActionConfirm
	case intent.Deny:
		return ActionDeny
	case intent.Cancel:
		return ActionCancel
	case intent.ResolveApplied, intent.ResolveNotApplied, intent.Retry:
		return ActionResolve
	case intent.Inquire:
		return ActionInquire
	case intent.Reissue:
		return ActionReissue
	case intent.Acknowledge:
		return ActionAcknowledge
	}
	panic("policy: no action for the decision " + string(kind))
}

// Act is a request, or a person's decision about an intent, as far as it matters to who may make it.
type Act struct {
	Action Action
	// By is who acts: principal, roles, for whom, and who vouches for that.
	By intent.EffectContext
	// On are the facts of the intent. Their context is that of its requester, and Now is when it
	// is, or was, decided.
	On Facts
}

// Asking is the request with these facts, as its requester's act.
func Asking(f Facts) Act { return Act{Action: ActionExecute, By: f.Context, On: f} }

// Deciders is a [Policy] that also rules who may decide about intents.
type Deciders interface {
	Policy
	// MayDecide answers as Evaluate does. It allows an action that the policy does not speak of.
	MayDecide(ctx context.Context, a Act) (Verdict, error)
}
