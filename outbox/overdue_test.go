package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

func TestTheOverdueAreListedInPagesWithoutBeingTouched(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	var want []intent.ID
	for i := range 5 { // the first three are due at the same moment
		if i == 3 {
			b.setClock(t, noon.Add(time.Second))
		}
		want = append(want, b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed())).ID)
	}
	b.setClock(t, noon.Add(time.Minute))
	fresh := b.insert(t, propose("fresh", keyed())).ID
	b.commits.Take()
	seen := map[intent.ID]int{}
	var at outbox.Overdue
	for pages := 0; ; pages++ {
		page, err := b.Overdue(t.Context(), at, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			if pages != 3 {
				t.Errorf("%d pages of five intents", pages)
			}
			break
		}
		for _, o := range page {
			if o.DueAt.Before(at.DueAt) {
				t.Errorf("%s comes behind one that is due later", o.ID)
			}
			seen[o.ID]++
			at = o
		}
	}
	for _, id := range want {
		if seen[id] != 1 {
			t.Errorf("%s was listed %d times", id, seen[id])
		}
	}
	if len(seen) != len(want) || seen[fresh] != 0 {
		t.Errorf("listed %v", seen)
	}
	if count := b.commits.Take(); count != (pgtest.CommitCount{}) {
		t.Errorf("listing committed %+v", count)
	}
	if taken := b.takeStalled(t, 10); len(taken) != len(want) {
		t.Errorf("listing took %d away from recovery", len(want)-len(taken))
	}
}
