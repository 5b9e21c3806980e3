package intent

// effects counts the effects that are known to be different ones: those with different names,
// those under different keys, those that a provider counts itself, and each of an attempt
// whose provider looks at no keys.
func (r Record) effects() int {
	if r.Rules.Class == Read {
		return 0
	}
	counted, nameless := 0, 0
	names, generations := map[string]bool{}, map[int]bool{}
	for _, a := range r.Attempts {
		if a.Outcome != Applied {
			continue
		}
		generations[a.Generation] = true
		if a.EffectID != "" {
			names[a.EffectID] = true
		} else if r.Rules.Class != Keyed {
			nameless++
		}
	}
	byAttempts := len(names) + nameless
	for _, l := range r.Lookups {
		if l.Finding != Found {
			continue
		}
		generations[l.Generation] = true
		counted = max(counted, l.Effects)
		if l.EffectID != "" {
			names[l.EffectID] = true // of an attempt that did not learn it, or of another one
		}
	}
	return max(counted, byAttempts, len(names), len(generations))
}

// another reports whether an attempt is open although an effect is known, and is not known to
// have had that one: it went under another key, or its provider looks at none.
func (r Record) another(open []int) bool {
	for _, n := range open {
		if !r.covered(&r.Attempts[n-1]) {
			return true
		}
	}
	return false
}

// covered reports whether what is known of the effect is also about the attempt.
func (r Record) covered(a *Attempt) bool {
	for _, d := range r.Decisions {
		if d.Kind == ResolveApplied && d.Attempts >= a.Number {
			return true
		}
	}
	for _, l := range r.Lookups {
		if l.Finding == Found && l.Generation == a.Generation {
			return true // the provider was asked for the key, and would have shown both
		}
	}
	for _, b := range r.Attempts {
		if b.Already && b.Number > a.Number || r.Rules.Class == Keyed && b.Outcome == Applied && b.Generation == a.Generation {
			return true
		}
		if a.Presumed && b.Outcome == Applied && b.Number < a.Number {
			return true // no claim can have followed an attempt that had its effect
		}
	}
	return false
}

// OpenAttempts returns the numbers of the attempts that may have had an effect which nobody
// knows of: without a certain answer, and not shown by a lookup, a stored answer or a person
// to have had none. Attempts are numbered from 1 without gaps.
func OpenAttempts(r Record) []int { return r.survey().openAttempts }

// AppliedUnder reports whether something shows that the effect happened under the key of the
// generation: an attempt, a lookup, or a provider that says of a later attempt that it was
// there already.
func AppliedUnder(r Record, generation int) bool {
	for _, l := range r.Lookups {
		if l.Generation == generation && l.Finding == Found {
			return true
		}
	}
	uncertain := false
	for _, a := range r.Attempts {
		switch {
		case a.Generation == generation && a.Outcome == Applied, uncertain && a.Already:
			return true
		case a.Generation == generation && a.Outcome != NotApplied:
			uncertain = r.Rules.Class.LeavesDoubt()
		}
	}
	return false
}

// Contradiction returns what the evidence says against the end of an intent that ended, as
// one of the Reason constants; empty if it says nothing against it. Nothing speaks against
// the end of a read, which has no effect.
func Contradiction(r Record) string {
	if !r.State.Ended() || r.Rules.Class == Read {
		return ""
	}
	s := r.survey()
	switch {
	case s.twice:
		return ReasonPerformedTwice
	case r.State != Completed && s.applied:
		return ReasonAppliedAfterAll
	case s.maybeTwice:
		return ReasonMaybeTwice
	case r.State == Completed && (!s.applied || s.refuted()):
		return ReasonNotAppliedAfterAll
	}
	return ""
}
