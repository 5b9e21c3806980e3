package doctor

import (
	"fmt"

	"writ/outbox"
)

// timeline finds a PostgreSQL that may have lost commits: no claim is granted in it.
func timeline(f facts) finding {
	if err := f.times.err; err != nil {
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	t := f.times.value
	switch {
	case t.Current.Number == 0:
		return lost(notLooked{"a standby has no timeline of its own"}, "", warn)
	case !t.Restored():
		return ok("the outbox is trusted in %s", history(t.Current))
	case t.Trusted.Number == 0:
		return fail("run writ recover --after-restore once more, until it says that the outbox is trusted",
			"nothing is sent: %s has begun to say what was lost, and has not come to the end", t.Principal)
	}
	return fail("find out what was lost, then run writ recover --after-restore",
		"nothing is sent: PostgreSQL is in %s, and the outbox was trusted in %s; a standby was promoted or a backup restored, and commits may be lost",
		history(t.Current), history(t.Trusted))
}

func history(t outbox.Timeline) string {
	return fmt.Sprintf("timeline %d of cluster %d", t.Number, t.System)
}
