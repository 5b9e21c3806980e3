package intent_test

import (
	"errors"
	"io"
	"testing"

	"writ/intent"
)

func TestAnErrorSaysWhatTheRowOfItsCodeSays(t *testing.T) {
	t.Parallel()
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			e := intent.Errorf(row.Code, "read: %w", io.ErrUnexpectedEOF)
			if e.Code != row.Code || e.Effect != row.Effect || e.TryAgain != row.TryAgain || e.Offset != -1 {
				t.Errorf("%+v, the row is %+v", e, row)
			}
			if e.Message != "read: unexpected EOF" || !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", row.Code, e)
			}
			if row.Effect != intent.NotApplied && row.Effect != intent.Unknown {
				t.Errorf("%s: an error with effect %q", row.Code, row.Effect)
			}
		}
	}
}

func TestACodeThatIsNotInTheTableClaimsNothing(t *testing.T) {
	t.Parallel()
	if e := intent.Errorf("of_a_later_release", "new"); e.Effect != intent.Unknown || e.TryAgain {
		t.Errorf("%+v", e)
	}
}

func TestWhatIsProvenFillsInOnlyWhatTheCodeLeavesOpen(t *testing.T) {
	t.Parallel()
	open := intent.Errorf("of_a_later_release", "new")
	if proven := open.Proven(intent.NotApplied); proven.Effect != intent.NotApplied || open.Effect != intent.Unknown || !errors.Is(proven, open) {
		t.Errorf("%+v of %+v", proven, open)
	}
	certain := intent.Errorf(intent.CodeFailed, "declined")
	if proven := certain.Proven(intent.Applied); proven.Effect != intent.NotApplied {
		t.Errorf("%+v", proven)
	}
	if proven := certain.Proven(intent.Unknown); proven.Effect != intent.NotApplied {
		t.Errorf("%+v", proven)
	}
}

func TestTheTableCannotBeChangedByItsReaders(t *testing.T) {
	t.Parallel()
	intent.Codes()[0].Rows[0].Effect = intent.Applied
	intent.Codes()[0].Title = ""
	intent.Reasons()[0].Meaning = ""
	if groups := intent.Codes(); groups[0].Title == "" || groups[0].Rows[0].Effect == intent.Applied || intent.Reasons()[0].Meaning == "" {
		t.Errorf("%+v", groups[0])
	}
}
