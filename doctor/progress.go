package doctor

import (
	"strings"
	"time"
)

// namedStuck is how many of the intents that make no progress are named.
const namedStuck = 3

// progress warns of intents that recovery cannot help, or that nobody recovers.
func progress(f facts) finding {
	if err := f.stuck.err; err != nil {
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	s := f.stuck.value
	if s.Count == 0 {
		return ok("no intent is stuck")
	}
	list := make([]string, len(s.Oldest))
	for i, one := range s.Oldest {
		list[i] = one.ID.String() + " of " + one.Tool + ", " + string(one.State) + ", since " + one.Since.Format(time.RFC3339)
	}
	verb, which := "makes", ""
	if s.Count > 1 {
		verb = "make"
	}
	if s.Count > len(list) {
		which = "the longest "
	}
	return warn("see that workers run on their task queue (check workers), read the log of one, and look at workflow tool.execute/ID in Temporal; "+
		"`writ recover` goes on starting them, and nothing is sent twice by it",
		"%s %s no progress: %s%s", some(s.Count, "intent"), verb, which, strings.Join(list, "; "))
}
