package outbox_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/intent"
	"writ/outbox"
)

// list reads all pages and checks that each but the last is full.
func (b bundle) list(ctx context.Context, t rapid.TB, f outbox.Filter) []outbox.Row {
	t.Helper()
	var all []outbox.Row
	for {
		page, err := b.List(ctx, f)
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

func keys(rows []outbox.Row) []intent.RequestKey {
	list := make([]intent.RequestKey, len(rows))
	for i, r := range rows {
		list[i] = r.RequestKey
	}
	return list
}

// newestFirst is the order of lists.
func newestFirst(a, b outbox.Row) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), slices.Compare(b.ID[:], a.ID[:]))
}

// populate writes intents of few different values, many of them created at the same moment.
func (b bundle) populate(t *testing.T, count int) []outbox.Row {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		b.setClock(t, noon.Add(time.Duration(random.IntN(6))*time.Minute))
		p := propose(fmt.Sprintf("order-%d", i), []intent.Rules{keyed(), opaque()}[random.IntN(2)])
		p.Tenant = []string{"acme", "globex"}[random.IntN(2)]
		p.Tool = []string{"payments.capture", "payments.refund"}[random.IntN(2)]
		p.Principal = []string{"till-7", "till-8", "till-9"}[random.IntN(3)]
		row := b.insert(t, p)
		if random.IntN(3) > 0 {
			claim := b.granted(t, row)
			if outcome := []intent.Outcome{"", intent.Applied, intent.NotApplied, intent.Unknown}[random.IntN(4)]; outcome != "" {
				ev := of(claim, outcome, "")
				b.journal(t, claim.Row, &ev)
			}
		}
		if random.IntN(4) == 0 {
			b.suspect(t, row.ID)
		}
	}
	b.setClock(t, noon.Add(10*time.Minute))
	var all []outbox.Row
	for i := range count {
		for _, tenant := range []string{"acme", "globex"} {
			if row, err := b.Load(t.Context(), intent.IntentID(tenant, intent.RequestKey(fmt.Sprintf("order-%d", i)))); err == nil {
				all = append(all, row)
			}
		}
	}
	if len(all) != count {
		t.Fatalf("%d of %d intents were found", len(all), count)
	}
	return all
}

// suspect marks an intent as one that seems to repeat another.
func (b bundle) suspect(t *testing.T, id intent.ID) {
	t.Helper()
	b.exec(t, `ALTER TABLE intents DISABLE TRIGGER guard`)
	b.exec(t, `UPDATE intents SET suspected_duplicate_of = $1 WHERE id = $2`, firstOne[:], id[:])
	b.exec(t, `ALTER TABLE intents ENABLE TRIGGER guard`)
}

var firstOne = intent.IntentID("acme", "the first one")

// lists says whether a filter lists a row, at ten minutes past noon.
func lists(f outbox.Filter, r outbox.Row) bool {
	at := func(b outbox.Bound) time.Time {
		if b.Ago != 0 {
			return noon.Add(10*time.Minute - b.Ago)
		}
		return b.At
	}
	switch {
	case f.Tenant != "" && r.Tenant != f.Tenant,
		f.Tool != "" && r.Tool != f.Tool,
		f.Principal != "" && r.Principal != f.Principal,
		f.RequestKey != "" && r.RequestKey != f.RequestKey,
		f.Class != "" && r.Rules.Class != f.Class,
		len(f.States) > 0 && !slices.Contains(f.States, r.State),
		f.SuspectedDuplicates && r.SuspectedDuplicateOf.IsZero(),
		!f.Since.IsZero() && r.CreatedAt.Before(at(f.Since)),
		!f.Until.IsZero() && !r.CreatedAt.Before(at(f.Until)):
		return false
	}
	return true
}

func TestEveryFilterListsWhatItSaysNewestFirstInPagesOfAnySize(t *testing.T) {
	t.Parallel()
	b := start(t)
	all := b.populate(t, 90)
	slices.SortFunc(all, newestFirst)
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Custom(func(t *rapid.T) outbox.Bound {
			minutes := time.Duration(rapid.IntRange(0, 12).Draw(t, "minutes")) * time.Minute
			switch rapid.SampledFrom([]string{"none", "none", "at", "ago"}).Draw(t, "bound") {
			case "at":
				return outbox.Bound{At: noon.Add(minutes)}
			case "ago":
				return outbox.Bound{Ago: minutes}
			}
			return outbox.Bound{}
		})
		f := outbox.Filter{
			Tenant:              rapid.SampledFrom([]string{"", "", "acme", "globex", "nobody"}).Draw(t, "tenant"),
			Tool:                rapid.SampledFrom([]string{"", "", "payments.capture", "payments.refund"}).Draw(t, "tool"),
			Principal:           rapid.SampledFrom([]string{"", "", "till-7", "till-8"}).Draw(t, "principal"),
			RequestKey:          rapid.SampledFrom([]intent.RequestKey{"", "", "", "order-3", "order-400"}).Draw(t, "key"),
			States:              rapid.SliceOfN(rapid.SampledFrom(intent.States()), 0, 3).Draw(t, "states"),
			Class:               rapid.SampledFrom([]intent.Class{"", "", intent.Keyed, intent.Opaque, intent.Read}).Draw(t, "class"),
			Since:               bound.Draw(t, "since"),
			Until:               bound.Draw(t, "until"),
			SuspectedDuplicates: rapid.IntRange(0, 3).Draw(t, "suspected") == 0,
			Limit:               rapid.SampledFrom([]int{0, 1, 2, 7, 90, 500}).Draw(t, "limit"),
		}
		if f.Check() != nil { // since after until, which is refused
			f.Until = outbox.Bound{}
		}
		got := b.list(ctx, t, f)
		var want []outbox.Row
		for _, row := range all {
			if lists(f, row) {
				want = append(want, row)
			}
		}
		if !slices.Equal(keys(got), keys(want)) {
			t.Fatalf("%+v lists\n%v, want\n%v", f, keys(got), keys(want))
		}
		for i := range got {
			got[i].ReadAt = want[i].ReadAt
			if fmt.Sprintf("%+v", got[i]) != fmt.Sprintf("%+v", want[i]) {
				t.Fatalf("the list has\n%+v, and the row is\n%+v", got[i], want[i])
			}
		}
	})
}

