package intent

import "time"

// survey is what matters of everything that is known of an intent.
type survey struct {
	// applied says that the effect happened, in any generation: late success of an old one
	// blocks every later one. why is the reason.
	applied bool
	why     string
	// twice says that more than one effect is known, and maybeTwice that one is known and that
	// an attempt may have had another.
	twice, maybeTwice bool
	total             int // attempts of all generations
	// made counts the attempts since the budget began, and spent those of them that count
	// against it.
	made, spent int
	// open counts the attempts that may have had their effect, and openOld those of them
	// that were sent under the key of an earlier generation.
	open, openOld int
	// openAttempts are the numbers of those that are open by their own evidence.
	openAttempts []int
	// uncertain counts the attempts of which nothing but a lookup or a person said that they
	// had no effect, and those that are open.
	uncertain int
	// unanswered says that an open attempt has no evidence at all, and leaseEnd is when the
	// last of those must have stopped; openUntil is the end of the last lease of all that are
	// open.
	unanswered bool
	leaseEnd   time.Time
	openUntil  time.Time
	// settledAt is when a lookup that finds nothing may be trusted.
	settledAt time.Time
	// replayed says that the provider answers this generation's key with an error that it has
	// stored, and refused that it may have stored one.
	replayed, refused bool
	// resolved says that a person said that nothing happened under the generation's key, and
	// cancelled that one stopped the intent.
	resolved, cancelled bool
	// unconfirmed says that the intent needs a person's confirmation and has none, although a
	// confirmation that was lost may have let it be sent. Nobody's leave to go on replaces it.
	unconfirmed bool
	// letGoOn is the number of the last decision that let the intent go on; 0: there is none.
	letGoOn int
	// budgetFrom is the number of the last attempt before the budget of attempts began, and
	// askFrom that of the last lookup before the budget of lookups did.
	budgetFrom, askFrom int
	// lookups counts the lookups since askFrom, and asked is the last of them.
	lookups int
	asked   *Lookup
	// last is the attempt with the highest number, and lastOfKey that of the generation.
	last, lastOfKey *Attempt
}

func (r Record) survey() survey {
	var s survey
	resolvedApplied := r.readDecisions(&s)
	for i := range r.Attempts {
		r.readAttempt(&s, &r.Attempts[i])
	}
	r.readLookups(&s)
	if resolvedApplied {
		s.apply(ReasonResolvedApplied) // unless something shows it
	}
	if a := s.lastOfKey; a != nil && a.atWork() && r.Rules.Class.LeavesDoubt() {
		// Its own request had no effect; the one that the provider is at work on may.
		r.readOpen(&s, a)
	}
	s.twice = r.effects() > 1
	s.maybeTwice = s.applied && !s.twice && r.another(s.openAttempts)
	return s
}

func (r Record) readDecisions(s *survey) (resolvedApplied bool) {
	s.unconfirmed = r.State != AwaitingConfirmation && r.Unconfirmed() > 0
	for i, d := range r.Decisions {
		switch d.Kind {
		case ResolveApplied:
			resolvedApplied = true
		case ResolveNotApplied:
			s.resolved = d.Generation == r.Generation
		case Cancel:
			s.cancelled = true
		case Retry, Reissue:
			s.letGoOn, s.budgetFrom, s.askFrom = i+1, d.Attempts, d.Lookups
			s.cancelled = false // a person let it go on
		case Inquire:
			s.askFrom = d.Lookups
		case Confirm, Deny, Acknowledge:
		}
	}
	return resolvedApplied
}

func (s *survey) apply(why string) {
	if !s.applied {
		s.applied, s.why = true, why
	}
}

func (r Record) readAttempt(s *survey, a *Attempt) {
	s.total++
	if s.total > s.budgetFrom && !a.Presumed {
		s.made++
		if !a.InProgress {
			s.spent++
		}
	}
	s.last = a
	if a.Generation == r.Generation {
		s.lastOfKey = a
		s.replayed = s.replayed || a.Stored && a.Outcome != Applied
		s.refused = s.refused || a.mayBeStored()
	}
	if a.Outcome == Applied {
		s.apply(ReasonApplied)
	}
	if a.Already && s.uncertain > 0 {
		s.apply(ReasonAlready) // by an earlier attempt
	}
	switch {
	case !r.Rules.Class.LeavesDoubt():
	case a.atWork():
		s.uncertain++
	case a.Outcome != Applied && a.Outcome != NotApplied:
		r.readOpen(s, a)
	}
}

