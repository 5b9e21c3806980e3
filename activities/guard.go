package activities

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// decideNew decides on a request that has no row yet: policy, and then the tool's duplicate
// guard. What it saw of other intents may have changed when the row is inserted; see insert.
func (a *Activities) decideNew(ctx context.Context, spec tools.Spec, r Request) (decided, error) {
	f, err := a.factsNow(ctx, spec, r)
	if err != nil {
		return decided{}, err
	}
	d, err := a.decide(ctx, f)
	if err != nil || !d.Allow || !spec.Duplicates.On() || !r.RequestKey.Minted() {
		return d, err
	}
	found, err := a.store.FindDuplicate(ctx, r.Action(), intent.IntentID(r.Context.Tenant, r.RequestKey))
	if err != nil {
		return decided{}, err
	}
	guarded, err := record(d.GuardAgainst(policy.Duplicate(found), spec.Duplicates.Action))
	if err == nil && !guarded.Allow {
		// The budgets come first; for what the guard lets through the insert asks them.
		over, err := a.overBudget(ctx, r, d)
		if err != nil || !over.Allow {
			return over, err
		}
	}
	guarded.at = d.at
	return guarded, err
}

// overBudget is the decision d, or the denial of what the budgets have no room for now.
func (a *Activities) overBudget(ctx context.Context, r Request, d decided) (decided, error) {
	proposal, err := a.propose(r, "", d)
	if err == nil {
		err = a.store.Admissible(ctx, proposal)
	}
	if denial, ok := policy.OverBudget(err); ok {
		return record(denial)
	}
	return d, err
}

// maxDecisions bounds how often one persist decides again. Repeats that come in at once all
// see the first of them, so the second decision stands unless that one came to nothing.
const maxDecisions = 5

// insert commits the row of an authorized request, or its refusal. If the request repeats
// another intent by now than the one that it was decided on, it is decided again; if a budget has
// no room for it, it is refused. A refused row, if there is one, is decided on again: what says the
// same as its refusal is not written.
func (a *Activities) insert(ctx context.Context, r Request, traceparent string, d decided, refused *outbox.Row) (outbox.Row, error) {
	for range maxDecisions {
		proposal, err := a.propose(r, traceparent, d)
		if err != nil {
			return outbox.Row{}, err
		}
		if refused != nil {
			if d.repeats(*refused, proposal.SpecDigest) {
				return *refused, nil
			}
			proposal = proposal.Over(*refused)
		}
		if !d.Allow {
			return a.store.InsertEnded(ctx, proposal, outbox.End{To: intent.Refused, Reason: intent.ReasonRefused}, Seal)
		}
		row, err := a.store.Insert(ctx, proposal)
		if denial, ok := policy.OverBudget(err); ok {
			if d, err = record(denial); err != nil {
				return outbox.Row{}, err
			}
			continue // to commit the refusal
		}
		if !errors.Is(err, outbox.ErrDuplicateChanged) {
			return row, err
		}
		tool, err := a.hosted(r.Tool)
		if err != nil {
			return outbox.Row{}, err
		}
		if d, err = a.decideNew(ctx, tool.Spec, r); err != nil {
			return outbox.Row{}, err
		}
	}
	return outbox.Row{}, fmt.Errorf("after %d decisions: %w", maxDecisions, outbox.ErrDuplicateChanged)
}

// guardOf returns what the outbox needs so that later requests find this one; nil if the
// tool has no guard.
func guardOf(guard tools.DuplicateGuard, r Request) (*outbox.Guard, error) {
	if !guard.On() {
		return nil, nil
	}
	g := &outbox.Guard{Window: guard.Window, Checked: r.RequestKey.Minted()}
	if _, err := rand.Read(g.FreshKey[:]); err != nil {
		return nil, fmt.Errorf("key of the duplicate guard: %w", err)
	}
	return g, nil
}
