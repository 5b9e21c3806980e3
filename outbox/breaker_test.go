package outbox_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// fail records attempts of new intents as refused connections, each of them that much later
// than the last, and returns the time of the last one.
func (b bundle) fail(t *testing.T, from time.Time, times int, apart time.Duration) (last time.Time) {
	t.Helper()
	for i := range times {
		last = from.Add(time.Duration(i) * apart)
		b.setClock(t, last)
		c := b.granted(t, b.insert(t, propose(fmt.Sprintf("failing at %s", last), banked())))
		refused := of(c, intent.NotApplied, "connection_refused")
		refused.Contact = intent.Unanswered
		b.evidence(t, c.Row, refused)
	}
	return last
}

// succeed records an attempt of a new intent as applied.
func (b bundle) succeed(t *testing.T, key string) {
	t.Helper()
	c := b.granted(t, b.insert(t, propose(key, banked())))
	b.evidence(t, c.Row, of(c, intent.Applied, ""))
}

func (b bundle) trip(t *testing.T, failures int) bool {
	t.Helper()
	tripped, err := b.Trip(t.Context(), "bank", failures, "connection_refused")
	if err != nil {
		t.Error(err)
	}
	return tripped
}

func (b bundle) closeBreaker(t *testing.T, c outbox.Claim) bool {
	t.Helper()
	closed, err := b.CloseBreaker(t.Context(), "bank", c.Attempt.ClaimedAt)
	if err != nil {
		t.Error(err)
	}
	return closed
}

func TestAProviderThatDoesNotAnswerManyTimesInARowIsHeld(t *testing.T) {
	t.Parallel()
	b := start(t)
	last := b.fail(t, noon, 9, time.Second)
	if b.trip(t, 10) {
		t.Error("tripped after nine")
	}
	last = b.fail(t, last.Add(time.Second), 1, 0)
	if !b.trip(t, 10) {
		t.Fatal("not tripped after ten")
	}
	list := b.holds(t, false)
	if len(list) != 1 || !list[0].Automatic || list[0].Subject != bank || list[0].Principal != "writ:breaker" || !list[0].ProbeAt.Equal(last.Add(5*time.Second)) {
		t.Fatalf("holds %+v", list)
	}
	if b.trip(t, 10) || len(b.holds(t, true)) != 1 {
		t.Error("one streak trips once")
	}
	row := b.insert(t, propose("next", banked()))
	c := b.claim(t, row)
	if want := (intent.Step{Kind: intent.Wait, At: last.Add(5 * time.Second), Reason: intent.ReasonHeld}); c.Granted || c.Row.Next() != want {
		t.Errorf("granted %v; the row says %+v", c.Granted, c.Row.Next())
	}
}

func TestOnlyAStreakThatIsFastAndUnbrokenTripsTheBreaker(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T, b bundle){
		"an answer in between": func(t *testing.T, b bundle) {
			b.fail(t, noon, 9, time.Second)
			b.succeed(t, "answered")
			b.fail(t, noon.Add(10*time.Second), 9, time.Second)
		},
		"a refusal is an answer": func(t *testing.T, b bundle) {
			b.fail(t, noon, 9, time.Second)
			c := b.granted(t, b.insert(t, propose("declined", banked())))
			b.evidence(t, c.Row, of(c, intent.NotApplied, "card_declined"))
			b.fail(t, noon.Add(10*time.Second), 9, time.Second)
		},
		"longer than a minute": func(t *testing.T, b bundle) { b.fail(t, noon, 15, 7*time.Second) },
		"what the tool broke itself": func(t *testing.T, b bundle) {
			b.fail(t, noon, 9, time.Second)
			c := b.granted(t, b.insert(t, propose("panicked", banked())))
			panicked := of(c, intent.Unknown, "panic")
			panicked.Contact = intent.NoContact
			b.evidence(t, c.Row, panicked)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			run(t, b)
			if b.trip(t, 10) {
				t.Errorf("tripped: %+v", b.holds(t, false))
			}
		})
	}
}

