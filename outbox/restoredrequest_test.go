package outbox_test

import (
	"errors"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// mayHaveRun checks the error of a request that may have been run in what was lost.
func mayHaveRun(t *testing.T, what string, err error) {
	t.Helper()
	var e *intent.Error
	if !errors.As(err, &e) || e.Code != intent.CodeOutboxRestored || e.Effect != intent.Unknown {
		t.Errorf("%s: %v", what, err)
	}
}

// A caller that asks for it directly, and a dispatcher that slept through the restore, ask as one
// does of whom nobody knows that it was there before.
func TestARequestThatMayHaveRunBecomesNoIntentBeforeAPersonHasSaidSo(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := propose("order-7", opaque())
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	b.loseCommits(t)
	_, err := b.InsertEnded(t.Context(), mine, outbox.End{To: intent.Refused, Reason: "denied"}, seal)
	mayHaveRun(t, "refused before an operator has said what was lost", err)
	_, err = b.Confirm(t.Context(), mine.ID(), ada)
	mayHaveRun(t, "decided before it", err)
	if done := b.afterRestore(t, outbox.Restore{}); done.Parked != 1 {
		t.Fatalf("%+v", done)
	}

	_, err = b.Insert(t.Context(), mine)
	mayHaveRun(t, "inserted", err)
	_, err = b.SpecFor(t.Context(), mine.RequestKey, requested(mine).Action, mine.EffectContext)
	mayHaveRun(t, "asked for directly", err)
	_, err = b.Confirm(t.Context(), mine.ID(), ada)
	mayHaveRun(t, "decided", err)
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Errorf("enqueued again: %v", err)
	}
	if n := query[int](t, b, `SELECT count(*) FROM intents`); n != 0 {
		t.Fatalf("%d intents", n)
	}

	if _, err := b.Retry(t.Context(), mine.ID(), ada); err != nil {
		t.Fatal(err)
	}
	b.granted(t, b.insert(t, mine))
}

func TestADropOfWhatMayHaveRunDoesNotSayThatNothingWasSent(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string]bool{"while the history is not trusted": false, "when it is": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			mine := propose("order-7", opaque())
			if err := b.enqueue(t, requested(mine), true); err != nil {
				t.Fatal(err)
			}
			b.loseCommits(t)
			if trusted {
				b.afterRestore(t, outbox.Restore{})
			}
			if dropped, err := b.Drop(t.Context(), mine.ID(), withdrawn); err != nil || !dropped.MayHaveRun() {
				t.Fatalf("%+v, %v", dropped, err)
			}
			_, inserted := b.Insert(t.Context(), mine)
			for what, err := range map[string]error{"inserted": inserted, "enqueued": b.enqueue(t, requested(mine), true)} {
				var e *intent.Error
				if !errors.As(err, &e) || e.Code != intent.CodeDropped || e.Effect != intent.Unknown {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func TestARequestThatWasParkedMayHaveBeenTriedAgainInWhatWasLost(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, name := range []string{"parked", "dropped"} {
		if err := b.enqueue(t, requested(propose(name, keyed())), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Drop(t.Context(), intent.IntentID("acme", "dropped"), withdrawn); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), error_code = 'unknown_tool' WHERE request_key = 'parked'`)
	b.loseCommits(t)
	if done := b.afterRestore(t, outbox.Restore{}); done.Parked != 1 {
		t.Errorf("%+v", done)
	}
	s, _, err := b.Submitted(t.Context(), intent.IntentID("acme", "parked"))
	if err != nil || !s.MayHaveRun() || s.ErrorCode != intent.CodeOutboxRestored {
		t.Errorf("%+v, %v", s, err)
	}
	if s, _, err := b.Submitted(t.Context(), intent.IntentID("acme", "dropped")); err != nil || s.MayHaveRun() {
		t.Errorf("what was dropped: %+v, %v", s, err)
	}
}

// A workflow that Temporal carried on, or a caller, began the intent again after the restore. It is
// new to the rows, and its request is not.
func TestAnIntentWhoseRequestIsOlderThanTheLossIsMarkedHoweverLateItBegan(t *testing.T) {
	t.Parallel()
	waits := propose("waits for a person", opaque())
	waits.ConfirmWithin = 24 * time.Hour
	b := start(t)
	b.setClock(t, noon)
	proposals := []outbox.Proposal{propose("order-7", opaque()), waits}
	for _, p := range proposals {
		if err := b.enqueue(t, requested(p), true); err != nil {
			t.Fatal(err)
		}
	}
	b.take(t, outbox.Take{Limit: 10})
	b.loseCommits(t)
	b.setClock(t, noon.Add(time.Hour))
	for _, p := range proposals {
		b.insert(t, p)
	}
	fresh := b.insert(t, propose("since", opaque()))
	b.settle(t, len(proposals))

	done := b.afterRestore(t, outbox.Restore{Before: noon.Add(time.Minute)})

	if done.Marked != 2 || done.Parked != 0 {
		t.Errorf("%+v", done)
	}
	for _, p := range proposals {
		if row := b.load(t, p.ID()); len(row.Attempts) != 1 || !row.Attempts[0].Presumed {
			t.Errorf("%s is not marked: %+v", p.RequestKey, row.Attempts)
		}
	}
	b.granted(t, fresh)
	b.settle(t, 1) // the other one waits for a person
}

func TestAnIntentThatIsBeingInsertedWhileAnOperatorMarksIsMarked(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	mine := propose("order-7", opaque())
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	b.loseCommits(t)
	gate := b.begin(t, b.linger(t))
	inserted, marked := make(chan error, 1), make(chan outbox.AfterRestored, 1)
	go func() { _, err := b.Insert(t.Context(), mine); inserted <- err }()
	b.awaitWaiting(t, "enqueued", 1)
	go func() {
		done, err := b.AfterRestore(t.Context(), outbox.Restore{}, ada)
		if err != nil {
			t.Error(err)
		}
		marked <- done
	}()
	b.awaitWaiting(t, "enqueued", 2)
	commit(t, gate)
	if err := <-inserted; err != nil {
		t.Fatal(err)
	}
	if done := <-marked; done.Marked != 1 || done.Parked != 0 {
		t.Errorf("%+v", done)
	}
	if c := b.claim(t, b.load(t, mine.ID())); c.Granted {
		t.Error("what may have been sent is sent again")
	}
}
