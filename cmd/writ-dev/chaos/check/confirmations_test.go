package check

import (
	"slices"
	"testing"
	"time"
)

// confirmedRun is a good run in which two people had to confirm the capture, and did.
func confirmedRun() Evidence {
	e := goodRun()
	e.asked(capture).Confirmations = 2
	e.row(capture).Confirmations, e.row(capture).Commitment = 2, "this"
	for i, who := range []string{"eve", "ada"} {
		e.Decisions = append(e.Decisions, Decision{IntentID: capture.id(), Kind: "confirm", Principal: who, Commitment: "this",
			DecidedAt: start.Add(time.Duration(i-2) * time.Second)})
	}
	return e
}

func TestWhatAsManyConfirmedBeforeItsClaimIsFreeOfViolations(t *testing.T) {
	t.Parallel()
	e := confirmedRun()
	e.Workflows = append(e.Workflows, Workflow{ID: "tool.execute/" + capture.id(), Status: "Completed", Result: "awaiting_confirmation"})
	for _, violation := range Judge(e).Violations {
		t.Errorf("%+v", violation)
	}
}

func TestAClaimBeforeEnoughHaveConfirmedIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*Evidence)
		want  []string
	}{
		"one of two is missing":               {func(e *Evidence) { e.Decisions = e.Decisions[1:] }, []string{Unconfirmed}},
		"one of two came after the claim":     {func(e *Evidence) { e.Decisions[1].DecidedAt = start.Add(time.Second) }, []string{Unconfirmed}},
		"the same person twice":               {func(e *Evidence) { e.Decisions[1].Principal = "eve" }, []string{Unconfirmed}},
		"one of two confirmed something else": {func(e *Evidence) { e.Decisions[1].Commitment = "that" }, []string{Unconfirmed}},
		"one of two denied it":                {func(e *Evidence) { e.Decisions[1].Kind = "deny" }, []string{Unconfirmed}},
		"a third one was recorded": {func(e *Evidence) {
			e.Decisions = append(e.Decisions, Decision{IntentID: capture.id(), Kind: "confirm", Principal: "bob", Commitment: "this", DecidedAt: start})
		}, []string{Contradiction}},
		"a run invoked the tool and said that it waits": {func(e *Evidence) {
			e.Workflows = append(e.Workflows, Workflow{ID: "tool.execute/" + capture.id(), Status: "Completed", Result: "awaiting_confirmation", Invocations: 1})
		}, []string{Contradiction}},
		"nobody was asked": {func(e *Evidence) { e.row(capture).Confirmations, e.Decisions = 0, nil }, []string{Contradiction, Unconfirmed}},
		"two were asked for what nobody has to confirm": {func(e *Evidence) { e.row(refund).Confirmations = 2 }, []string{Contradiction}},
	} {
		e := confirmedRun()
		c.spoil(&e)
		var kinds []string
		for _, v := range Judge(e).Violations {
			kinds = append(kinds, v.Kind)
		}
		slices.Sort(kinds)
		if !slices.Equal(kinds, c.want) {
			t.Errorf("%s: %v, want %v", name, kinds, c.want)
		}
	}
}
