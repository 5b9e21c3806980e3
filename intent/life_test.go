package intent_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/intent"
)

// life is an intent that is driven through a random history by the same moves that the
// outbox makes, with the rule asked before each of them.
type life struct {
	row
	now   time.Time
	world world
	// honest says that what is recorded is what the world knows, and that people say the truth.
	// Else evidence, lookups and people say anything.
	honest bool
	// budgetFrom is the number of attempts when a person last let the intent go on.
	budgetFrom int
	// said says that a person said that the effect happened.
	said bool
	// stale is a version that somebody read a while ago.
	stale int64
	// backup is the row as it was when the database was backed up, and restored says that the
	// database was restored from it and that nobody has said so yet of what may be lost.
	backup   *row
	restored bool
}

func drawRules(t *rapid.T, class intent.Class) intent.Rules {
	seconds := func(name string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
	}
	r := intent.Rules{
		Class:          class,
		Retryable:      rapid.Bool().Draw(t, "retryable"),
		Timeout:        seconds("timeout", 1, 40),
		MaxAttempts:    rapid.IntRange(1, 6).Draw(t, "max attempts"),
		InitialBackoff: seconds("initial backoff", 1, 20),
	}
	r.MaxBackoff = r.InitialBackoff * time.Duration(rapid.IntRange(1, 5).Draw(t, "backoff growth"))
	if r.Class == intent.Keyed {
		r.Window = rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Just(intent.Forever),
			rapid.Map(rapid.IntRange(1, 300), func(n int) time.Duration { return time.Duration(n) * time.Second })).Draw(t, "window")
		r.Serial, r.ReplaysErrors = rapid.Bool().Draw(t, "serial"), rapid.Bool().Draw(t, "replays errors")
		r.Lookup = rapid.Bool().Draw(t, "lookup")
	}
	if r.Class == intent.Reconcilable {
		r.Lookup = true
	}
	if r.Lookup {
		r.SettleDelay, r.MaxLookups = seconds("settle delay", 0, 60), rapid.IntRange(1, 4).Draw(t, "max lookups")
	}
	return r
}

func newLife(t *rapid.T, class intent.Class, honest bool) *life {
	l := &life{row: newRow(drawRules(t, class)), now: epoch, honest: honest, stale: 1}
	l.world = world{rules: l.Rules, kept: map[int]memory{}, marks: rapid.Bool().Draw(t, "marks"), knows: rapid.Bool().Draw(t, "knows")}
	if rapid.IntRange(0, 5).Draw(t, "waits for a person") == 0 {
		l.State = intent.AwaitingConfirmation
		l.ConfirmBy = epoch.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "confirm by")) * time.Second)
		l.Approvers = rapid.IntRange(0, 3).Draw(t, "approvers")
	}
	return l
}

// pass lets the time pass, and what is under way land.
func (l *life) pass(t *rapid.T, until time.Time) {
	l.now = until
	if l.restored {
		l.RestoredUntil = until.Add(time.Minute) // as long as it is looked at
	}
	l.world.pass(t, until)
}

// obey takes the step that the rule names.
func (l *life) obey(t *rapid.T, step intent.Step) {
	switch step.Kind {
	case intent.Invoke:
		if a, granted, _ := l.claim(l.now, l.Version, ""); granted {
			l.world.send(t, l.Record, a)
			l.world.pass(t, l.now)
		}
	case intent.Reconcile:
		l.ask(l.now)
	case intent.Wait:
		l.pass(t, step.At)
	case intent.Settle, intent.Park, intent.Renew:
		l.take(step)
	case intent.Stop:
	}
}

// hear records what is known of a random attempt of whatever age, in whatever state.
func (l *life) hear(t *rapid.T) {
	if len(l.Attempts) == 0 {
		return
	}
	n := rapid.IntRange(1, len(l.Attempts)).Draw(t, "attempt")
	if l.Attempts[n-1].Presumed {
		return // nobody made it
	}
	ev := drawEvidence(t)
	if l.honest {
		ev = l.world.evidence(t, n)
	}
	if l.Rules.Class == intent.Transactional {
		l.transact(n, ev)
		return
	}
	ev.EvidenceAt = l.now
	l.learn(n, ev)
}

