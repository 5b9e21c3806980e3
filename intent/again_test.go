package intent_test

import (
	"testing"

	"pgregory.net/rapid"

	"writ/intent"
)

// Whatever was refused, and asked for again however often: nothing is decided on anew of which
// anything was sent, or to which a person said no.
func TestOnlyWhatWasNeverSentAndNobodyDeniedIsDecidedAgain(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		for name, tc := range map[string]struct {
			record intent.Record
			may    bool
		}{
			"never sent":          {intent.Record{}, true},
			"confirmed":           {intent.Record{Decisions: []intent.Decided{{Kind: intent.Confirm}}}, true},
			"denied":              {intent.Record{Decisions: []intent.Decided{{Kind: intent.Confirm}, {Kind: intent.Deny}}}, false},
			"cancelled":           {intent.Record{Decisions: []intent.Decided{{Kind: intent.Cancel}}}, false},
			"presumably sent":     {intent.Record{Attempts: []intent.Attempt{{Number: 1, Presumed: true}}}, false},
			"sent without effect": {intent.Record{Attempts: []intent.Attempt{{Number: 1, Outcome: intent.NotApplied}}}, false},
		} {
			tc.record.State = state
			if may := intent.DecidesAgain(tc.record); may != (tc.may && state == intent.Refused) {
				t.Errorf("%s, %s: %v", state, name, may)
			}
		}
	}
}

// The keys of a life: one for all generations before anything was sent, and then another for each.
func TestAGenerationAfterARefusalKeepsTheKeyAndEveryOtherHasOneOfItsOwn(t *testing.T) {
	histories(t, func(t *rapid.T, l *life, _ intent.Step) {
		first := 0
		if len(l.Attempts) > 0 {
			first = l.Attempts[0].Generation
		}
		for g := 1; g <= l.Generation; g++ {
			derived := intent.KeyGeneration(first, g)
			if beforeSent := first == 0 || g <= first; beforeSent && derived != 1 || !beforeSent && derived != g {
				t.Fatalf("generation %d of %d, first sent in %d: the key is that of %d", g, l.Generation, first, derived)
			}
		}
		if len(l.Attempts) == 0 && l.Generation > 1 && !l.repeated {
			t.Fatalf("generation %d began before anything was sent, and nobody asked again", l.Generation)
		}
	})
}
