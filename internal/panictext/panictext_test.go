package panictext_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"writ/internal/panictext"
)

type order struct{ Card string }

// pretender calls itself an error of the runtime.
type pretender struct{}

func (pretender) RuntimeError() {}
func (pretender) Error() string { return "CANARY" }

// charge panics with an argument that a stack must not show.
//
//go:noinline
func charge(card int, panics func()) int {
	panics()
	return card
}

func recovered(panics func()) (text string) {
	defer func() { text = panictext.Of(recover()) }()
	charge(0x4111c0ffee, panics)
	return ""
}

func TestAPanicIsDescribedByTypeAndPlaceAndNeverByItsValue(t *testing.T) {
	t.Parallel()
	var none map[string]int
	var nothing *order
	few := []string{"CANARY"}
	for name, c := range map[string]struct {
		panics func()
		want   string
	}{
		"a text":                     {func() { panic("CANARY") }, "a value of type string"},
		"an error":                   {func() { panic(fmt.Errorf("around: %w", errors.New("CANARY"))) }, "a value of type *fmt.wrapError"},
		"a struct":                   {func() { panic(order{"CANARY"}) }, "a value of type panictext_test.order"},
		"a pointer":                  {func() { panic(&order{"CANARY"}) }, "a value of type *panictext_test.order"},
		"an error that pretends":     {func() { panic(pretender{}) }, "a value of type panictext_test.pretender"},
		"a write to a nil map":       {func() { none["CANARY"] = 1 }, "assignment to entry in nil map"},
		"a nil pointer":              {func() { _ = nothing.Card }, "invalid memory address or nil pointer dereference"},
		"an index out of range":      {func() { _ = few[len(few)] }, "index out of range [1] with length 1"},
		"a value of another type":    {func() { _ = any("CANARY").(order) }, "interface conversion"},
		"nil":                        {func() { panic(nil) }, "panic called with nil argument"},
		"a panic while one is ended": {func() { defer func() { panic(order{"CANARY"}) }(); panic("CANARY") }, "a value of type panictext_test.order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := recovered(c.panics)
			if !strings.Contains(got, c.want) || strings.Contains(got, "CANARY") || strings.Contains(got, "4111c0ffee") {
				t.Errorf("it is described as %s", got)
			}
			first := strings.SplitN(got, "\n", 3)[1]
			if !strings.Contains(first, "panictext_test.") || !strings.Contains(got, "panictext_test.charge\n") || !strings.Contains(got, "panictext_test.go:") {
				t.Errorf("the stack begins at %s and is %s", first, got)
			}
		})
	}
}

func TestAStackWithoutAnEndIsCut(t *testing.T) {
	t.Parallel()
	var deeper func(n int)
	deeper = func(n int) {
		if n == 0 {
			panic("CANARY")
		}
		deeper(n - 1)
	}
	if got := recovered(func() { deeper(1000) }); strings.Count(got, "\n\t") > 32 {
		t.Errorf("it has %d frames", strings.Count(got, "\n\t"))
	}
}