// transact runs a transactional attempt to its end: with the row's lock, and only while the
// intent goes on in its generation, the effect and the end are one commit.
func (l *life) transact(n int, ev intent.Attempt) {
	a := l.Attempts[n-1]
	if l.State != intent.Invoking || a.Generation != l.Generation || a.Outcome != "" {
		return
	}
	if ev.Outcome == intent.Applied || ev.Outcome == intent.Unknown {
		ev = intent.Attempt{Outcome: intent.Applied}
		l.world.effects = append(l.world.effects, effect{generation: a.Generation})
	}
	ev.EvidenceAt = l.now
	l.learn(n, ev)
	if ev.Outcome == intent.Applied {
		l.move(intent.Completed)
	}
}

// drawEvidence draws what a provider that keeps no contract may say.
func drawEvidence(t *rapid.T) intent.Attempt {
	outcome := rapid.SampledFrom([]intent.Outcome{intent.Applied, intent.NotApplied, intent.NotApplied, intent.Unknown, intent.Unknown}).Draw(t, "outcome")
	ev := intent.Attempt{Outcome: outcome}
	if outcome == intent.Applied {
		ev.EffectID = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "effect")
		return ev
	}
	ev.Final, ev.Stored = rapid.Bool().Draw(t, "final"), rapid.IntRange(0, 3).Draw(t, "stored") == 0
	ev.Already = rapid.IntRange(0, 5).Draw(t, "already") == 0
	ev.InProgress = outcome == intent.NotApplied && rapid.IntRange(0, 3).Draw(t, "in progress") == 0
	if rapid.Bool().Draw(t, "says retry after") {
		ev.RetryAfter = time.Duration(rapid.IntRange(1, 300).Draw(t, "retry after")) * time.Second
	}
	return ev
}

// hearLookup answers a lookup that has no answer, of whatever age.
func (l *life) hearLookup(t *rapid.T) {
	i := slices.IndexFunc(l.Lookups, func(asked intent.Lookup) bool { return asked.Finding == "" })
	if i < 0 {
		return
	}
	asked := l.Lookups[i]
	answer := l.world.shows(t, asked.Generation, asked.AskedAt)
	if !l.honest {
		answer = intent.Lookup{
			Finding: rapid.SampledFrom(intent.Findings()).Draw(t, "finding"),
			Effects: rapid.IntRange(0, 2).Draw(t, "effects"),
		}
	}
	answer.AnsweredAt = l.now
	l.answered(asked.Number, answer)
}

// person lets somebody decide something. An honest one knows what happened and what will.
func (l *life) person(t *rapid.T) {
	kind := rapid.SampledFrom(intent.DecisionKinds()).Draw(t, "decision")
	lies := kind == intent.ResolveApplied && !l.world.done() || kind == intent.ResolveNotApplied && l.world.willHappen()
	if l.honest && lies {
		return
	}
	if _, made := l.decide(l.now, kind, rapid.SampledFrom([]string{"ada", "eve", "bob"}).Draw(t, "who")); !made {
		return
	}
	switch kind {
	case intent.Retry, intent.Reissue:
		l.budgetFrom = len(l.Attempts)
	case intent.ResolveApplied:
		l.said = true
	case intent.Confirm, intent.Deny, intent.Cancel, intent.ResolveNotApplied, intent.Inquire, intent.Acknowledge:
	}
}

