package check

import (
	"fmt"
	"slices"
	"strings"
)

// judge holds the evidence, sorted by what it is about.
type judge struct {
	Evidence
	verdict Verdict
	classes map[string]*Class

	rows      map[string]Intent    // by request key
	attempts  map[string][]Attempt // by intent, in the order of their numbers
	lookups   map[string][]Lookup
	receipts  map[string][]Receipt
	effects   map[string][]Effect  // by mark, oldest first
	seen      map[string][]Request // by reference: lookups that the provider answered
	requestOf map[string]Request   // by id
	kept      map[string]bool
}

// Judge compares the evidence with what the classes promise. A run in which nothing was asked for
// or nothing was broken has shown nothing, which is a violation as well.
func Judge(e Evidence) Verdict {
	j := newJudge(e)
	j.judgeRun()
	for _, a := range e.Asked {
		j.judgeAsked(a)
	}
	j.judgeEffects()
	j.judgeRequests()
	j.judgeReceiptsKept()
	j.judgeWorkflows()
	for _, name := range classes {
		j.verdict.Classes = append(j.verdict.Classes, *j.classes[name])
	}
	j.verdict.Recoveries = recoveries(e)
	return j.verdict
}

func newJudge(e Evidence) *judge {
	j := &judge{
		Evidence: e, classes: map[string]*Class{}, rows: map[string]Intent{}, attempts: map[string][]Attempt{},
		lookups: map[string][]Lookup{}, receipts: map[string][]Receipt{}, effects: map[string][]Effect{},
		seen: map[string][]Request{}, requestOf: map[string]Request{}, kept: map[string]bool{},
	}
	for _, name := range classes {
		j.classes[name] = &Class{Class: name}
	}
	for _, row := range e.Intents {
		j.rows[row.RequestKey] = row
	}
	for _, a := range e.Attempts {
		j.attempts[a.IntentID] = append(j.attempts[a.IntentID], a)
	}
	for _, of := range j.attempts {
		slices.SortFunc(of, func(a, b Attempt) int { return a.Number - b.Number })
	}
	for _, l := range e.Lookups {
		j.lookups[l.IntentID] = append(j.lookups[l.IntentID], l)
	}
	for _, r := range e.Receipts {
		j.receipts[r.IntentID] = append(j.receipts[r.IntentID], r)
	}
	for _, effect := range e.Ledger {
		j.effects[effect.mark()] = append(j.effects[effect.mark()], effect)
	}
	for _, r := range e.Requests {
		j.requestOf[r.ID] = r
		if r.Endpoint == transferLookup && r.Status == 200 {
			j.seen[r.Reference] = append(j.seen[r.Reference], r)
		}
	}
	for _, id := range e.Documents {
		j.kept[id] = true
	}
	return j
}

func (j *judge) violation(kind, requestKey, format string, arguments ...any) {
	j.verdict.Violations = append(j.verdict.Violations, Violation{kind, requestKey, fmt.Sprintf(format, arguments...)})
}

// judgeRun finds a run that cannot have shown anything.
func (j *judge) judgeRun() {
	if len(j.Asked) == 0 {
		j.violation(Incomplete, "", "nothing was asked for")
	}
	if len(j.Faults) == 0 {
		j.violation(Incomplete, "", "not one fault could be made")
	}
}

// judgeAsked follows one request from what its caller was told to its effects.
func (j *judge) judgeAsked(a Asked) {
	expected, known := tools[a.Tool]
	if !known {
		j.violation(Incomplete, a.RequestKey, "the judge does not know the tool %s", a.Tool)
		return
	}
	class := j.classes[expected.class]
	class.Intents++
	row, found := j.rows[a.RequestKey]
	if !found {
		class.Lost++
		j.violation(Lost, a.RequestKey, "it has no row; accepted: %t, refused: %q", a.Accepted, a.Refused)
		return
	}
	if row.Tool != a.Tool || row.Class != expected.class {
		j.violation(Contradiction, a.RequestKey, "it is a %s of class %s, and %s of class %s was asked for", row.Tool, row.Class, a.Tool, expected.class)
	}
	happened, late := j.happened(a, expected, row)
	class.Effects += happened
	j.judgeEnd(class, row, expected, happened, late)
	j.judgeReceipts(class, row)
	j.judgeAnswer(a, row)
	j.judgeConfirmations(a, row)
}

