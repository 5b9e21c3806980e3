package check

import "fmt"

// unjustified says why an intent may not be in doubt; empty if it may.
func (j *judge) unjustified(row Intent, expected tool) string {
	attempts, lookups := j.attempts[row.ID], j.lookups[row.ID]
	open := 0
	for _, a := range attempts {
		if a.Outcome == "applied" {
			return fmt.Sprintf("attempt %d is known to have had the effect", a.Number)
		}
		if a.open() {
			open++
		}
	}
	for _, l := range lookups {
		if l.Finding == "found" {
			return "a lookup found its effect"
		}
	}
	if open == 0 {
		return "each of its attempts is known to have had no effect"
	}
	switch expected.class {
	case opaque:
		return ""
	case reconcilable:
		if len(lookups) < allLookups {
			return fmt.Sprintf("only %d of %d lookups were made", len(lookups), allLookups)
		}
		return ""
	case keyed:
		if len(attempts) < allAttempts || len(lookups) < allLookups {
			return fmt.Sprintf("only %d of %d attempts and %d of %d lookups were made, with a key that the provider never forgets",
				len(attempts), allAttempts, len(lookups), allLookups)
		}
		return ""
	default:
		return fmt.Sprintf("its class %s leaves nothing in doubt", expected.class)
	}
}
