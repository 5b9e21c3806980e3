package intent_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"writ/intent"
)

// world is the provider and the network: what really happened, which the rule never sees. An
// honest one keeps the contract that the rules state, and is as bad as that allows.
type world struct {
	rules intent.Rules
	// marks says that a replayed error is marked as one, and knows that what is done already is
	// refused because of that.
	marks, knows bool
	effects      []effect
	// somebodyElse did the same thing, without Writ.
	somebodyElse bool
	requests     []*request // by attempt
	forgotten    []*request // of attempts that the database has lost
	// kept is what the provider answers a key with that it remembers.
	kept map[int]memory
}

type effect struct {
	generation int
	id         string
	// shownBy is when every lookup shows it.
	shownBy time.Time
}

type memory struct {
	answer intent.Attempt
	since  time.Time
}

// request is what became of the one request of an attempt.
type request struct {
	generation int
	// landsAt is zero if it never lands.
	landsAt time.Time
	shownBy time.Time
	landed  bool
	// answer is what the provider said, whoever heard it.
	answer intent.Attempt
}

func (q *request) lands() bool { return !q.landsAt.IsZero() }

// send decides what becomes of the request of an attempt that was just granted. Its worker may
// die before it, send it at the last moment, or send it into a network that holds it back.
func (w *world) send(t *rapid.T, r intent.Record, a intent.Attempt) {
	q := &request{generation: a.Generation, shownBy: a.LeaseUntil.Add(r.Rules.SettleDelay)}
	w.requests = append(w.requests, q)
	if rapid.IntRange(0, 3).Draw(t, "is lost") == 0 || r.Rules.Class == intent.Transactional {
		return
	}
	sendBy := intent.SendBy(r, a.ClaimedAt, a.LeaseUntil)
	sent := a.ClaimedAt.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, sendBy.Sub(a.ClaimedAt)}).Draw(t, "frozen for"))
	delay := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 5, 60, 1000}).Draw(t, "travels for")) * time.Second
	q.landsAt = sent.Add(delay)
	if latest := w.landsBy(r, q); q.landsAt.After(latest) {
		q.landsAt = latest
		if sent.After(latest) {
			q.landsAt = sent
		}
	}
}

// landsBy is when the contract lets no request land any more: a lookup is authoritative only
// after the settle delay, and a key is recognized only within the window.
func (w *world) landsBy(r intent.Record, q *request) time.Time {
	by := epoch.Add(100 * 24 * time.Hour)
	if r.Rules.Lookup {
		by = q.shownBy
	}
	if end := r.FirstSentAt.Add(r.Rules.Window); r.Rules.Class == intent.Keyed && r.Rules.Window != 0 && r.Rules.Window != intent.Forever && end.Before(by) {
		by = end
	}
	return by
}

// pass lets everything land that is due until then.
func (w *world) pass(t *rapid.T, until time.Time) {
	for {
		var first *request
		for _, q := range w.sent() {
			if q.lands() && !q.landed && !q.landsAt.After(until) && (first == nil || q.landsAt.Before(first.landsAt)) {
				first = q
			}
		}
		if first == nil {
			return
		}
		first.landed = true
		first.answer = w.perform(t, first)
	}
}

// sent returns every request that was sent, whoever knows of it.
func (w *world) sent() []*request { return slices.Concat(w.requests, w.forgotten) }

// forget takes the requests after the first n out of what is known.
func (w *world) forget(n int) {
	w.forgotten = append(w.forgotten, w.requests[n:]...)
	w.requests = w.requests[:n:n]
}

