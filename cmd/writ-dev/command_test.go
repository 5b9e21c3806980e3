package main

import (
	"errors"
	"fmt"
	"testing"

	"writ"
)

func TestAReportHasTheCodeOfTheErrorAndItsTextWithoutIt(t *testing.T) {
	t.Parallel()
	refused := &writ.Error{Code: "in_doubt", Message: "what in_doubt: means is in the manual"}
	for _, c := range []struct {
		err           error
		code, message string
	}{
		{fmt.Errorf("start the worker: %w", refused), "in_doubt", refused.Message},
		{usageError{errors.New("no such flag")}, "usage", "no such flag"},
		{errors.New("nobody gave this a code"), "unexpected", "nobody gave this a code"},
	} {
		if code, message := describe(c.err); code != c.code || message != c.message {
			t.Errorf("%v: got %s: %s", c.err, code, message)
		}
	}
}
