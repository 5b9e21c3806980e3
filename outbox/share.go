package outbox

// turn is a tenant that has requests that are due, and what it gets of the places.
type turn struct {
	tenant string
	// underWay is how many requests of the tenant work is under way for.
	underWay int
	// share is how many more are taken.
	share int
}

// share deals the places out, each to the tenant that has the least with it, so that what is under way
// becomes equal, and of equals to the one whose turn comes first. Then of the places beyond those
// one goes to each tenant that has nothing at all.
func share(turns []turn, places, beyond int) {
	if len(turns) == 0 {
		return
	}
	for range places {
		next := &turns[0]
		for i := range turns {
			if turns[i].before(*next) {
				next = &turns[i]
			}
		}
		next.share++
	}
	for i := range turns {
		if beyond > 0 && turns[i].underWay+turns[i].share == 0 {
			turns[i].share = 1
			beyond--
		}
	}
}

// before says whether the next place is rather this tenant's. Of two that have the same, it is
// that of the one that had more before: the other one has been dealt a place already.
func (t turn) before(o turn) bool {
	if t.underWay+t.share != o.underWay+o.share {
		return t.underWay+t.share < o.underWay+o.share
	}
	return t.share < o.share
}
