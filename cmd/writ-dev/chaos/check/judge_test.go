package check

import (
	"slices"
	"testing"
	"time"
)

func TestARunInWhichEachEffectHappenedOnceIsFreeOfViolations(t *testing.T) {
	t.Parallel()
	v := Judge(goodRun())
	for _, violation := range v.Violations {
		t.Errorf("%+v", violation)
	}
	want := Class{Class: "all", Intents: len(orders), Completed: len(orders), Effects: len(orders) - 1} // echo has none
	if got := v.Total(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWhatMustNotBeIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*Evidence)
		want  []string // the kinds of violations, sorted
	}{
		"a keyed effect that happened twice": {
			func(e *Evidence) { e.perform(capture, "second", start.Add(time.Second), ""); e.claimAgain(capture) },
			[]string{Duplicate},
		},
		"an opaque effect that happened twice on one claim": {
			func(e *Evidence) { e.perform(message, "second", start.Add(time.Second), "") },
			[]string{Duplicate, Unclaimed},
		},
		"an opaque tool that was sent again while its outcome was open": {
			func(e *Evidence) { e.found(message, "unknown"); e.claimAgain(message) },
			[]string{Unclaimed},
		},
		"an effect that nobody asked for": {
			func(e *Evidence) { e.Asked, e.Intents = e.Asked[1:], e.Intents[1:] }, // the workflow and the request are nobody's, too
			[]string{Contradiction, Duplicate, Unclaimed},
		},
		"a completed intent whose effect did not happen": {
			func(e *Evidence) { e.unperformed(refund) },
			[]string{Lost},
		},
		"a completed intent whose document is not there": {
			func(e *Evidence) { e.Documents = nil },
			[]string{Lost},
		},
		"a completed intent whose document is still there": {
			func(e *Evidence) { e.Documents = append(e.Documents, purged.mark()) },
			[]string{Lost},
		},
		"an accepted request without a row": {
			func(e *Evidence) {
				e.Asked = append(e.Asked, Asked{Tool: echo.tool, RequestKey: "request-9", Mark: "mark-9", Accepted: true})
			},
			[]string{Lost},
		},
		"a request that never had an answer": {
			func(e *Evidence) { e.asked(echo).Accepted = false },
			[]string{Incomplete},
		},
		"a request that was refused and carried out": {
			func(e *Evidence) { e.asked(capture).Refused = "idempotency_conflict" },
			[]string{Contradiction},
		},
		"an intent that has not come to rest": {
			func(e *Evidence) {
				e.row(deletion).State, e.row(deletion).Due = "invoking", true
				e.withoutReceipt(deletion)
			},
			[]string{Contradiction, Lost}, // its caller was told that it is completed
		},
		"a failure of which the effect happened": {
			func(e *Evidence) { e.failed(deletion) },
			[]string{Denied},
		},
		"a request under another key than the row's": {
			func(e *Evidence) { e.request(capture).Key = "another" },
			[]string{WrongKey},
		},
		"a transfer under another reference than the row's key": {
			func(e *Evidence) { e.request(transfer).Reference = "" },
			[]string{WrongKey},
		},
		"a key that was given up": {
			func(e *Evidence) { e.row(echo).Generation = 2; e.receipt(echo).Generation = 2; clear(e.Seen) },
			[]string{WrongKey},
		},
		"a request that arrived before its claim was made": {
			func(e *Evidence) { e.claim(capture).ClaimedAt = start.Add(time.Minute) },
			[]string{Unclaimed},
		},
		"a request of an unknown trace": {
			func(e *Evidence) { e.request(refund).Traceparent = "" },
			[]string{Unclaimed},
		},
		"a keyed intent in doubt whose key could be sent again": {
			func(e *Evidence) { e.parked(capture, 2, 0) },
			[]string{Doubt},
		},
		"a reconcilable intent in doubt that could be looked up again": {
			func(e *Evidence) { e.parked(transfer, 1, 3) },
			[]string{Doubt},
		},
		"a transactional intent in doubt": {
			func(e *Evidence) { e.parked(stored, 10, 10) },
			[]string{Doubt},
		},
		"a read in doubt": {
			func(e *Evidence) { e.parked(echo, 10, 10) },
			[]string{Doubt},
		},
		"a doubt about an effect that is known": {
			func(e *Evidence) { e.parked(message, 1, 0); e.claim(message).Outcome = "applied" },
			[]string{Doubt},
		},
		"a doubt about an effect that a lookup has found": {
			func(e *Evidence) {
				e.parked(transfer, 1, 10)
				e.Lookups[0].Finding = "found"
			},
			[]string{Doubt},
		},
		"a doubt about what is known not to have happened": {
			func(e *Evidence) {
				e.parked(message, 1, 0)
				e.unperformed(message)
				e.claim(message).Outcome = "not_applied"
			},
			[]string{Doubt},
		},
		"an end without a receipt": {
			func(e *Evidence) { e.withoutReceipt(stored) },
			[]string{Lost},
		},
		"a receipt that says another end": {
			func(e *Evidence) { e.receipt(capture).SaysOutcome = "not_applied" },
			[]string{Contradiction},
		},
		"a receipt of what has no end": {
			func(e *Evidence) {
				e.row(message).State, e.asked(message).Told, e.claim(message).Outcome = "in_doubt", "", "unknown"
			},
			[]string{Contradiction},
		},
		"a receipt that was changed": {
			func(e *Evidence) { e.receipt(capture).Digest = "another" },
			[]string{Contradiction},
		},
		"an answer that the row contradicts": {
			func(e *Evidence) { e.asked(capture).Told = "failed" },
			[]string{Contradiction},
		},
		"a workflow that goes on after the end": {
			func(e *Evidence) { e.Workflows[0].Running = true },
			[]string{Contradiction},
		},
		"an invocation that Temporal ran twice": {
			func(e *Evidence) { e.Workflows[0].Repeated = 1 },
			[]string{Unclaimed},
		},
		"a run that ended otherwise than its row": {
			func(e *Evidence) { e.Workflows[0].Result = "failed" },
			[]string{Contradiction},
		},
		"a history with an attempt that was never claimed": {
			func(e *Evidence) { e.Workflows[0].Evidence = []HistoryEvidence{{Attempt: 2, Outcome: "not_applied"}} },
			[]string{Unclaimed},
		},
		"an effect that only the history knows of": {
			func(e *Evidence) { e.claim(capture).Outcome = "unknown" },
			[]string{Contradiction},
		},
		"a workflow of no intent": {
			func(e *Evidence) { e.Workflows = append(e.Workflows, Workflow{ID: "tool.execute/unknown"}) },
			[]string{Contradiction},
		},
		"a log of requests with a hole": {
			func(e *Evidence) { e.Requests = e.Requests[1:] },
			[]string{Incomplete},
		},
		"a run in which nothing was asked for": {
			func(e *Evidence) { *e = Evidence{Faults: e.Faults} },
			[]string{Incomplete},
		},
		"a run in which nothing was broken": {
			func(e *Evidence) { e.Faults = nil },
			[]string{Incomplete},
		},
		"a tool that the judge does not know": {
			func(e *Evidence) { e.asked(echo).Tool = "unknown" },
			[]string{Incomplete},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := goodRun()
			c.spoil(&e)
			v := Judge(e)
			var kinds []string
			for _, violation := range v.Violations {
				kinds = append(kinds, violation.Kind)
			}
			slices.Sort(kinds)
			if kinds = slices.Compact(kinds); !slices.Equal(kinds, c.want) {
				t.Errorf("found %v, want %v: %+v", kinds, c.want, v.Violations)
			}
		})
	}
}

