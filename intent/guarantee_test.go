package intent_test

import (
	"testing"

	"pgregory.net/rapid"

	"writ/intent"
)

// The guarantees of the classes, on the books of a world that keeps its contract: requests are
// lost, held back and sent late, answers are lost, workers die and freeze, people decide, policies
// and holds come and go.

func TestAKeyedEffectHappensAtMostOnceWhileTheProviderKeepsItsContract(t *testing.T) {
	endings(t, intent.Keyed, atMostOnce)
}

func TestAReconcilableEffectHappensAtMostOnceWhileLookupsAreAuthoritative(t *testing.T) {
	endings(t, intent.Reconcilable, atMostOnce)
}

func TestAnOpaqueEffectHappensAtMostOnce(t *testing.T) {
	endings(t, intent.Opaque, atMostOnce)
}

func TestATransactionalEffectHappensExactlyIfItsIntentIsCompleted(t *testing.T) {
	endings(t, intent.Transactional, func(t *rapid.T, l *life) {
		atMostOnce(t, l)
		if happened := len(l.world.effects) == 1; happened != (l.State == intent.Completed) {
			t.Fatalf("it happened: %v, and the intent is %s", happened, l.State)
		}
	})
}

func TestAReadThatIsCompletedHasAnAnswer(t *testing.T) {
	endings(t, intent.Read, func(t *rapid.T, l *life) {
		if intent.Happened(l.Record) != intent.Applied && l.State == intent.Completed {
			t.Fatalf("completed with %+v", l.Attempts)
		}
	})
}

// atMostOnce checks the books, and that what the intent says of them is true.
func atMostOnce(t *rapid.T, l *life) {
	if len(l.world.effects) > 1 {
		t.Fatalf("%d effects: %+v\n%+v", len(l.world.effects), l.world.effects, l.Record)
	}
	switch l.State {
	case intent.Completed:
		if !l.world.done() && !l.said {
			t.Fatalf("completed, and nothing happened: %+v", l.Record)
		}
	case intent.Failed, intent.Cancelled, intent.Refused:
		if len(l.world.effects) > 0 {
			t.Fatalf("%s, and it happened: %+v", l.State, l.Record)
		}
	case intent.Submitted, intent.AwaitingConfirmation, intent.Recorded, intent.Invoking, intent.InDoubt:
	}
}