// atWork reports whether the attempt was refused because the provider is at work on an earlier
// request with the same key.
func (a Attempt) atWork() bool { return a.Outcome == NotApplied && a.InProgress }

// mayBeStored reports whether the attempt's answer may be an error that a provider stores
// under its key. One that asks for a wait is none.
func (a Attempt) mayBeStored() bool {
	return a.Outcome == Unknown || a.Outcome == NotApplied && !a.InProgress && a.RetryAfter == 0
}

// readOpen reads an attempt whose own evidence leaves open what it did.
func (r Record) readOpen(s *survey, a *Attempt) {
	cleared := r.clears(a)
	if cleared != clearedByProvider {
		s.uncertain++
	}
	if cleared != notCleared {
		return
	}
	s.open++
	if !a.atWork() {
		s.openAttempts = append(s.openAttempts, s.total)
	}
	if a.Generation != r.Generation {
		s.openOld++
	}
	s.openUntil = latest(s.openUntil, a.LeaseUntil)
	s.settledAt = latest(s.settledAt, a.LeaseUntil.Add(r.Rules.SettleDelay))
	if a.Outcome == "" {
		s.unanswered = true
		s.leaseEnd = latest(s.leaseEnd, a.LeaseUntil)
	}
}

// LeavesDoubt reports whether an attempt without a certain answer may have had an effect that
// nobody knows of. A read has none, and that of a transactional tool is there if and only if
// the intent has ended with it.
func (c Class) LeavesDoubt() bool {
	switch c {
	case Read, Transactional:
		return false
	case Keyed, Reconcilable, Opaque:
		return true
	}
	return true
}

// clearing is what shows of an attempt without a definite answer that it had no effect.
type clearing int

const (
	notCleared clearing = iota
	// clearedByWord: a person said so, or a lookup found nothing. Both can be mistaken.
	clearedByWord
	// clearedByProvider: the provider has stored for the key that its first request failed.
	clearedByProvider
)

// clears derives what later evidence says of an attempt, and leaves the attempt's own
// evidence as it is, so that a late answer can still speak against it.
//
// What a keyed tool's provider says of one key says nothing of the next one. Where commits were
// lost, the next one may have been among them, so that only a person clears what is presumed.
func (r Record) clears(a *Attempt) clearing {
	if a.Presumed && r.Rules.Class == Keyed {
		return r.clearedByPerson(a)
	}
	for _, b := range r.Attempts {
		// Without that contract a refusal speaks only for its own request.
		if r.Rules.ReplaysErrors && b.Stored && b.Outcome == NotApplied && b.Generation == a.Generation {
			return clearedByProvider
		}
	}
	for _, l := range r.Lookups {
		if l.Generation == a.Generation && l.Attempts >= a.Number && r.trusts(l, a) {
			return clearedByWord
		}
	}
	return r.clearedByPerson(a)
}

func (r Record) clearedByPerson(a *Attempt) clearing {
	for _, d := range r.Decisions {
		if d.Kind == ResolveNotApplied && d.Generation >= a.Generation {
			return clearedByWord
		}
	}
	return notCleared
}

// trusts reports whether a lookup that was asked after the attempt shows that it had no effect.
// It does not if the provider said afterwards that it is at work under that key.
func (r Record) trusts(l Lookup, a *Attempt) bool {
	if l.Finding != Absent || l.AskedAt.Before(a.LeaseUntil.Add(r.Rules.SettleDelay)) {
		return false
	}
	for _, b := range r.Attempts {
		if b.atWork() && b.Generation == a.Generation && (b.Number > l.Attempts || b.EvidenceAt.After(l.AskedAt)) {
			return false
		}
	}
	return true
}

func (r Record) readLookups(s *survey) {
	for i := range r.Lookups {
		l := &r.Lookups[i]
		if l.Finding == Found {
			s.apply(ReasonFound)
		}
		if i >= s.askFrom && l.Attempts == s.total {
			s.lookups++
			s.asked = l
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Cancelled reports whether a person stopped the intent, and nobody has let it go on since.
func (r Record) Cancelled() bool { return r.survey().cancelled }

// refuted reports whether a person said that the effect happened and every attempt shows that it
// did not.
func (s survey) refuted() bool {
	return s.why == ReasonResolvedApplied && s.total > 0 && s.open == 0
}

// Happened says what the whole record shows of the effect.
func Happened(r Record) Outcome {
	s := r.survey()
	switch {
	case s.applied && !s.refuted():
		return Applied
	case s.open > 0:
		return Unknown
	}
	return NotApplied
}
