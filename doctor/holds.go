package doctor

import (
	"strings"
	"time"
)

// holds warns of what somebody may have forgotten.
func holds(f facts) finding {
	if err := f.holds.err; err != nil {
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	if len(f.holds.value) == 0 {
		return ok("no hold stands")
	}
	list := make([]string, len(f.holds.value))
	for i, h := range f.holds.value {
		list[i] = "on " + string(h.Scope) + " " + h.Name + ", set by " + h.Principal + " at " + h.SetAt.UTC().Format(time.RFC3339)
		if h.Note != "" {
			list[i] += " (" + h.Note + ")"
		}
	}
	return warn("writ hold lift ends one; a circuit breaker lifts its own when the provider answers again",
		"%s: nothing is sent for what they concern: %s", some(len(list), "hold"), strings.Join(list, "; "))
}
