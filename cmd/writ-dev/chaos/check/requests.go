package check

import "strings"

// judgeRequests compares what the provider received with what was claimed.
func (j *judge) judgeRequests() {
	rows := map[string]Intent{} // by trace
	for _, row := range j.Intents {
		rows[trace(row.Traceparent)] = row
	}
	sent := map[string]int{}
	for _, r := range j.Requests {
		if r.Method != "POST" {
			continue
		}
		row, found := rows[trace(r.Traceparent)]
		if !found || trace(r.Traceparent) == "" {
			j.violation(Unclaimed, "", "the request %s to %s belongs to no row", r.ID, r.Endpoint)
			continue
		}
		sent[row.ID]++
		j.judgeKey(row, r)
		if claims := j.attempts[row.ID]; len(claims) == 0 || r.Time.Before(claims[0].ClaimedAt) {
			j.violation(Unclaimed, row.RequestKey, "a request arrived before its first claim was made")
		}
	}
	for _, row := range j.Intents {
		attempts := j.attempts[row.ID]
		if sent[row.ID] > len(attempts) {
			j.violation(Unclaimed, row.RequestKey, "%d requests were sent on %d claims", sent[row.ID], len(attempts))
		}
		if row.Class != opaque {
			continue
		}
		for i, a := range attempts {
			if i < len(attempts)-1 && a.Outcome != "not_applied" {
				j.violation(Unclaimed, row.RequestKey, "attempt %d was claimed while the outcome of attempt %d was open", attempts[i+1].Number, a.Number)
			}
		}
	}
}

// judgeKey compares the key that a request carries with the row's.
func (j *judge) judgeKey(row Intent, r Request) {
	wantKey, wantReference := "", ""
	switch row.Class {
	case keyed:
		wantKey = row.IdempotencyKey
	case reconcilable:
		wantReference = row.IdempotencyKey
	}
	if r.Key != wantKey || r.Reference != wantReference {
		j.violation(WrongKey, row.RequestKey, "a request carries the key %q and the reference %q, want %q and %q",
			r.Key, r.Reference, wantKey, wantReference)
	}
	if want := tools[row.Tool].endpoint; r.Endpoint != want {
		j.violation(Contradiction, row.RequestKey, "a request went to %s, want %s", r.Endpoint, want)
	}
}

// trace returns the trace of a W3C traceparent header, empty if it has none.
func trace(header string) string {
	parts := strings.Split(header, "-") // https://www.w3.org/TR/trace-context/#traceparent-header
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}
