package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/intent"
)

// Approval is the demand of a verdict that allows: people must confirm before anything is sent.
type Approval struct {
	// Approvers is how many different people must confirm, MaxApprovers at most; 0 is 1.
	Approvers int
}

// Quorum is how many different people must confirm before anything is sent; 0 if nobody has to.
func (d Decision) Quorum() int {
	if !d.Allow || !d.Confirm {
		return 0
	}
	return max(d.Approvers, 1)
}

// demand adds to a decision that allows that people must confirm. One approver is not written
// down, so that decisions of earlier releases keep their form.
func (d Decision) demand(a *Approval) Decision {
	if a == nil {
		return d
	}
	d.Confirm = true
	if a.Approvers > 1 {
		d.Approvers = a.Approvers
	}
	return d
}

// tally is how many of those who confirmed count, and of the others who they are and why they do
// not, with the policies that say so.
type tally struct {
	count    int
	others   []string
	policies []string
}

// suffices turns a decision on what was decided on before into a denial if it asks for more
// people than count: a demand that came later is not met by what was asked for then.
func (d Decision) suffices(t tally) Decision {
	if d.Quorum() <= t.count {
		return d
	}
	others := ""
	if len(t.others) > 0 {
		others = " (" + strings.Join(t.others, "; ") + ")"
	}
	d.Reason = fmt.Sprintf("the policy asks by now for %d to confirm it, and %d who may did%s; the same request again waits for as many as it asks for then", d.Quorum(), t.count, others)
	d.Policies = slices.Compact(slices.Sorted(slices.Values(slices.Concat(d.Policies, t.policies))))
	d.Allow, d.Confirm, d.Approvers, d.Code = false, false, 0, intent.CodeConfirmationInsufficient
	return d
}

// Confirmation is one that is on record: by whom, and when.
type Confirmation struct {
	By intent.EffectContext
	At time.Time
}

// Suffice returns d, the decision on an intent that people were asked to confirm before, or a denial
// with code confirmation_insufficient if d asks for more of them than have confirmed. If the host's
// policy is one of [Deciders], only the confirmations count that it permits as things stand; f are
// the facts that d was decided on. Errors, and a policy that gives no answer, are as with Decide.
func (e *Engine) Suffice(ctx context.Context, d Decision, f Facts, list []Confirmation) (Decision, error) {
	rules, ok := e.policy.(Deciders)
	if !ok || d.Quorum() == 0 {
		return d.suffices(tally{count: len(list)}), nil
	}
	f.Risk = d.Risk
	on := &evaluation{Engine: e, facts: f}
	var t tally
	for _, c := range list {
		act := Act{Action: ActionConfirm, By: c.By, On: f}
		act.On.Now = c.At
		verdict, denial, err := judge(ctx, on, rules, func(ctx context.Context) (Verdict, error) { return rules.MayDecide(ctx, act) })
		switch {
		case err != nil || denial.Code != "":
			return denial, err
		case verdict.Allow:
			t.count++
		default:
			t.others = append(t.others, fmt.Sprintf("%s may not: %s", c.By.Principal, verdict.Reason))
			t.policies = append(t.policies, verdict.Policies...)
		}
	}
	return d.suffices(t), nil
}
