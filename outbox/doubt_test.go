package outbox_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// doubts reads all pages.
func (b bundle) doubts(t *testing.T, f outbox.DoubtFilter) []outbox.Row {
	t.Helper()
	var all []outbox.Row
	for {
		page, err := b.Doubt(t.Context(), f)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		all = append(all, page.Rows...)
		if page.Next == "" {
			return all
		}
		if want := cmp.Or(f.Limit, outbox.DefaultLimit); len(page.Rows) != want {
			t.Fatalf("%+v: a page that is not the last has %d intents", f, len(page.Rows))
		}
		f.After = page.Next
	}
}

// contradicted returns an intent that was resolved as not applied and has an alert, because the
// effect has shown itself since.
func (b bundle) contradicted(t *testing.T, key string) outbox.Row {
	t.Helper()
	row, c := b.parkedIn(t, key, opaque())
	if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal); err != nil {
		t.Fatal(err)
	}
	return b.evidence(t, row, of(c, intent.Applied, ""))
}

func TestTheInboxHoldsWhatIsInDoubtOrHasAnAlertOldestFirstAndNothingElse(t *testing.T) {
	t.Parallel()
	b := start(t)
	var want []outbox.Row
	for i := range 12 {
		b.setClock(t, noon.Add(time.Duration(i/3)*time.Minute)) // three at each moment
		if i%2 == 0 {
			row, _ := b.parkedIn(t, fmt.Sprintf("order-%d", i), opaque())
			want = append(want, row)
		} else {
			want = append(want, b.contradicted(t, fmt.Sprintf("order-%d", i)))
		}
	}
	for _, state := range intent.States() {
		if state != intent.InDoubt {
			b.in(t, state, "other-"+string(state))
		}
	}
	slices.SortFunc(want, func(a, b outbox.Row) int { return -newestFirst(a, b) })
	for _, limit := range []int{0, 1, 5, 12} {
		if got := b.doubts(t, outbox.DoubtFilter{Limit: limit}); !slices.Equal(keys(got), keys(want)) {
			t.Errorf("in pages of %d: %v, want %v", limit, keys(got), keys(want))
		}
	}
	// Whatever is dealt with leaves the inbox.
	for i, row := range want {
		var err error
		if row.State == intent.InDoubt {
			_, err = b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveApplied}, statement, seal)
		} else {
			_, err = b.Acknowledge(t.Context(), row.ID, statement)
		}
		if err != nil {
			t.Fatal(err)
		}
		if left := b.doubts(t, outbox.DoubtFilter{}); len(left) != len(want)-i-1 {
			t.Errorf("%d are left after %d", len(left), i+1)
		}
	}
}

func TestTheInboxIsNarrowedByTenantAndTool(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, p := range []outbox.Proposal{propose("order-1", opaque()), propose("order-2", opaque()), propose("order-3", opaque())} {
		switch p.RequestKey {
		case "order-2":
			p.Tenant = "globex"
		case "order-3":
			p.Tool = "payments.refund"
		}
		c := b.granted(t, b.insert(t, p))
		ev := of(c, intent.Unknown, "")
		b.journal(t, c.Row, &ev)
	}
	for want, f := range map[intent.RequestKey]outbox.DoubtFilter{
		"order-1": {Tenant: "acme", Tool: "payments.capture"}, "order-2": {Tenant: "globex"}, "order-3": {Tool: "payments.refund"},
	} {
		if got := keys(b.doubts(t, f)); !slices.Equal(got, []intent.RequestKey{want}) {
			t.Errorf("%+v: %v", f, got)
		}
	}
}

func TestAFilterOfTheInboxThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 2 {
		b.parkedIn(t, fmt.Sprintf("order-%d", i), opaque())
	}
	page, err := b.Doubt(t.Context(), outbox.DoubtFilter{Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	for name, tc := range map[string]struct {
		filter outbox.DoubtFilter
		code   intent.Code
	}{
		"a tenant with a tab":      {outbox.DoubtFilter{Tenant: "a\tb"}, intent.CodeInvalidName},
		"a page too large":         {outbox.DoubtFilter{Limit: outbox.MaxLimit + 1}, intent.CodeInvalidFilter},
		"no cursor":                {outbox.DoubtFilter{After: "x"}, intent.CodeInvalidCursor},
		"a cursor of another list": {outbox.DoubtFilter{Tenant: "acme", After: page.Next}, intent.CodeInvalidCursor},
	} {
		if _, err := b.Doubt(t.Context(), tc.filter); intent.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.List(t.Context(), outbox.Filter{After: page.Next}); intent.CodeOf(err) != intent.CodeInvalidCursor {
		t.Errorf("the list of all intents takes the inbox's cursor: %v", err)
	}
}

func TestAnIntentInDoubtSaysWhyItWasParked(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, c := b.parkedIn(t, "order-1", opaque())
	if row.ParkedFor() != intent.ReasonNeverSentTwice {
		t.Errorf("%q", row.ParkedFor())
	}
	row = b.evidence(t, row, of(c, intent.Applied, ""))
	if row.ParkedFor() != "" {
		t.Errorf("after evidence: %q", row.ParkedFor())
	}
}
