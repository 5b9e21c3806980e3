package activities_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/policy"
	"writ/tools"
)

// verdict is a policy that changes its mind.
type verdict struct {
	mu    sync.Mutex
	allow bool
	err   error
}

func (v *verdict) Name() string { return "a shop that changes its mind" }

func (v *verdict) Evaluate(context.Context, policy.Facts) (policy.Verdict, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return policy.Verdict{Allow: v.allow, Reason: "the shop said so"}, v.err
}

func (v *verdict) set(allow bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.allow, v.err = allow, err
}

func TestAPolicyThatSaysNoWhileAnOutcomeIsOpenLeavesOnlyLookups(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec    tools.Spec
		answer  func() (tools.Result, error)
		find    func() (tools.Finding, error)
		state   intent.State
		reason  string
		lookups int
	}{
		"without a lookup":             {keyed(), lost, nil, intent.InDoubt, "", 0},
		"found":                        {lookUpable(), lost, found, intent.Completed, intent.ReasonFound, 1},
		"absent":                       {lookUpable(), lost, absent, intent.Failed, intent.ReasonRevoked, 2},
		"never clear":                  {lookUpable(), lost, unclear(errors.New("503")), intent.InDoubt, "", 3},
		"after a certain failure only": {keyed(), answering(tools.NotApplied(errors.New("503"))), nil, intent.Failed, intent.ReasonRevoked, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &verdict{allow: true}
			world := &books{provider: &provider{answers: []func() (tools.Result, error){tc.answer, applied}}, spec: tc.spec, findings: findings{tc.find}}
			var tool tools.Tool = world
			if !tc.spec.Reconcilable {
				tool = tools.New(tc.spec, world.invoke)
			}
			b := start(t, v, tool)
			in := ask("payments.capture")
			p := b.recorded(t, in)
			out := b.invoke(t, p, in)
			v.set(false, nil)
			fromRow := activities.Input{IntentID: in.IntentID}
			b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
			p, steps := b.drive(t, fromRow)
			row := b.row(t, in)
			if p.State != tc.state || len(world.calls) != 1 || len(row.Lookups) != tc.lookups || row.RevokedAt.IsZero() {
				t.Fatalf("%s by %v, sent %d times, asked %d times, revoked at %s", p.State, steps, len(world.calls), len(row.Lookups), row.RevokedAt)
			}
			if tc.reason == "" {
				return
			}
			if r := b.receipt(t, in); r.Reason != tc.reason || !strings.Contains(string(r.Revocation), "policy_denied") {
				t.Errorf("the receipt says %s, revoked by %s", r.Reason, r.Revocation)
			}
		})
	}
}

func TestAPolicyThatGivesNoAnswerWhileAnOutcomeIsOpenIsWaitedFor(t *testing.T) {
	t.Parallel()
	v := &verdict{allow: true}
	provider := &provider{answers: []func() (tools.Result, error){lost, applied}}
	b := start(t, v, tools.New(keyed(), provider.invoke))
	in := ask("payments.capture")
	p := b.recorded(t, in)
	out := b.invoke(t, p, in)
	fromRow := activities.Input{IntentID: in.IntentID}
	b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
	b.later(t, 5*time.Second)
	v.set(false, errors.New("the gate is down"))
	if p, err := b.Authorize(t.Context(), fromRow); err == nil {
		t.Errorf("it goes on without an answer: %+v", p)
	}
	v.set(true, nil)
	if p, _ := b.drive(t, fromRow); p.State != intent.Completed || len(provider.asked()) != 2 {
		t.Errorf("%s, sent %d times", p.State, len(provider.asked()))
	}
}

func TestANewGenerationRunsUnderTheBehaviourThatItsCommitmentNamesOrNotAtAll(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), answering(tools.NotApplied(errors.New("429")).After(time.Hour)), applied)
	in := ask("payments.capture")
	p := b.recorded(t, in)
	out := b.invoke(t, p, in)
	fromRow := activities.Input{IntentID: in.IntentID}
	p = b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence}) // renews the key: it will be forgotten by then
	if p.State != intent.Recorded {
		t.Fatalf("%+v", p)
	}
	changed := keyed()
	changed.Retry.MaxAttempts = 7
	other := b.worker(t, nil, tools.New(changed, provider.invoke))
	p, steps := other.drive(t, fromRow)
	r := b.receipt(t, in)
	if p.State != intent.Failed || len(provider.asked()) != 1 || !strings.Contains(string(r.Revocation), string(intent.CodeSpecDiverged)) {
		t.Errorf("%s by %v, sent %d times, revoked by %s", p.State, steps, len(provider.asked()), r.Revocation)
	}
}