// perform is the provider at work on a request that landed.
func (w *world) perform(t *rapid.T, q *request) intent.Attempt {
	if w.rules.Class == intent.Read {
		return rapid.SampledFrom([]intent.Attempt{
			{Outcome: intent.Applied}, {Outcome: intent.NotApplied}, {Outcome: intent.NotApplied, Final: true}, {Outcome: intent.Unknown},
		}).Draw(t, "answer")
	}
	if kept, ok := w.kept[q.generation]; ok && w.remembers(kept, q.landsAt) {
		answer := kept.answer
		answer.Stored = w.marks && answer.Outcome != intent.Applied
		return answer
	}
	door := intent.Attempt{Outcome: intent.NotApplied, Final: rapid.Bool().Draw(t, "final")}
	switch rapid.SampledFrom([]string{"perform", "perform", "perform", "refuse", "break", "turn away", "ask to wait"}).Draw(t, "does") {
	case "refuse":
		return w.keep(q, door)
	case "break":
		return w.keep(q, intent.Attempt{Outcome: intent.Unknown})
	case "turn away":
		return door
	case "ask to wait":
		return intent.Attempt{Outcome: intent.NotApplied, RetryAfter: 7 * time.Second, InProgress: w.worksOn(q)}
	}
	if w.knows && w.done() {
		return w.keep(q, intent.Attempt{Outcome: intent.NotApplied, Already: true})
	}
	done := intent.Attempt{Outcome: intent.Applied, EffectID: fmt.Sprint("effect-", len(w.effects)+1)}
	w.effects = append(w.effects, effect{q.generation, done.EffectID, q.shownBy})
	switch rapid.SampledFrom([]string{"says so", "says so", "breaks", "is behind a gateway that gives up"}).Draw(t, "then") {
	case "breaks":
		if w.rules.ReplaysErrors {
			return w.keep(q, intent.Attempt{Outcome: intent.Unknown})
		}
		fallthrough
	case "is behind a gateway that gives up":
		w.keep(q, done)
		return intent.Attempt{Outcome: intent.Unknown}
	}
	return w.keep(q, done)
}

// keep stores an answer under its key where the contract says so.
func (w *world) keep(q *request, answer intent.Attempt) intent.Attempt {
	if w.rules.Class == intent.Keyed && (answer.Outcome == intent.Applied || w.rules.ReplaysErrors) {
		w.kept[q.generation] = memory{answer, q.landsAt}
	}
	return answer
}

func (w *world) remembers(kept memory, at time.Time) bool {
	switch w.rules.Window {
	case 0:
		return false
	case intent.Forever:
		return true
	}
	return !at.After(kept.since.Add(w.rules.Window))
}

// worksOn reports whether another request with the key is still under way.
func (w *world) worksOn(q *request) bool {
	return slices.ContainsFunc(w.sent(), func(o *request) bool {
		return o != q && o.generation == q.generation && o.lands() && !o.landed
	})
}

func (w *world) done() bool { return len(w.effects) > 0 || w.somebodyElse }

// willHappen reports whether an effect happened or may still land.
func (w *world) willHappen() bool {
	return len(w.effects) > 0 || slices.ContainsFunc(w.sent(), func(q *request) bool { return q.lands() && !q.landed })
}

// evidence draws what can be known of an attempt: its answer, if somebody heard it; that its
// request never left; and always that nothing is known.
func (w *world) evidence(t *rapid.T, attempt int) intent.Attempt {
	q := w.requests[attempt-1]
	heard := rapid.IntRange(0, 3).Draw(t, "is heard") > 0
	switch {
	case q.landed && heard:
		return q.answer
	case !q.lands() && heard:
		return intent.Attempt{Outcome: intent.NotApplied, Final: rapid.Bool().Draw(t, "final")}
	}
	return intent.Attempt{Outcome: intent.Unknown}
}

// shows answers a lookup of a generation's key that was asked at the given time: what lands
// later or is not shown yet is absent.
func (w *world) shows(t *rapid.T, generation int, asked time.Time) intent.Lookup {
	var found intent.Lookup
	for _, e := range w.effects {
		late := asked.Before(e.shownBy) && rapid.Bool().Draw(t, "lags")
		if e.generation == generation && !late {
			found.Finding, found.EffectID = intent.Found, e.id
			found.Effects++
		}
	}
	switch {
	case rapid.IntRange(0, 3).Draw(t, "lookup is unclear") == 0:
		return intent.Lookup{Finding: intent.Unclear, RetryAfter: 3 * time.Second}
	case found.Finding == "":
		return intent.Lookup{Finding: intent.Absent}
	}
	return found
}
