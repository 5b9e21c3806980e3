package intent

import "slices"

// DecidesAgain reports whether the same request, when it comes again, is decided on anew: it was
// refused, nothing was ever claimed for it, and no person denied or stopped it. The new decision
// begins a generation, which keeps the key, because nothing was sent under it.
func DecidesAgain(r Record) bool {
	saidNo := func(d Decided) bool { return d.Kind == Deny || d.Kind == Cancel }
	return r.State == Refused && len(r.Attempts) == 0 && !slices.ContainsFunc(r.Decisions, saidNo)
}

// KeyGeneration returns the generation that the key of another one is derived with, where firstSent
// is the one of the first attempt; 0: there is none. It is another one only of those that followed a
// refusal: only they begin before anything was sent.
//
// So the key depends on what was sent and not on how often it was decided. A database that lost
// decisions and what was sent after them still sends the same key.
func KeyGeneration(firstSent, generation int) int {
	if firstSent == 0 || generation <= firstSent {
		return 1
	}
	return generation
}