// happen lets something happen that is not the next step.
func (l *life) happen(t *rapid.T) {
	switch rapid.SampledFrom([]string{
		"evidence", "evidence", "evidence", "lookup", "lookup", "time", "time", "person", "person",
		"hold", "lift", "over budget", "counted", "revoke", "repeat", "somebody else", "stale claim", "backup", "commits are lost", "after restore",
	}).Draw(t, "what happens") {
	case "evidence":
		l.hear(t)
	case "lookup":
		l.hearLookup(t)
	case "time":
		seconds := rapid.SampledFrom([]int{0, 0, 1, 2, 5, 15, 60, 400}).Draw(t, "seconds")
		l.pass(t, l.now.Add(time.Duration(seconds)*time.Second))
	case "person":
		l.person(t)
	case "hold":
		l.HeldUntil = l.now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "held for")) * time.Second)
	case "lift":
		l.HeldUntil = time.Time{}
	case "over budget":
		l.BudgetUntil = l.now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "waits for")) * time.Second)
	case "counted":
		l.BudgetUntil = time.Time{}
	case "revoke":
		if rapid.IntRange(0, 2).Draw(t, "really") == 0 {
			l.revoke(l.now)
		}
	case "repeat":
		l.repeat(l.now, rapid.SampledFrom([]intent.State{intent.Recorded, intent.AwaitingConfirmation, intent.Refused}).Draw(t, "decided"))
	case "backup":
		if !l.State.Ended() && !l.restored {
			l.backup = l.row.copied()
		}
	case "commits are lost":
		l.loseCommits()
	case "after restore":
		l.afterRestore()
	case "somebody else":
		l.world.somebodyElse = true
	case "stale claim":
		// Somebody who read the row a while ago, as a reset workflow did.
		if _, granted, _ := l.claim(l.now, l.stale, ""); granted && l.stale != l.Version-1 {
			t.Fatalf("a claim on version %d was granted on version %d", l.stale, l.Version-1)
		} else if granted {
			l.world.send(t, l.Record, l.Attempts[len(l.Attempts)-1])
		}
		l.stale = l.Version
	}
}

// loseCommits restores the database from its backup, under an intent that is still in the
// backup's generation: of a key that was begun since, the database can know nothing.
func (l *life) loseCommits() {
	if l.backup == nil || l.backup.Generation != l.Generation {
		return
	}
	l.row, l.backup, l.restored = *l.backup, nil, true
	l.RestoredUntil = l.now.Add(time.Minute)
	l.budgetFrom, l.stale = min(l.budgetFrom, len(l.Attempts)), 0
	l.world.forget(len(l.Attempts))
	if l.Rules.Class == intent.Transactional {
		l.world.effects = nil // they were in that database
	}
}

// afterRestore says of every attempt that may have been made that it may have been.
func (l *life) afterRestore() {
	if !l.restored {
		return
	}
	if !l.State.Ended() && !certain(l.Rules.Class) {
		l.presume(l.now, epoch)
		l.world.requests = append(l.world.requests, &request{generation: l.Generation})
	}
	l.restored, l.RestoredUntil = false, time.Time{}
}

// histories runs check on every step that the rule names in random histories, in which the
// world keeps its contract and in which it does not.
func histories(t *testing.T, check func(t *rapid.T, l *life, step intent.Step)) {
	t.Helper()
	t.Parallel()
	for range 24 {
		rapid.Check(t, func(t *rapid.T) {
			l := newLife(t, rapid.SampledFrom(intent.Classes()).Draw(t, "class"), rapid.Bool().Draw(t, "honest"))
			l.live(t, check)
		})
	}
}

// live goes through a random history.
func (l *life) live(t *rapid.T, check func(t *rapid.T, l *life, step intent.Step)) {
	for range rapid.IntRange(1, 40).Draw(t, "length") {
		step := intent.Next(l.Record, l.now)
		check(t, l, step)
		if rapid.Bool().Draw(t, "obeys") {
			l.obey(t, step)
		} else {
			l.happen(t)
		}
	}
}

// endings runs check at the end of random histories of a class in an honest world, after all
// that was under way has landed.
func endings(t *testing.T, class intent.Class, check func(t *rapid.T, l *life)) {
	t.Helper()
	t.Parallel()
	for range 40 {
		rapid.Check(t, func(t *rapid.T) {
			l := newLife(t, class, true)
			l.live(t, func(*rapid.T, *life, intent.Step) {})
			l.pass(t, l.now.Add(1000*24*time.Hour))
			check(t, l)
		})
	}
}
