package outbox_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// The row of what a caller repeats was lost, and with it that the provider has performed it.
func TestWhatMayRepeatALostRequestIsLookedUpBeforeItIsSent(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	lookUp := intent.Step{Kind: intent.Reconcile, Reason: intent.ReasonLookUp}
	send := intent.Step{Kind: intent.Invoke, Attempt: 1, Reason: intent.ReasonFirstAttempt}
	minted := intent.MintedRequestKey(uuid.UUID{1, 6: 0x40, 8: 0x80})
	for name, c := range map[string]struct {
		key   intent.RequestKey
		rules intent.Rules
		after time.Duration
		want  intent.Step
	}{
		"a caller's key":               {"order-4711", reconcilable(), time.Minute, lookUp},
		"days later":                   {"order-4711", reconcilable(), 6 * day, lookUp},
		"when nobody can mean the old": {"order-4711", reconcilable(), 8 * day, send},
		"a key that nobody can repeat": {minted, reconcilable(), time.Minute, send},
		"a key that the provider has":  {"order-4711", keyed(), time.Minute, send},
		"what cannot be looked up":     {"order-4711", opaque(), time.Minute, send},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			b.loseCommits(t)
			b.afterRestore(t, outbox.Restore{})
			b.setClock(t, noon.Add(c.after))
			row := b.insert(t, propose(string(c.key), c.rules))
			if row.Next() != c.want {
				t.Errorf("next %+v, want %+v", row.Next(), c.want)
			}
			if again := b.insert(t, propose(string(c.key), c.rules)); again.Version != row.Version {
				t.Errorf("inserted again it has version %d, and had %d", again.Version, row.Version)
			}
		})
	}
}

// A claim that was lost has its lease from before, so nobody waits for it days later: one lookup
// that finds nothing lets the request go on.
func TestARequestThatRepeatsNothingIsSentAfterOneLookup(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.loseCommits(t)
	b.afterRestore(t, outbox.Restore{})
	b.setClock(t, noon.Add(time.Hour))
	row := b.insert(t, propose("order-4711", reconcilable()))
	b.beginLookup(t, row)
	row = b.recordLookup(t, b.load(t, row.ID), outbox.Found{Token: lookupToken(1), Finding: intent.Absent})
	if step := row.Next(); step.Kind != intent.Invoke || step.Attempt != 2 {
		t.Errorf("next %+v, attempts %+v, lookups %+v", step, row.Attempts, row.Lookups)
	}
	b.granted(t, row)
}

func TestWhatIsAskedForBeforeAnybodyTrustsTheHistoryIsLookedUpToo(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.loseCommits(t)
	row := b.insert(t, propose("order-4711", reconcilable()))
	if step := row.Next(); step.Kind != intent.Reconcile {
		t.Errorf("next %+v", step)
	}
	if done := b.afterRestore(t, outbox.Restore{Before: noon.Add(-time.Hour)}); done.Marked != 0 {
		t.Errorf("%+v", done)
	}
	if step := b.load(t, row.ID).Next(); step.Kind != intent.Reconcile {
		t.Errorf("when the history is trusted: %+v", step)
	}
}
