package doctor

import "time"

// maxWaited is how long an enqueued request may be due. A dispatcher that lives takes it within
// seconds, unless a tenant has more of them than it may have at once.
const maxWaited = time.Minute

// backlog warns of enqueued requests that are not on their way.
func backlog(f facts) finding {
	if err := f.backlog.err; err != nil {
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	b := f.backlog.value
	switch {
	case b.Parked > 0:
		return warn("`writ enqueued list --parked` says why; remove the cause, then `writ enqueued retry`, or `writ enqueued drop`",
			"%s parked, for a person to decide, the longest of them intent %s (%s); %d more due", some(b.Parked, "enqueued request"), b.FirstParked, b.ParkedFor, b.Due)
	case b.Waited > maxWaited:
		why := ""
		if b.DueError != "" {
			why = ", which failed with " + b.DueError
		}
		return warn("start a worker, or `writ recover`, which take what is enqueued; see what `writ intent get` says of the first one",
			"%s due, for %s the first of them, intent %s%s", some(b.Due, "enqueued request"), b.Waited.Truncate(time.Second), b.FirstDue, why)
	case b.Due > 0:
		return ok("%s on the way, for %s the first of them", some(b.Due, "enqueued request"), b.Waited.Truncate(time.Second))
	}
	return ok("nothing that is enqueued waits")
}
