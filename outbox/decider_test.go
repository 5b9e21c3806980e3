package outbox_test

import (
	"reflect"
	"testing"

	"writ/intent"
	"writ/outbox"
)

func TestWhoDecidesOnWhatIsNoIntentIsRecordedAsWhatAndForWhom(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := propose("order-7", keyed())
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	by := outbox.Decider{Principal: "eve", Note: "case 4711", Roles: []string{"finance", "operator"}, OnBehalfOf: []string{"assistant", "bob"},
		AuthenticationSource: intent.AuthenticatedDirect}
	bare := outbox.Decider{Principal: "ada"}
	for what, c := range map[string]func(by outbox.Decider) (outbox.Decider, error){
		"set a hold": func(by outbox.Decider) (outbox.Decider, error) {
			hold, err := b.SetHold(t.Context(), outbox.Subject{Scope: outbox.HoldTool, Name: by.Principal}, by)
			return hold.Decider, err
		},
		"lift a hold": func(by outbox.Decider) (outbox.Decider, error) {
			hold, err := b.SetHold(t.Context(), outbox.Subject{Scope: outbox.HoldProvider, Name: by.Principal}, withdrawn)
			if err == nil {
				hold, err = b.LiftHold(t.Context(), hold.ID, by)
			}
			return hold.Lifter, err
		},
		"retry": func(by outbox.Decider) (outbox.Decider, error) {
			s, err := b.Retry(t.Context(), mine.ID(), by)
			return s.Decider, err
		},
		"drop": func(by outbox.Decider) (outbox.Decider, error) {
			dropped := propose("dropped by "+by.Principal, keyed())
			if err := b.enqueue(t, requested(dropped), true); err != nil {
				return outbox.Decider{}, err
			}
			s, err := b.Drop(t.Context(), dropped.ID(), by)
			return s.Decider, err
		},
		"trust": func(by outbox.Decider) (outbox.Decider, error) {
			if _, err := b.AfterRestore(t.Context(), outbox.Restore{SameTimeline: true, NothingLost: true}, by); err != nil {
				return outbox.Decider{}, err
			}
			now, err := inspector(t, b.url).Timelines(t.Context())
			return now.Decider, err
		},
	} {
		for _, want := range []outbox.Decider{by, bare} {
			if got, err := c(want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
			}
		}
	}
}