func TestAnAnswerWritesNothingForTheBreakerWhileThereIsNoStreak(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.succeed(t, "first")
	if n := query[int](t, b, `SELECT count(*) FROM breakers`); n != 0 {
		t.Errorf("%d streaks", n)
	}
	b.fail(t, noon, 1, 0)
	b.succeed(t, "second")
	const stamp = `SELECT xmin::text || ' ' || ctid::text || ' ' || failures FROM breakers`
	before := query[string](t, b, stamp)
	b.succeed(t, "third")
	if after := query[string](t, b, stamp); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestOneClaimAtATimeTriesAProviderThatIsHeld(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=10")
	probe := b.fail(t, noon, 3, time.Second).Add(5 * time.Second)
	if !b.trip(t, 3) {
		t.Fatal("not tripped")
	}
	for _, next := range []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute,
	} {
		b.setClock(t, probe.Add(-time.Millisecond))
		early := b.insert(t, propose(fmt.Sprintf("too early for %s", probe), banked()))
		if b.claim(t, early).Granted {
			t.Errorf("a probe before %s", probe)
		}
		b.setClock(t, probe)
		var group sync.WaitGroup
		granted := make([]bool, 8)
		for i := range granted {
			row := b.insert(t, propose(fmt.Sprintf("%d of %s", i, probe), banked()))
			group.Go(func() { granted[i] = b.claim(t, row).Granted })
		}
		group.Wait()
		count := 0
		for _, g := range granted {
			if g {
				count++
			}
		}
		if count != 1 {
			t.Fatalf("%d of 8 claims tried the provider at %s", count, probe)
		}
		if at := b.holds(t, false)[0].ProbeAt; !at.Equal(probe.Add(next)) {
			t.Fatalf("the next probe is %s after the last, want %s", at.Sub(probe), next)
		}
		probe = probe.Add(next)
	}
}

func TestTheAnswerToAProbeLiftsTheHold(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	old := b.granted(t, b.insert(t, propose("sent before the trip", banked())))
	last := b.fail(t, noon.Add(time.Second), 3, time.Second)
	if !b.trip(t, 3) {
		t.Fatal("not tripped")
	}
	b.setClock(t, last.Add(5*time.Second))
	b.evidence(t, old.Row, of(old, intent.Applied, ""))
	if b.closeBreaker(t, old) {
		t.Error("an answer from before the trip says nothing about now")
	}
	probe := b.granted(t, b.insert(t, propose("probe", banked())))
	if probe.Row.HeldUntil.IsZero() {
		t.Error("a granted probe does not show its hold")
	}
	b.evidence(t, probe.Row, of(probe, intent.Applied, ""))
	if !b.closeBreaker(t, probe) || b.closeBreaker(t, probe) {
		t.Error("it is lifted once")
	}
	list := b.holds(t, true)
	if len(list) != 1 || list[0].Lifter.Principal != "writ:breaker" || list[0].Probes != 1 {
		t.Errorf("holds %+v", list)
	}
	if after := b.granted(t, b.insert(t, propose("after", banked()))); !after.Row.HeldUntil.IsZero() {
		t.Errorf("held until %s", after.Row.HeldUntil)
	}
}

func TestAPersonsHoldIsNeitherProbedNorLiftedByTheBreaker(t *testing.T) {
	t.Parallel()
	b := start(t)
	last := b.fail(t, noon, 3, time.Second)
	if !b.trip(t, 3) {
		t.Fatal("not tripped")
	}
	hold := b.setHold(t, bank)
	b.setClock(t, last.Add(time.Hour))
	row := b.insert(t, propose("next", banked()))
	if c := b.claim(t, row); c.Granted || c.Row.Next().Reason != intent.ReasonHeld {
		t.Errorf("granted %v; the row says %+v", c.Granted, c.Row.Next())
	}
	if closed, err := b.CloseBreaker(t.Context(), "bank", last.Add(2*time.Hour)); err != nil || !closed {
		t.Errorf("closed %v, %v", closed, err)
	}
	if list := b.holds(t, false); len(list) != 1 || list[0].ID != hold.ID {
		t.Errorf("standing: %+v", list)
	}
}

func TestAPersonMayLiftTheBreakersHoldAndThenItTakesANewStreak(t *testing.T) {
	t.Parallel()
	b := start(t)
	last := b.fail(t, noon, 3, time.Second)
	if !b.trip(t, 3) {
		t.Fatal("not tripped")
	}
	b.exec(t, `UPDATE breakers SET failures = 2`) // stragglers
	b.liftHold(t, b.holds(t, false)[0].ID)
	b.fail(t, last.Add(time.Second), 2, time.Second)
	if b.trip(t, 3) {
		t.Error("two failures after it was lifted set it again")
	}
	b.fail(t, last.Add(3*time.Second), 1, time.Second)
	if !b.trip(t, 3) {
		t.Error("three did not")
	}
}
