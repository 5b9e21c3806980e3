package check

import (
	"fmt"
	"time"
)

// start is when the run of these tests began.
var start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// order is what one request left behind when all went well.
type order struct {
	tool, class string
	n           int
}

func (o order) requestKey() string { return fmt.Sprintf("request-%d", o.n) }
func (o order) id() string         { return fmt.Sprintf("intent-%d", o.n) }
func (o order) mark() string       { return fmt.Sprintf("mark-%d", o.n) }
func (o order) key() string        { return fmt.Sprintf("key-%d", o.n) }
func (o order) traceparent() string {
	return fmt.Sprintf("00-%032d-0000000000000001-01", o.n)
}

// The orders of a good run, one for each tool.
var (
	capture  = order{"payments.capture", keyed, 1}
	refund   = order{"payments.refund", keyed, 2}
	deletion = order{"documents.delete", keyed, 3}
	transfer = order{"transfers.create", reconcilable, 4}
	message  = order{"notifications.send", opaque, 5}
	stored   = order{"documents.store", transactional, 6}
	purged   = order{"documents.purge", transactional, 7}
	echo     = order{"echo", read, 8}
	orders   = []order{capture, refund, deletion, transfer, message, stored, purged, echo}
)

// goodRun is the evidence of a run in which each order happened once.
func goodRun() Evidence {
	e := Evidence{
		Documents: []string{stored.mark()}, Seen: map[ReceiptID]string{},
		Faults: []Fault{{Kind: "worker_kill", Began: start, Ended: start}},
	}
	for _, o := range orders {
		e.Asked = append(e.Asked, Asked{Tool: o.tool, RequestKey: o.requestKey(), Mark: o.mark(), Accepted: true, Told: "completed"})
		e.Intents = append(e.Intents, Intent{
			ID: o.id(), RequestKey: o.requestKey(), Tool: o.tool, Class: o.class, State: "completed", Generation: 1,
			IdempotencyKey: o.key(), Traceparent: o.traceparent(), CreatedAt: start,
		})
		e.Attempts = append(e.Attempts, Attempt{IntentID: o.id(), Number: 1, ClaimedAt: start, Outcome: "applied"})
		id := ReceiptID{IntentID: o.id(), Generation: 1}
		e.Receipts = append(e.Receipts, Receipt{
			ReceiptID: id, Digest: "digest", CreatedAt: start.Add(time.Second),
			SaysIntent: o.id(), SaysState: "completed", SaysOutcome: "applied",
		})
		e.Seen[id] = "digest"
		e.Workflows = append(e.Workflows, Workflow{
			ID: "tool.execute/" + o.id(), Status: "Completed", Result: "completed",
			Invocations: 1, Evidence: []HistoryEvidence{{Attempt: 1, Outcome: "applied"}},
		})
		if tools[o.tool].endpoint != "" {
			e.perform(o, "req", start.Add(time.Millisecond), "")
		}
	}
	return e
}

// perform adds a request to the provider and its effect.
func (e *Evidence) perform(o order, name string, at time.Time, fault string) {
	id := fmt.Sprintf("%s-%d", name, o.n)
	request := Request{
		ID: id, Time: at, Method: "POST", Endpoint: tools[o.tool].endpoint, Traceparent: o.traceparent(), Fault: fault, Status: 201,
	}
	switch o.class {
	case keyed:
		request.Key = o.key()
	case reconcilable:
		request.Reference = o.key()
	}
	effect := Effect{Time: at, Endpoint: request.Endpoint, Key: request.Key, Reference: request.Reference, RequestID: id}
	effect.Body.Payment, effect.Body.Account = o.mark(), o.mark()
	effect.Body.Document, effect.Body.Recipient = o.mark(), o.mark()
	e.Requests = append(e.Requests, request)
	e.Ledger = append(e.Ledger, effect)
}

// row returns the row of an order.
func (e *Evidence) row(o order) *Intent { return &e.Intents[o.n-1] }

// asked returns what the caller of an order knows.
func (e *Evidence) asked(o order) *Asked { return &e.Asked[o.n-1] }

// claim returns the first attempt of an order.
func (e *Evidence) claim(o order) *Attempt { return &e.Attempts[o.n-1] }

// found says what the first attempt of an order found, in its row and in its history.
func (e *Evidence) found(o order, outcome string) {
	e.claim(o).Outcome, e.Workflows[o.n-1].Evidence[0].Outcome = outcome, outcome
}

// request returns the first request of an order that goes to the provider.
func (e *Evidence) request(o order) *Request {
	for i := range e.Requests {
		if e.Requests[i].Traceparent == o.traceparent() {
			return &e.Requests[i]
		}
	}
	panic(o.tool + " sends no request")
}

// unperformed takes the effects of an order back.
func (e *Evidence) unperformed(o order) {
	var kept []Effect
	for _, effect := range e.Ledger {
		if effect.mark() != o.mark() {
			kept = append(kept, effect)
		}
	}
	e.Ledger = kept
}

// parked leaves an order in doubt, with the given numbers of attempts and lookups.
func (e *Evidence) parked(o order, attempts, lookups int) {
	e.row(o).State, e.asked(o).Told, e.Workflows[o.n-1].Result = "in_doubt", "in_doubt", "in_doubt"
	e.found(o, "unknown")
	for number := 2; number <= attempts; number++ {
		e.Attempts = append(e.Attempts, Attempt{IntentID: o.id(), Number: number, ClaimedAt: start, Outcome: "unknown"})
	}
	for range lookups {
		e.Lookups = append(e.Lookups, Lookup{IntentID: o.id(), Finding: "unclear"})
	}
	e.withoutReceipt(o)
}

// withoutReceipt takes the receipts of an order away.
func (e *Evidence) withoutReceipt(o order) {
	var kept []Receipt
	for _, r := range e.Receipts {
		if r.IntentID != o.id() {
			kept = append(kept, r)
		}
	}
	e.Receipts = kept
	delete(e.Seen, ReceiptID{IntentID: o.id(), Generation: 1})
}

// failed says that an order has failed.
func (e *Evidence) failed(o order) {
	e.row(o).State, e.asked(o).Told, e.Workflows[o.n-1].Result = "failed", "failed", "failed"
	e.found(o, "not_applied")
	for i := range e.Receipts {
		if e.Receipts[i].IntentID == o.id() {
			e.Receipts[i].SaysState, e.Receipts[i].SaysOutcome = "failed", "not_applied"
		}
	}
}