func TestADoubtThatTheClassAllowsIsNoViolation(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Evidence){
		"an opaque one, of which the effect happened": func(e *Evidence) { e.parked(message, 1, 0) },
		"an opaque one, of which it did not":          func(e *Evidence) { e.parked(message, 1, 0); e.unperformed(message) },
		"a reconcilable one whose lookups are spent":  func(e *Evidence) { e.parked(transfer, 1, allLookups) },
		"a keyed one whose budgets are spent":         func(e *Evidence) { e.parked(refund, allAttempts, allLookups) },
		"one that was settled after its caller heard of it": func(e *Evidence) {
			e.asked(message).Told = "in_doubt"
		},
	} {
		e := goodRun()
		spoil(&e)
		if v := Judge(e); len(v.Violations) > 0 {
			t.Errorf("%s: %+v", name, v.Violations)
		}
	}
}

func TestASecondTransferIsTheDocumentedResidueOnlyIfItLandedAfterATrustedAbsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault         string
		asked, landed time.Duration // after the late request was sent
		late          bool
	}{
		"late, after a lookup that could be trusted":   {"land_late", trusted + time.Second, trusted + 2*time.Second, true},
		"late, after a lookup that came too early":     {"land_late", trusted - time.Second, trusted + 2*time.Second, false},
		"late, and a lookup after it":                  {"land_late", trusted + 2*time.Second, trusted + time.Second, false},
		"by the provider's own doing, and not by ours": {"", trusted + time.Second, trusted + 2*time.Second, false},
	} {
		e := goodRun()
		e.claimAgain(transfer)
		e.perform(transfer, "late", start.Add(time.Second), c.fault)
		e.Ledger[len(e.Ledger)-1].Time = start.Add(time.Second + c.landed)
		e.Requests = append(e.Requests, Request{
			ID: "lookup", Time: start.Add(time.Second + c.asked), Method: "GET", Endpoint: transferLookup, Reference: transfer.key(), Status: 200,
		})
		total := Judge(e).Total()
		if (total.Late == 1) != c.late || (total.Duplicates == 0) != c.late {
			t.Errorf("%s: %d late and %d duplicates", name, total.Late, total.Duplicates)
		}
	}
}

// claimAgain adds a second claim.
func (e *Evidence) claimAgain(o order) {
	e.Attempts = append(e.Attempts, Attempt{IntentID: o.id(), Number: 2, ClaimedAt: start, Outcome: "applied"})
}

// receipt returns the receipt of an order.
func (e *Evidence) receipt(o order) *Receipt { return &e.Receipts[o.n-1] }
