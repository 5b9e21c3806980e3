package writ

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy/cedar"
	"writ/tools"
)

// governed is an engine whose intents were decided on by these policies, of which workers keep the
// text.
func governed(t *testing.T, text string) engine {
	t.Helper()
	e := newEngineOver(t, pgtest.Schema(t))
	set, err := cedar.FromFiles(map[string]string{"rules.cedar": text})
	if err == nil {
		err = e.store.SavePolicies(t.Context(), set.Digest().String(), set.Files())
	}
	if err != nil {
		t.Fatal(err)
	}
	e.decision = fmt.Sprintf(`{"allow":true,"policy":"cedar","policy_digest":%q}`, set.Digest())
	return e
}

const operatorsOnly = `
@id("ask") permit(principal, action == Action::"tool.execute", resource);
@id("operators") permit(principal in Role::"operator", action in [
	Action::"tool.confirm", Action::"tool.deny", Action::"tool.cancel", Action::"tool.resolve", Action::"tool.inquire",
	Action::"tool.reissue", Action::"tool.acknowledge"], resource);
@id("gone") @reason("mallory left") forbid(principal == Principal::"mallory", action, resource);
`

// waiting writes an intent that waits for a person.
func (e engine) waiting(t *testing.T, key intent.RequestKey) intent.ID {
	t.Helper()
	p := e.propose(t, refund, key)
	p.ConfirmWithin, p.Approvers = time.Hour, 1
	return e.insert(t, p).ID
}

// failed writes an intent that a person resolved as not applied.
func (e engine) failed(t *testing.T, key intent.RequestKey) intent.ID {
	t.Helper()
	row := e.park(t, refund, key)
	operator := Decider{Principal: "olga", Roles: []string{"operator"}, Note: "not in their books"}
	if _, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveNotApplied}, operator); err != nil {
		t.Fatal(err)
	}
	return row.ID
}

func TestEveryDecisionIsAskedForByItsActionAndNothingIsRecordedOfWhomThePoliciesDoNotPermit(t *testing.T) {
	t.Parallel()
	transfer := tools.Spec{Name: "transfers.create", SideEffectful: true, Reconcilable: true, Lookup: tools.LookupContract{Max: 1, SettleDelay: tools.Immediate}}
	for action, c := range map[string]struct {
		on     func(e engine, t *testing.T) intent.ID
		decide func(e engine, ctx context.Context, id intent.ID, by Decider) (Intent, error)
		effect intent.Outcome
	}{
		"tool.confirm": {func(e engine, t *testing.T) intent.ID { return e.waiting(t, "a") }, engine.Confirm, intent.NotApplied},
		"tool.deny":    {func(e engine, t *testing.T) intent.ID { return e.waiting(t, "a") }, engine.Deny, intent.NotApplied},
		"tool.cancel":  {func(e engine, t *testing.T) intent.ID { return e.insert(t, e.propose(t, refund, "a")).ID }, engine.Cancel, intent.NotApplied},
		"tool.reissue": {func(e engine, t *testing.T) intent.ID { return e.failed(t, "a") }, engine.Reissue, intent.NotApplied},
		"tool.inquire": {func(e engine, t *testing.T) intent.ID { return e.lookedUp(t, transfer, "a").ID }, engine.Inquire, intent.Unknown},
		"tool.resolve": {func(e engine, t *testing.T) intent.ID { return e.park(t, refund, "a").ID },
			func(e engine, ctx context.Context, id intent.ID, by Decider) (Intent, error) {
				return e.Resolve(ctx, id, Resolution{As: ResolveApplied}, by)
			}, intent.Unknown},
		"tool.acknowledge": {func(e engine, t *testing.T) intent.ID {
			id := e.failed(t, "a")
			row, err := e.store.Load(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			e.late(t, row, intent.Applied)
			return id
		}, engine.Acknowledge, intent.Applied},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			e := governed(t, operatorsOnly)
			id := c.on(e, t)
			before, err := e.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			for says, by := range map[string]Decider{
				"eve is not permitted " + action + " on intent " + id.String() + ": no policy permits it": {Principal: "eve", Roles: []string{"support"}, Note: "seen"},
				"forbidden by gone: mallory left": {Principal: "mallory", Roles: []string{"operator"}, Note: "seen"},
			} {
				_, err := c.decide(e, t.Context(), id, by)
				wantNotPermitted(t, err, c.effect, says)
			}
			after, err := e.Get(t.Context(), id)
			if err != nil || len(after.Decisions) != len(before.Decisions) || after.State != before.State || after.Next != before.Next {
				t.Errorf("after the refused decisions: %+v, %v; before: %+v", after, err, before)
			}
			v, err := c.decide(e, t.Context(), id, Decider{Principal: "olga", Roles: []string{"operator"}, Note: "seen"})
			if err != nil || len(v.Decisions) != len(before.Decisions)+1 {
				t.Errorf("by an operator: %+v, %v", v, err)
			}
		})
	}
}

func wantNotPermitted(t *testing.T, err error, effect intent.Outcome, word string) {
	t.Helper()
	says(t, err, intent.CodeNotPermitted, effect, []string{word, "nothing was recorded"}, nil)
}