func TestPagesNeitherSkipNorRepeatWhileOthersInsertAtTheSameMoment(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	before := map[intent.ID]bool{}
	for i := range 40 {
		before[b.insert(t, propose(fmt.Sprintf("before-%d", i), keyed())).ID] = true
	}
	seen := map[intent.ID]int{}
	f := outbox.Filter{Limit: 3}
	var group sync.WaitGroup
	for n := 0; ; n++ {
		page, err := b.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Rows {
			seen[row.ID]++
		}
		if f.After = page.Next; f.After == "" {
			break
		}
		if n < 60 { // each page meets new neighbours, on both sides of its end
			for i := range 2 {
				group.Go(func() {
					if _, err := b.Insert(t.Context(), propose(fmt.Sprintf("meanwhile-%d-%d", n, i), keyed())); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	group.Wait()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was listed %d times", id, times)
		}
		delete(before, id)
	}
	if len(before) > 0 {
		t.Errorf("%d intents were skipped", len(before))
	}
}

func TestAListOfTheLastHourKeepsItsEndWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 4 {
		b.setClock(t, noon.Add(time.Duration(i)*time.Minute))
		b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed()))
	}
	b.setClock(t, noon.Add(time.Hour))
	f := outbox.Filter{Since: outbox.Bound{Ago: time.Hour}, Limit: 3}
	page, err := b.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	b.setClock(t, noon.Add(24*time.Hour))
	f.After = page.Next
	if page, err = b.List(t.Context(), f); err != nil || len(page.Rows) != 1 || page.Rows[0].RequestKey != "order-0" || page.Next != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestACursorBelongsToItsFilterAndIsNoOtherText(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 3 {
		b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed()))
	}
	of := func(f outbox.Filter) string {
		page, err := b.List(t.Context(), f)
		if err != nil || page.Next == "" {
			t.Fatalf("%+v, %v", page, err)
		}
		return page.Next
	}
	mine := outbox.Filter{Tenant: "acme", States: []intent.State{intent.Recorded, intent.Invoking}, Since: outbox.Bound{Ago: time.Hour}, Limit: 1}
	next := of(mine)

	same := mine
	same.Limit, same.After = 2, next
	same.States = []intent.State{intent.Invoking, intent.Recorded, intent.Invoking}
	if page, err := b.List(t.Context(), same); err != nil || len(page.Rows) != 2 {
		t.Errorf("the same filter in other words: %+v, %v", page, err)
	}
	for name, change := range map[string]func(*outbox.Filter){
		"another tenant":  func(f *outbox.Filter) { f.Tenant = "globex" },
		"no tenant":       func(f *outbox.Filter) { f.Tenant = "" },
		"another tool":    func(f *outbox.Filter) { f.Tool = "payments.capture" },
		"a principal":     func(f *outbox.Filter) { f.Principal = "till-7" },
		"fewer states":    func(f *outbox.Filter) { f.States = f.States[:1] },
		"a class":         func(f *outbox.Filter) { f.Class = intent.Keyed },
		"a request key":   func(f *outbox.Filter) { f.RequestKey = "order-1" },
		"another since":   func(f *outbox.Filter) { f.Since = outbox.Bound{Ago: 2 * time.Hour} },
		"an until":        func(f *outbox.Filter) { f.Until = outbox.Bound{Ago: time.Minute} },
		"only duplicates": func(f *outbox.Filter) { f.SuspectedDuplicates = true },
	} {
		f := mine
		f.After = next
		change(&f)
		if _, err := b.List(t.Context(), f); intent.CodeOf(err) != intent.CodeInvalidCursor {
			t.Errorf("%s: %v", name, err)
		}
	}

	raw, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to byte) string {
		c := slices.Clone(raw)
		c[at] = to
		return base64.RawURLEncoding.EncodeToString(c)
	}
	for name, text := range map[string]string{
		"a word": "next", "padded": next + "=", "cut": next[:len(next)-4], "longer": next + "AAAA", "of a later release": changed(0, 2),
		"a moment that PostgreSQL lacks": changed(1+16+8, 0x7f), "a line break": next[:8] + "\n" + next[8:],
		"another spelling of the last byte": next[:len(next)-1] + string(next[len(next)-1]+1),
	} {
		f := mine
		f.After = text
		if err := f.Check(); intent.CodeOf(err) != intent.CodeInvalidCursor {
			t.Errorf("%s (%s): %v", name, text, err)
		}
	}
}

