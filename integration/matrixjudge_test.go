package integration

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/receipts"
)

// books are what the provider knows of the cells of a point.
type books struct {
	ledger   []sandbox.Entry
	requests []sandbox.Request // oldest first
}

func (m *matrixPoint) judgeAll(t *testing.T) {
	t.Helper()
	var b books
	var err error
	if b.ledger, err = m.provider.Ledger(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.requests, err = m.provider.Requests(t.Context(), sandbox.RequestFilter{}); err != nil {
		t.Fatal(err)
	}
	traces := map[string]bool{}
	for _, c := range m.cells {
		traces[c.trace()] = true
		for _, wrong := range m.judge(t, c, b) {
			t.Errorf("%s: %s", c.name(), wrong)
		}
	}
	for _, r := range b.requests {
		if !traces[traceOf(r)] {
			t.Errorf("the provider received a request that belongs to no cell: %+v", r)
		}
	}
}

// traceOf is the trace that a request belongs to.
func traceOf(r sandbox.Request) string {
	parts := strings.Split(r.Traceparent, "-") // https://www.w3.org/TR/trace-context/#traceparent-header
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// judge compares how a cell has ended with what the table promises, and with the rules that
// hold for every cell.
func (m *matrixPoint) judge(t *testing.T, c cell, b books) (wrong []string) {
	t.Helper()
	got, err := m.client.Get(t.Context(), m.id(c))
	if err != nil {
		t.Fatal(err)
	}
	effects := b.of(c)
	happened := len(effects)
	if c.class.where == database {
		query(t, m.database, `SELECT count(*) FROM matrix_effects WHERE mark = '`+c.mark()+`'`, &happened)
	}
	if state, want := c.end(); got.State != state || happened != want {
		wrong = append(wrong, fmt.Sprintf("it is %s and happened %d times, want %s and %d", got.State, happened, state, want))
	}
	wrong = append(wrong, c.doubts(got)...)
	wrong = append(wrong, b.misused(c, got)...)
	wrong = append(wrong, c.renewed(got)...)
	wrong = append(wrong, m.misanswered(t, c, got, effects)...)
	if why := m.contradiction(t, c, got, happened); why != "" {
		wrong = append(wrong, why)
	}
	if len(wrong) > 0 {
		wrong = append(wrong, fmt.Sprintf("next: %+v, attempts: %+v, lookups: %+v", got.Next, got.Attempts, got.Lookups))
	}
	return wrong
}

// of lists the effects of a cell with the provider.
func (b books) of(c cell) (effects []sandbox.Entry) {
	for _, e := range b.ledger {
		if strings.Contains(string(e.Body), `"`+c.mark()+`"`) {
			effects = append(effects, e)
		}
	}
	return effects
}

// doubts says what is wrong about how an open outcome was treated: what must be parked is never
// sent again, and nothing else is parked.
func (c cell) doubts(got writ.Intent) (wrong []string) {
	unknown := 0
	for i, a := range got.Attempts {
		if a.Outcome == intent.Applied || a.Outcome == intent.NotApplied {
			continue
		}
		unknown++
		if c.class.unknown == park && i < len(got.Attempts)-1 {
			wrong = append(wrong, fmt.Sprintf("attempt %d was sent although what attempt %d did is unknown", i+2, i+1))
		}
	}
	if got.State == intent.InDoubt && (c.class.unknown != park || unknown != 1) {
		wrong = append(wrong, fmt.Sprintf("it is in doubt about %d attempts", unknown))
	}
	return wrong
}

// misused says which requests, as the provider received them, do not carry the key of a
// generation, come after one with the next key, or are more than the attempts that were granted.
func (b books) misused(c cell, got writ.Intent) (wrong []string) {
	generations, granted, sent, last := map[string]int{}, map[int]int{}, map[int]int{}, 1
	for g := 1; g <= got.Generation; g++ {
		generations[string(intent.DeriveKey(got.Tenant, got.Tool, got.RequestKey, g))] = g
	}
	if generations[string(got.IdempotencyKey)] != got.Generation {
		wrong = append(wrong, fmt.Sprintf("the row of generation %d has the key %s", got.Generation, got.IdempotencyKey))
	}
	if c.class.keyless {
		generations[""] = 1 // its provider takes no keys
	}
	for _, a := range got.Attempts {
		granted[a.Generation]++
	}
	for _, r := range b.requests {
		if traceOf(r) != c.trace() {
			continue
		}
		carried := cmp.Or(r.Key, r.Reference)
		g := generations[carried]
		if g < last {
			wrong = append(wrong, fmt.Sprintf("a %s carries %q, which is not the key of generation %d or a later one", r.Method, carried, last))
		}
		last = max(last, g)
		if r.Method == "POST" && g > 0 {
			sent[g]++
		}
	}
	for g, n := range sent {
		if n > granted[g] {
			wrong = append(wrong, fmt.Sprintf("%d requests carry the key of generation %d, which has %d attempts", n, g, granted[g]))
		}
	}
	return wrong
}

// renewed says which attempts went under another key than the one before, or under the same,
// against what the class allows.
func (c cell) renewed(got writ.Intent) (wrong []string) {
	for i := 1; i < len(got.Attempts); i++ {
		before, a := got.Attempts[i-1], got.Attempts[i]
		renewed := a.Generation != before.Generation
		if renewed && (a.Generation != before.Generation+1 || c.class.renews == "") || !renewed && c.class.renews == forgotten {
			wrong = append(wrong, fmt.Sprintf("attempt %d is of generation %d, after one of %d", a.Number, a.Generation, before.Generation))
		}
		if renewed && c.class.renews == spoilt && before.Outcome == "" {
			wrong = append(wrong, fmt.Sprintf("attempt %d has a new key, and nothing was answered under the old one", a.Number))
		}
		if renewed && before.Outcome != intent.NotApplied && !foundAbsent(got, before, a) {
			wrong = append(wrong, fmt.Sprintf("attempt %d has a new key, and what attempt %d did was open", a.Number, before.Number))
		}
	}
	return wrong
}

// foundAbsent reports whether a lookup of an attempt's key found nothing after the attempt's lease
// and before the next attempt.
func foundAbsent(got writ.Intent, before, next writ.Attempt) bool {
	for _, l := range got.Lookups {
		if l.Generation == before.Generation && l.Finding == intent.Absent && !l.AskedAt.Before(before.LeaseUntil) && !l.AnsweredAt.After(next.ClaimedAt) {
			return true
		}
	}
	return false
}

// misanswered says what is wrong about the recorded answer: that of a completed effect is the
// ledger's, as far as it came, and names the effect as the ledger does; nothing else has one.
func (m *matrixPoint) misanswered(t *testing.T, c cell, got writ.Intent, effects []sandbox.Entry) (wrong []string) {
	t.Helper()
	request, err := c.request(m.name)
	if err != nil {
		t.Fatal(err)
	}
	end, err := m.client.Execute(t.Context(), request) // it has ended, so this only reads
	if (err == nil) != (got.State == intent.Completed) {
		wrong = append(wrong, fmt.Sprintf("asked again, it is %s: %v", got.State, err))
	}
	var recorded, want string
	if end.Answer != nil {
		recorded = cmp.Or(string(end.Answer.JSON), string(end.Answer.Body))
	}
	named := map[string]bool{}
	switch {
	case got.State != intent.Completed:
	case c.class.where != provided:
		want = doneAnswer
	case len(effects) == 1 && c.keepsHalf():
		want = string(effects[0].Answer.Body[:len(effects[0].Answer.Body)/2])
		if end.Answer == nil || end.Answer.Problem == "" {
			wrong = append(wrong, "nobody is told that the answer broke off")
		}
	case len(effects) == 1:
		want = string(effects[0].Answer.Body)
		named[effects[0].EffectID] = true
	}
	if recorded != want {
		wrong = append(wrong, fmt.Sprintf("the recorded answer is %q, want %q", recorded, want))
	}
	if names := namesIn(got); got.State == intent.Completed && !maps.Equal(names, named) {
		wrong = append(wrong, fmt.Sprintf("the effect is called %v, want %v", names, named))
	}
	return wrong
}

// namesIn lists the provider's names of the effect that attempts and lookups have learned.
func namesIn(got writ.Intent) map[string]bool {
	names := map[string]bool{}
	for _, a := range got.Attempts {
		names[a.EffectID] = true
	}
	for _, l := range got.Lookups {
		names[l.EffectID] = true
	}
	delete(names, "")
	return names
}

// contradiction says what of the receipt is not as the judge knows it. An intent that ended,
// and only one that ended, has one.
func (m *matrixPoint) contradiction(t *testing.T, c cell, got writ.Intent, happened int) string {
	t.Helper()
	raw, err := m.client.Receipt(t.Context(), got.ID)
	if !got.State.Ended() {
		if intent.CodeOf(err) != intent.CodeReceiptNotFound {
			return fmt.Sprintf("asked for the receipt of an intent that is %s: %s, %v", got.State, raw, err)
		}
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := receipts.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if answered := r.ResultDigest != nil; answered != (got.State == intent.Completed) {
		return fmt.Sprintf("the receipt of an intent that is %s has an answer: %t", got.State, answered)
	}
	applied := happened > 0 || c.class.where == nowhere && got.State == intent.Completed
	if r.State != got.State || (r.Outcome == intent.Applied) != applied || len(r.Attempts) != len(got.Attempts) {
		return fmt.Sprintf("the receipt says %s, %s after %d attempts; the intent is %s, the effect happened %d times, there were %d attempts",
			r.State, r.Outcome, len(r.Attempts), got.State, happened, len(got.Attempts))
	}
	return ""
}