func TestWhatIsWrongWithADecisionAnywayIsSaidBeforeThePoliciesAreAsked(t *testing.T) {
	t.Parallel()
	e := governed(t, operatorsOnly)
	id := e.waiting(t, "a")
	if _, err := e.Confirm(t.Context(), id, Decider{Principal: "till-7"}); intent.CodeOf(err) != intent.CodeSelfConfirmation {
		t.Errorf("who asked: %v", err)
	}
	if _, err := e.Acknowledge(t.Context(), id, Decider{Principal: "eve"}); intent.CodeOf(err) != intent.CodeNoAlert {
		t.Errorf("without an alert: %v", err)
	}
	if _, err := e.Confirm(t.Context(), e.failed(t, "b"), Decider{Principal: "eve"}); intent.CodeOf(err) != intent.CodeNotAwaiting {
		t.Errorf("what does not wait: %v", err)
	}
}

func TestWhoIssuesAConfirmedIntentAgainMayConfirmItToo(t *testing.T) {
	t.Parallel()
	e := governed(t, `
		permit(principal in Role::"operator", action == Action::"tool.reissue", resource);
		permit(principal in Role::"finance", action == Action::"tool.confirm", resource);`)
	id := e.waiting(t, "a")
	if _, err := e.Confirm(t.Context(), id, Decider{Principal: "grace", Roles: []string{"finance"}}); err != nil {
		t.Fatal(err)
	}
	row, err := e.store.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	e.loseNext(t, row)
	if _, err := e.store.Journal(t.Context(), id, nil, activities.Seal); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resolve(t.Context(), id, Resolution{As: ResolveNotApplied}, known); err != nil {
		t.Fatal(err)
	}
	_, err = e.Reissue(t.Context(), id, Decider{Principal: "olga", Roles: []string{"operator"}})
	wantNotPermitted(t, err, intent.NotApplied, "tool.confirm")
	if v, err := e.Reissue(t.Context(), id, Decider{Principal: "bob", Roles: []string{"finance", "operator"}}); err != nil || v.Generation != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestNoLineOfAFileIsRecordedIfThePoliciesDoNotPermitOne(t *testing.T) {
	t.Parallel()
	e := governed(t, `permit(principal in Role::"operator", action == Action::"tool.resolve", resource == Tool::"payments.refund") unless { context.payload has currency && context.payload.currency == "USD" };`)
	row := e.park(t, refund, "a")
	line := []ResolutionLine{{Line: 1, IntentID: row.ID, Resolution: Resolution{As: ResolveNotApplied}, Note: "seen"}}
	if got := e.ResolveAll(t.Context(), line, Decider{Principal: "eve"}); got[0].Outcome != LineFailed || intent.CodeOf(got[0].Err) != intent.CodeNotPermitted {
		t.Errorf("%+v", got[0])
	}
	if got := e.ResolveAll(t.Context(), line, Decider{Principal: "olga", Roles: []string{"operator"}}); got[0].Outcome != LineResolved || got[0].Err != nil {
		t.Errorf("%+v", got[0])
	}
}

func TestAPolicyThatFailsAboutADecisionPermitsNothingAndRepeatsNoValue(t *testing.T) {
	t.Parallel()
	e := governed(t, `permit(principal, action == Action::"tool.deny", resource) when { context.payload has amount && context.payload.amount > 5 };`)
	id := e.waiting(t, "a")
	_, err := e.Deny(t.Context(), id, Decider{Principal: "eve"})
	wantNotPermitted(t, err, intent.NotApplied, "the policies give no answer: policy rules.cedar:1 failed")
	if strings.Contains(err.Error(), "12.9") {
		t.Errorf("it repeats the payload: %v", err)
	}
}

// An earlier release kept no text, and its policies could rule no decider; a host's own policy may
// have a digest of its own.
func TestPoliciesWithoutATextRuleNoDecider(t *testing.T) {
	t.Parallel()
	e := newEngineOver(t, pgtest.Schema(t))
	e.decision = `{"allow":true,"policy":"ours","policy_digest":"7"}`
	if v, err := e.Confirm(t.Context(), e.waiting(t, "a"), Decider{Principal: "eve"}); err != nil || v.State != intent.Recorded {
		t.Errorf("%+v, %v", v, err)
	}
}

// Whoever decides reads the policies before the intent's lock: what is decided on under it must be what
// they were read for.
func TestNobodyDecidesByThePoliciesOfAnEarlierDecision(t *testing.T) {
	t.Parallel()
	e := governed(t, operatorsOnly)
	p := e.propose(t, refund, "a")
	first := p
	first.Decision = []byte(`{"allow":false,"code":"policy_denied","policy":"none"}`) // which rules nobody
	row, err := e.store.InsertEnded(t.Context(), first.Bound(), outbox.End{To: intent.Refused, Reason: intent.ReasonRefused}, activities.Seal)
	if err != nil {
		t.Fatal(err)
	}
	eve, err := e.permitted(t.Context(), row, Decider{Principal: "eve"})
	if err != nil {
		t.Fatal(err)
	}
	p.ConfirmWithin = time.Hour
	again := e.insert(t, p.Over(row).Bound())
	for name, decide := range map[string]func() (outbox.Row, error){
		"confirm": func() (outbox.Row, error) { return e.store.Confirm(t.Context(), row.ID, eve) },
		"cancel":  func() (outbox.Row, error) { return e.store.Cancel(t.Context(), row.ID, eve, activities.Seal) },
	} {
		if now, err := decide(); intent.CodeOf(err) != intent.CodeCommitmentChanged {
			t.Errorf("%s: %s, %v", name, now.State, err)
		}
	}
	if now, err := e.store.Load(t.Context(), row.ID); err != nil || now.Version != again.Version {
		t.Errorf("%+v, %v", now, err)
	}
}