// happened counts the effects of a request, and those of them that came late in the way that
// is documented.
func (j *judge) happened(a Asked, expected tool, row Intent) (effects, late int) {
	switch {
	case expected.happened != nil:
		if expected.happened(j.kept[a.Mark]) {
			return 1, 0
		}
		return 0, 0
	case expected.class == reconcilable:
		return len(j.effects[a.Mark]), j.lateEffects(j.effects[a.Mark], row)
	default:
		return len(j.effects[a.Mark]), 0
	}
}

// lateEffects counts the effects that the provider performed although it had answered a
// lookup, asked when its answer could be trusted, without them.
func (j *judge) lateEffects(effects []Effect, row Intent) (late int) {
	for _, e := range effects {
		request := j.requestOf[e.RequestID]
		if request.Fault != "land_late" {
			continue
		}
		if slices.ContainsFunc(j.seen[row.IdempotencyKey], func(lookup Request) bool {
			return lookup.Time.After(request.Time.Add(trusted)) && lookup.Time.Before(e.Time)
		}) {
			late++
		}
	}
	return late
}

// judgeEnd compares how an intent stands with how often its effect happened.
func (j *judge) judgeEnd(class *Class, row Intent, expected tool, happened, late int) {
	if extra := happened - 1; extra > 0 {
		class.Late += min(extra, late)
		if extra -= late; extra > 0 {
			class.Duplicates += extra
			j.violation(Duplicate, row.RequestKey, "its effect happened %d times, %d of them late", happened, late)
		}
	}
	lost := func(format string, arguments ...any) {
		class.Lost++
		j.violation(Lost, row.RequestKey, format, arguments...)
	}
	switch row.State {
	case "completed":
		class.Completed++
		if happened == 0 && expected.class != read {
			lost("it is completed, and its effect did not happen")
		}
	case "failed":
		class.Failed++
		if happened == 1 && late == 1 {
			class.Late++
		} else if happened > 0 {
			j.violation(Denied, row.RequestKey, "it has failed, and its effect happened %d times", happened)
		}
	case "in_doubt":
		class.InDoubt++
		if row.Due {
			lost("it is in doubt and has not come to rest")
		} else if why := j.unjustified(row, expected); why != "" {
			class.Unjustified++
			j.violation(Doubt, row.RequestKey, "it is in doubt, and %s", why)
		}
	default:
		lost("it has no end: it is %s", row.State)
	}
	if row.Generation != 1 {
		j.violation(WrongKey, row.RequestKey, "it is in generation %d, and no key of the run may be given up", row.Generation)
	}
}

// judgeAnswer compares what a caller was told with the row.
func (j *judge) judgeAnswer(a Asked, row Intent) {
	switch {
	case a.Refused != "":
		j.violation(Contradiction, a.RequestKey, "its caller was told %s, and it is %s", a.Refused, row.State)
	case !a.Accepted:
		j.violation(Incomplete, a.RequestKey, "its caller never had an answer")
	case a.Told == "in_doubt" && (row.State == "completed" || row.State == "failed"):
		// Evidence that came later settles what is in doubt.
	case a.Told != "" && a.Told != row.State:
		j.violation(Contradiction, a.RequestKey, "its caller was told %s, and it is %s", a.Told, row.State)
	}
}

// judgeEffects finds effects that nobody asked for, and the holes in the evidence.
func (j *judge) judgeEffects() {
	marks := map[string]bool{}
	for _, a := range j.Asked {
		marks[tools[a.Tool].endpoint+" "+a.Mark] = true
	}
	for _, e := range j.Ledger {
		if !marks[e.Endpoint+" "+e.mark()] {
			j.violation(Duplicate, "", "nobody asked for the effect %q at %s", e.mark(), e.Endpoint)
		}
		if _, logged := j.requestOf[e.RequestID]; !logged {
			j.violation(Incomplete, "", "the request %s, which had an effect, is missing in the provider's log", e.RequestID)
		}
	}
}

// judgeWorkflows finds workflows that go on after the end of their intent, and those of none.
func (j *judge) judgeWorkflows() {
	byID := map[string]Intent{}
	for _, row := range j.Intents {
		byID[row.ID] = row
	}
	for _, w := range j.Workflows {
		row, found := byID[strings.TrimPrefix(w.ID, "tool.execute/")]
		switch {
		case !found:
			j.violation(Contradiction, "", "the workflow %s has no row", w.ID)
		case w.Running && row.State != "in_doubt":
			j.violation(Contradiction, row.RequestKey, "its workflow still runs, and it is %s", row.State)
		default:
			j.judgeHistory(w, row)
		}
	}
}
