package intent_test

import (
	"errors"
	"testing"

	"writ/intent"
	"writ/internal/intake"
)

// The corpus at the rule itself; every door runs it too.
func TestThePayloadsOfTheCorpusAreReadAsItSays(t *testing.T) {
	t.Parallel()
	for _, c := range intake.Cases(t) {
		if c.Door != intake.DoorPayload {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			p, err := intent.ReadPayload(intent.Value{Raw: c.Input}, intent.MaxPayload)
			if err == nil && p.FromText && !c.Schema {
				err = p.NotObject()
			}
			wantCase(t, c, p.Canonical, err)
			// A payload that does not stand at the beginning has its errors further on.
			_, moved := intent.ReadPayload(intent.Value{Raw: c.Input, Offset: 1000}, intent.MaxPayload)
			var e *intent.Error
			if c.Offset >= 0 && errors.As(moved, &e) && e.Offset != c.Offset+1000 {
				t.Errorf("1000 bytes further on the offset is %d", e.Offset)
			}
		})
	}
}

// wantCase checks what became of a case.
func wantCase(t *testing.T, c intake.Case, canonical []byte, err error) {
	t.Helper()
	if c.Code == "" {
		if err != nil || string(canonical) != string(c.Canonical) {
			t.Errorf("got %.200q, %v; want %.200q", canonical, err, c.Canonical)
		}
		return
	}
	wantRefusal(t, err, intent.Code(c.Code), c.Offset)
}