func TestABadFilterIsSaidBeforeAnyIO(t *testing.T) {
	t.Parallel()
	var unconnected *outbox.Store // whose first use would panic
	for name, tc := range map[string]struct {
		filter outbox.Filter
		code   intent.Code
		says   string
	}{
		"a tenant":           {outbox.Filter{Tenant: "acme "}, intent.CodeInvalidName, "tenant"},
		"a tool":             {outbox.Filter{Tool: "päyments"}, intent.CodeInvalidName, "tool"},
		"a principal":        {outbox.Filter{Principal: "-"}, intent.CodeInvalidName, "principal"},
		"a key":              {outbox.Filter{RequestKey: "a\nb"}, intent.CodeInvalidRequestKey, "0x0a"},
		"a reserved key":     {outbox.Filter{RequestKey: "writ:mine"}, intent.CodeReservedRequestKey, "reserved"},
		"a state":            {outbox.Filter{States: []intent.State{intent.Failed, "lost"}}, intent.CodeInvalidFilter, "recorded"},
		"a class":            {outbox.Filter{Class: "write"}, intent.CodeInvalidFilter, "opaque"},
		"too many":           {outbox.Filter{Limit: outbox.MaxLimit + 1}, intent.CodeInvalidFilter, "500"},
		"fewer than none":    {outbox.Filter{Limit: -1}, intent.CodeInvalidFilter, "1 to 500"},
		"the wrong way":      {outbox.Filter{Since: outbox.Bound{At: noon}, Until: outbox.Bound{At: noon}}, intent.CodeInvalidFilter, "exchange"},
		"the wrong way, ago": {outbox.Filter{Since: outbox.Bound{Ago: 1}, Until: outbox.Bound{Ago: 2}}, intent.CodeInvalidFilter, "exchange"},
		"the future":         {outbox.Filter{Since: outbox.Bound{Ago: -1}}, intent.CodeInvalidFilter, "since"},
		"a far year":         {outbox.Filter{Until: outbox.Bound{At: noon.AddDate(9000, 0, 0)}}, intent.CodeInvalidFilter, "until"},
		"a cursor":           {outbox.Filter{After: "?"}, intent.CodeInvalidCursor, "first page"},
	} {
		_, err := unconnected.List(t.Context(), tc.filter)
		if intent.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABoundIsATimeOrHowLongAgo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]outbox.Bound{
		"36h":                             {Ago: 36 * time.Hour},
		"1h30m":                           {Ago: 90 * time.Minute},
		"2026-03-01T12:00:00Z":            {At: noon},
		"2026-03-01T14:00:00.5+02:00":     {At: noon.Add(500 * time.Millisecond)},
		"2026-03-01T12:00:00.000001Z":     {At: noon.Add(time.Microsecond)},
		"2026-03-01T12:00:00.0000010001Z": {At: noon.Add(time.Microsecond)},
	} {
		var b, again outbox.Bound
		err := b.UnmarshalText([]byte(text))
		if err != nil || b.Ago != want.Ago || !b.At.Equal(want.At) {
			t.Errorf("%s: %+v, %v", text, b, err)
		}
		written, err := b.MarshalText()
		if err == nil {
			err = again.UnmarshalText(written)
		}
		if err != nil || again.Ago != b.Ago || !again.At.Equal(b.At) {
			t.Errorf("%s became %s and then %+v, %v", text, written, again, err)
		}
	}
	for _, text := range []string{"", "0s", "-1h", "7d", "yesterday", "2026-03-01", "2026-03-01 12:00:00Z", "12:00"} {
		var b outbox.Bound
		if err := b.UnmarshalText([]byte(text)); intent.CodeOf(err) != intent.CodeInvalidFilter {
			t.Errorf("%q: %+v, %v", text, b, err)
		}
	}
}

func TestEveryClassOfTheDatabaseCanBeAskedFor(t *testing.T) {
	t.Parallel()
	b := start(t)
	check := query[string](t, b, `SELECT pg_get_constraintdef(oid) FROM pg_constraint
		WHERE conrelid = 'intents'::regclass AND conname = 'intents_class_check'`)
	if n := strings.Count(check, "'") / 2; n != len(intent.Classes()) {
		t.Errorf("%d classes in %s", n, check)
	}
	for _, c := range intent.Classes() {
		if !strings.Contains(check, "'"+string(c)+"'") {
			t.Errorf("%s is missing in %s", c, check)
		}
	}
}
