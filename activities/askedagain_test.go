package activities_test

import (
	"errors"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/tools"
)

// However an attempt comes about, and however long it waited where nobody asked: the policy of that
// time is asked before it is made.
func TestNoAttemptIsMadeThatThePolicyWasNotAskedAboutJustBefore(t *testing.T) {
	t.Parallel()
	const aWhile = 10 * time.Minute
	fails := answering(tools.NotApplied(errors.New("503")))
	for name, tc := range map[string]struct {
		spec    tools.Spec
		answers []func() (tools.Result, error)
		// until drives the intent to the moment at which the policy changes its mind, and returns the
		// step that is taken then.
		until func(t *testing.T, b bundle, in activities.Input) activities.Progress
		sent  int
		state intent.State
	}{
		"it waited in the queue of a worker": {keyed(), nil, func(t *testing.T, b bundle, in activities.Input) activities.Progress {
			return b.recorded(t, in)
		}, 0, intent.Refused},
		"a read without a row waited there": {read(), nil, func(t *testing.T, b bundle, in activities.Input) activities.Progress {
			return b.authorize(t, in)
		}, 0, intent.Refused},
		"its row could not be written for a while": {keyed(), nil, func(t *testing.T, b bundle, in activities.Input) activities.Progress {
			return b.authorize(t, in)
		}, 0, intent.Refused},
		"a lookup found nothing": {lookUpable(), []func() (tools.Result, error){lost}, func(t *testing.T, b bundle, in activities.Input) activities.Progress {
			fromRow := activities.Input{IntentID: in.IntentID}
			out := b.invoke(t, b.recorded(t, in), in)
			p := b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
			for p.Step.Kind != intent.Reconcile {
				b.later(t, aWhile)
				p = b.authorize(t, fromRow)
			}
			return p
		}, 1, intent.Failed},
		"its key was spent": {keyed(), []func() (tools.Result, error){fails}, func(t *testing.T, b bundle, in activities.Input) activities.Progress {
			out := b.invoke(t, b.recorded(t, in), in)
			b.later(t, aWhile) // longer than the provider remembers the key
			return activities.Progress{Step: intent.Step{Kind: intent.Settle}, Labels: in.Request.Labels(), Attempts: out.Evidence.Attempt}
		}, 1, intent.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &verdict{allow: true}
			world := &books{provider: &provider{answers: append(tc.answers, applied)}, spec: tc.spec, findings: findings{absent}}
			var tool tools.Tool = world
			if !tc.spec.Reconcilable {
				tool = tools.New(tc.spec, world.invoke)
			}
			b := start(t, v, tool)
			in := ask(tc.spec.Name)
			p := tc.until(t, b, in)
			b.later(t, aWhile)
			v.set(false, nil)
			p, steps := b.driveFrom(t, in, p)
			if p.State != tc.state || len(world.calls) != tc.sent {
				t.Errorf("%s by %v, sent %d times, want %s and %d", p.State, steps, len(world.calls), tc.state, tc.sent)
			}
		})
	}
}

// What is learned between the policy's no and its being written down does not let the attempt through.
func TestThePolicysNoIsNotLostToWhatIsLearnedMeanwhile(t *testing.T) {
	t.Parallel()
	v := &verdict{allow: true}
	world := &provider{answers: []func() (tools.Result, error){lost, lost, applied}}
	b := start(t, v, tools.New(keyed(), world.invoke))
	in, fromRow := ask("payments.capture"), activities.Input{}
	fromRow.IntentID = in.IntentID
	out := b.invoke(t, b.recorded(t, in), in)
	p := b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
	for p.Attempts < 2 || p.Step.Kind != activities.StepPersist {
		b.later(t, 5*time.Second)
		v.set(p.Attempts < 2, nil)
		if p = b.authorize(t, fromRow); p.Step.Kind == intent.Invoke {
			second := b.invoke(t, p, fromRow)
			p = b.journal(t, activities.JournalInput{Input: fromRow, Evidence: second.Evidence})
		}
	}
	late := *out.Evidence
	late.Outcome, late.Code = intent.NotApplied, "http_503"
	if _, err := b.store.RecordEvidence(t.Context(), in.IntentID, late, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
	if p, steps := b.driveFrom(t, fromRow, p); p.State != intent.InDoubt || len(world.asked()) != 2 {
		t.Errorf("%s by %v, sent %d times", p.State, steps, len(world.asked()))
	}
}
