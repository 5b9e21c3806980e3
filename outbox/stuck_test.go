package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

// takeOverdue takes the only intent that is overdue at that time.
func (b bundle) takeOverdue(t *testing.T, at time.Time) outbox.Stalled {
	t.Helper()
	b.setClock(t, at)
	list := b.takeStalled(t, 10)
	if len(list) != 1 {
		t.Fatalf("%s after noon: took %+v", at.Sub(noon), list)
	}
	return list[0]
}

func (b bundle) stuck(t *testing.T) outbox.Stuck {
	t.Helper()
	stuck, err := b.Stuck(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	return stuck
}

func TestAnIntentThatIsTakenAgainAndAgainRaisesAnAlarmOnceAnHour(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row := b.insert(t, propose("order-4711", keyed()))
	first := noon.Add(time.Minute)
	for _, step := range []struct {
		after time.Duration
		alarm bool
		stuck int
	}{
		{0, false, 0},
		{outbox.StuckAfter - time.Millisecond, false, 0},
		{outbox.StuckAfter + 15*time.Second, true, 1},
		{outbox.StuckAfter + 30*time.Second, false, 1},
		{outbox.StuckAfter + time.Hour, false, 1},
		{outbox.StuckAfter + time.Hour + 15*time.Second, true, 1},
		{outbox.StuckAfter + time.Hour + 30*time.Second, false, 1},
	} {
		st := b.takeOverdue(t, first.Add(step.after))
		if st.Since != first || st.Alarm != step.alarm || st.State != intent.Recorded {
			t.Errorf("after %s: %+v, want alarm %v since %s", step.after, st, step.alarm, first)
		}
		if got := b.stuck(t); got.Count != step.stuck || got.Longest != step.after || len(got.Oldest) != step.stuck {
			t.Errorf("after %s: %+v, want %d", step.after, got, step.stuck)
		}
	}
	if after := b.load(t, row.ID); after.Version != row.Version {
		t.Error("being stuck is no fact about the intent")
	}
}

func TestAnIntentThatMovesIsNotStuckAndHasItsTimeAnew(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row := b.insert(t, propose("order-4711", keyed()))
	b.takeOverdue(t, noon.Add(time.Minute))
	b.setClock(t, noon.Add(10*time.Minute))
	if got := b.stuck(t); got.Count != 1 {
		t.Fatalf("%+v", got)
	}
	claim := b.granted(t, row)
	if got := b.stuck(t); got.Count != 0 || got.Longest != 0 {
		t.Errorf("while an attempt runs: %+v", got)
	}
	again := noon.Add(11 * time.Minute) // its lease is over
	if st := b.takeOverdue(t, again); st.Since != again || st.Alarm || st.State != intent.Invoking {
		t.Errorf("%+v", st)
	}
	if st := b.takeOverdue(t, again.Add(outbox.StuckAfter)); !st.Alarm || st.Since != again {
		t.Errorf("%+v", st)
	}
	applied := of(claim, intent.Applied, "")
	if row = b.journal(t, claim.Row, &applied); row.State != intent.Completed {
		t.Fatalf("%s", row.State)
	}
	if got := b.stuck(t); got.Count != 0 || got.Longest != 0 {
		t.Errorf("after its end: %+v", got)
	}
}

func TestNothingThatWaitsForAReasonIsStuck(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	person := propose("waits for a person", keyed())
	person.ConfirmWithin = 30 * 24 * time.Hour
	b.insert(t, person)
	b.parkedIn(t, "in doubt", opaque())
	later := b.granted(t, b.insert(t, propose("waits for the provider", banked())))
	wish := of(later, intent.NotApplied, "http_429")
	wish.RetryAfterMS = (12 * time.Hour).Milliseconds()
	b.journal(t, later.Row, &wish)
	held := b.insert(t, propose("held", banked()))
	hold := b.setHold(t, bank)
	for after := time.Minute; after < time.Hour; after += 4 * time.Minute { // a held one is taken, and has a reason
		b.setClock(t, noon.Add(after))
		for _, st := range b.takeStalled(t, 10) {
			if st.ID != held.ID || st.Alarm || !st.Since.IsZero() {
				t.Errorf("after %s: %+v", after, st)
			}
		}
		if got := b.stuck(t); got.Count != 0 {
			t.Errorf("after %s: %+v", after, got)
		}
	}
	b.liftHold(t, hold.ID)
	b.release(t, bank)
	lifted := noon.Add(time.Hour)
	if st := b.takeOverdue(t, lifted); st.Since != lifted || st.Alarm {
		t.Errorf("the time under the hold counts: %+v", st)
	}
	if st := b.takeOverdue(t, lifted.Add(outbox.StuckAfter)); !st.Alarm {
		t.Errorf("no alarm without the hold: %+v", st)
	}
}

func TestWhatNobodyTakesIsStuckToo(t *testing.T) {
	t.Parallel()
	b := start(t)
	var want []intent.ID
	for i := range 5 {
		b.setClock(t, noon.Add(time.Duration(i)*time.Second))
		want = append(want, b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed())).ID)
	}
	due := noon.Add(15 * time.Second) // of the first
	b.setClock(t, due.Add(outbox.StuckAfter+3*time.Second))
	b.commits.Take()
	got := b.stuck(t)
	if got.Count != 4 || got.Longest != outbox.StuckAfter+3*time.Second || len(got.Oldest) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, one := range got.Oldest {
		if one != (outbox.StuckIntent{ID: want[i], Tool: "payments.capture", State: intent.Recorded, Since: due.Add(time.Duration(i) * time.Second)}) {
			t.Errorf("number %d is %+v", i, one)
		}
	}
	if seen, err := inspector(t, b.url).Stuck(t.Context(), 3); err != nil || seen.Count != 4 || len(seen.Oldest) != 3 {
		t.Errorf("an inspector sees %+v, %v", seen, err)
	}
	if count := b.commits.Take(); count != (pgtest.CommitCount{}) {
		t.Errorf("looking committed %+v", count)
	}
}
