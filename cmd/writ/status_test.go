package main

import (
	"errors"
	"fmt"
	"testing"

	"writ/intent"
)

// Every constant of type intent.Code must have one row in the table, and an exit status: a
// code that is forgotten would pass for broken infrastructure, with an unknown effect.
func TestEveryCodeHasOneRowAndAnExitStatus(t *testing.T) {
	t.Parallel()
	declared := map[intent.Code]bool{}
	for _, c := range constants(t) {
		if !c.isCode() {
			continue
		}
		code := intent.Code(c.value)
		if declared[code] {
			t.Errorf("%s is declared twice, the second time in %s", code, c.folder)
		}
		declared[code] = true
	}
	rows := map[intent.Code]bool{}
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			if rows[row.Code] {
				t.Errorf("%s has two rows in intent/codes.go", row.Code)
			}
			rows[row.Code] = true
			if _, ok := statuses[row.Code]; !ok {
				t.Errorf("%s has no exit status in cmd/writ/status.go", row.Code)
			}
			if !declared[row.Code] {
				t.Errorf("%s has a row and is not declared anywhere", row.Code)
			}
		}
	}
	for code := range declared {
		if !rows[code] {
			t.Errorf("%s has no row in intent/codes.go", code)
		}
	}
	for code := range statuses {
		if !rows[code] {
			t.Errorf("%s has an exit status and no row in intent/codes.go", code)
		}
	}
}

func TestTheStatusIsTheOneOfTheCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("something broke"), 1},
		{intent.Errorf("a_code_of_a_later_release", "new"), 1},
		{intent.Errorf(intent.CodeNotYetKnown, "interrupted"), 1},
		{intent.Errorf(intent.CodePayloadNotObject, "not an object"), 2},
		{intent.Errorf(intent.CodeIntentNotFound, "not there"), 2},
		{intent.Errorf(intent.CodePolicyDenied, "no"), 3},
		{intent.Errorf(intent.CodeFailed, "card declined"), 4},
		{intent.Errorf(intent.CodeInDoubt, "who knows"), 5},
		{intent.Errorf(intent.CodeIdempotencyConflict, "another action"), 7},
		{fmt.Errorf("wrapped: %w", intent.Errorf(intent.CodeInDoubt, "who knows")), 5},
		{&executionError{cause: intent.Errorf(intent.CodeFailed, "card declined")}, 4},
	} {
		if got := statusOf(c.err); got != c.want {
			t.Errorf("%v: status %d, want %d", c.err, got, c.want)
		}
	}
}
