package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// loseCommits makes the outbox look as one that was trusted in another history than this one.
func (b bundle) loseCommits(t *testing.T) {
	t.Helper()
	b.trust(t, "system_identifier, timeline + 1")
}

// trust has the outbox trusted in a history that is named by what differs from the one in force. Of
// that one nothing is lost: what comes after it may be.
func (b bundle) trust(t *testing.T, history string) {
	t.Helper()
	b.exec(t, `
		INSERT INTO timelines (number, system_identifier, timeline, principal, note, decided_at, marked, lost)
		SELECT number + 1, `+history+`, 'nobody', 'a test', writ_now(), 0, false
		FROM timelines ORDER BY number DESC LIMIT 1`)
}

func (b bundle) afterRestore(t *testing.T, what outbox.Restore) outbox.AfterRestored {
	t.Helper()
	done, err := b.AfterRestore(t.Context(), what, ada)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// timelines returns them as the doctor reads them.
func (b bundle) timelines(t *testing.T) outbox.Timelines {
	t.Helper()
	now, err := inspector(t, b.url).Timelines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func ofClass(class intent.Class) intent.Rules {
	rules := opaque()
	rules.Class = class
	return rules
}

func TestAFreshOutboxIsTrustedInTheHistoryThatItWasMadeIn(t *testing.T) {
	t.Parallel()
	b := start(t)
	now := b.timelines(t)
	if now.Restored() || now.Current != now.Trusted || now.Current.Number < 1 || now.Current.System == 0 {
		t.Errorf("%+v", now)
	}
	b.granted(t, b.insert(t, propose("order-4711", opaque())))
	done := b.afterRestore(t, outbox.Restore{})
	if !done.Trusted || done.Marked != 0 || done.After != now.Current {
		t.Errorf("%+v", done)
	}
	if n := query[int](t, b, `SELECT count(*) FROM attempts WHERE presumed`); n != 0 {
		t.Errorf("%d attempts were presumed without a restore", n)
	}
}

func TestNoClaimIsGrantedInAnotherHistoryThanTheOneThatIsTrusted(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"another timeline": "system_identifier, timeline + 1", "another cluster": "system_identifier + 1, timeline"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			var rows []outbox.Row
			for _, class := range intent.Classes() {
				rows = append(rows, b.insert(t, propose(string(class), ofClass(class))))
			}
			b.trust(t, other)
			if now := b.timelines(t); !now.Restored() {
				t.Errorf("%+v", now)
			}
			for _, row := range rows {
				c := b.claim(t, row)
				want := intent.Step{Kind: intent.Wait, At: noon.Add(time.Minute), Reason: intent.ReasonRestored}
				if c.Granted || c.Payload != nil || c.Row.Next() != want {
					t.Errorf("%s: granted %v, the row says %+v", row.Rules.Class, c.Granted, c.Row.Next())
				}
			}
			if n := query[int](t, b, `SELECT count(*) FROM attempts`); n != 0 {
				t.Errorf("%d attempts", n)
			}
		})
	}
}

func TestAfterARestoreEachClassGoesOnAsItsRuleSays(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	rows := map[string]outbox.Row{}
	for name, rules := range map[string]intent.Rules{
		"keyed": keyed(), "reconcilable": reconcilable(), "opaque": opaque(), "read": ofClass(intent.Read), "transactional": ofClass(intent.Transactional),
	} {
		rows[name] = b.insert(t, propose(name, rules))
	}
	b.loseCommits(t)
	b.setClock(t, noon.Add(time.Hour))

	done := b.afterRestore(t, outbox.Restore{})

	if done.Marked != 3 || done.Trusted || done.Before.Number != done.After.Number+1 || b.timelines(t).Restored() {
		t.Errorf("%+v", done)
	}
	lease := noon.Add(time.Hour + 15*time.Second)
	for name, want := range map[string]intent.Step{
		"keyed":         {Kind: intent.Invoke, Attempt: 2, Reason: intent.ReasonResend},
		"reconcilable":  {Kind: intent.Reconcile, Reason: intent.ReasonLookUp},
		"opaque":        {Kind: intent.Wait, At: lease, Reason: intent.ReasonLeaseRunning},
		"read":          {Kind: intent.Invoke, Attempt: 1, Reason: intent.ReasonFirstAttempt},
		"transactional": {Kind: intent.Invoke, Attempt: 1, Reason: intent.ReasonFirstAttempt},
	} {
		row := b.load(t, rows[name].ID)
		if row.Next() != want {
			t.Errorf("%s: next %+v, want %+v", name, row.Next(), want)
		}
		if due := row.DueAt; due.After(lease) || want.Kind != intent.Wait && due.After(row.ReadAt) {
			t.Errorf("%s is due at %s", name, due)
		}
		if want.Attempt == 1 {
			continue
		}
		a := row.Attempts[0]
		if len(row.Attempts) != 1 || !a.Presumed || a.Worker != "writ recover --after-restore" || a.LeaseUntil != lease || a.Outcome != "" ||
			row.State != intent.Invoking || row.FirstSentAt != row.CreatedAt {
			t.Errorf("%s: %s, first sent %s, %+v", name, row.State, row.FirstSentAt, a)
		}
	}
	again := b.granted(t, b.load(t, rows["keyed"].ID))
	if again.Attempt.Number != 2 || again.Row.IdempotencyKey != rows["keyed"].IdempotencyKey {
		t.Errorf("attempt %d under %s", again.Attempt.Number, again.Row.IdempotencyKey)
	}
	b.setClock(t, lease)
	if row := b.journal(t, rows["opaque"], nil); row.State != intent.InDoubt || row.ParkedFor() != intent.ReasonNeverSentTwice {
		t.Errorf("the opaque one is %s, %s", row.State, row.ParkedFor())
	}
}

// A key that the provider may have forgotten since the intent was made is not sent again.
func TestAfterARestoreTheKeysWindowCountsFromTheIntentsBeginning(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row := b.insert(t, propose("order-4711", keyed()))
	b.loseCommits(t)
	b.setClock(t, noon.Add(25*time.Hour))
	b.afterRestore(t, outbox.Restore{})
	b.setClock(t, noon.Add(26*time.Hour))
	if step := b.load(t, row.ID).Next(); step.Kind != intent.Park || step.Reason != intent.ReasonWindowPassed {
		t.Errorf("next %+v", step)
	}
}

func TestWhatAnOperatorKnowsOfALossIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	old := b.insert(t, propose("before", opaque()))
	b.setClock(t, noon.Add(time.Hour))
	fresh := b.insert(t, propose("since", opaque()))
	b.loseCommits(t)
	if done := b.afterRestore(t, outbox.Restore{Before: noon.Add(time.Minute)}); done.Marked != 1 {
		t.Errorf("%+v", done)
	}
	if len(b.load(t, old.ID).Attempts) != 1 || len(b.load(t, fresh.ID).Attempts) != 0 {
		t.Error("what was made after the restore was marked, or what was made before was not")
	}
	b.granted(t, fresh)

	b.loseCommits(t)
	safe := b.insert(t, propose("nothing lost", opaque()))
	if done := b.afterRestore(t, outbox.Restore{NothingLost: true}); done.Marked != 0 || done.Trusted {
		t.Errorf("%+v", done)
	}
	b.granted(t, safe)
}

func TestAnInterruptedAfterRestoreStopsClaimsUntilItIsFinished(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	const all = 205 // more than two batches
	var last outbox.Row
	for i := range all {
		b.setClock(t, noon.Add(time.Duration(i)*time.Millisecond))
		last = b.insert(t, propose(fmt.Sprintf("order-%d", i), keyed()))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	// A data folder that was rolled back begins no timeline: it stops the claims itself.
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT FROM intents WHERE id = $1 FOR UPDATE`, last.ID[:]); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() {
			_, err := b.AfterRestore(ctx, outbox.Restore{SameTimeline: true}, ada)
			ended <- err
		}()
		await(t, "two batches are marked", func() bool {
			return query[int](t, b, `SELECT count(*) FROM attempts WHERE presumed`) == 200
		})
		interrupt()
		if err := <-ended; err == nil {
			t.Error("it ended while a row was locked")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if now := b.timelines(t); !now.Restored() || now.Trusted.Number != 0 || now.Principal != "ada" {
		t.Errorf("%+v", now)
	}
	if c := b.claim(t, b.load(t, last.ID)); c.Granted {
		t.Error("a claim was granted before everything was marked")
	}

	if done := b.afterRestore(t, outbox.Restore{}); done.Marked != all {
		t.Errorf("%+v", done)
	}
	if n := query[int](t, b, `SELECT count(*) FROM attempts`); n != all {
		t.Errorf("%d intents have %d attempts", all, n)
	}
	b.granted(t, b.load(t, last.ID))
}

// The worker lived on, with a claim that is not in the database any more.
func TestTheGoodAnswerOfALostClaimIsKept(t *testing.T) {
	t.Parallel()
	answer := func(outcome intent.Outcome) outbox.Evidence {
		ev := outbox.Evidence{Attempt: 1, Token: uuid.New(), Outcome: outcome, Code: "http_502"}
		if outcome == intent.Applied {
			ev.Code, ev.MediaType, ev.Result = "", "application/json", []byte(`{"captured":true}`)
		}
		return ev
	}
	for name, late := range map[string]bool{"before anything is marked": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			row := b.insert(t, propose("order-4711", opaque()))
			if got := b.evidence(t, row, answer(intent.Applied)); got.Version != row.Version {
				t.Errorf("a stranger's word was believed where nothing is lost: %+v", got.Attempts)
			}
			b.loseCommits(t)
			if late {
				b.afterRestore(t, outbox.Restore{})
			}
			// A refusal speaks for its own request, and nobody knows how many there were.
			if got := b.evidence(t, row, answer(intent.NotApplied)); intent.Happened(got.Record()) == intent.Applied || len(got.Attempts) > 0 && got.Attempts[0].Outcome != "" {
				t.Errorf("%+v", got.Attempts)
			}
			good := answer(intent.Applied)
			b.evidence(t, row, good)
			done := b.journal(t, row, &good) // which receives it too
			if done.State != intent.Completed || len(done.Attempts) != 1 || !done.Attempts[0].Presumed {
				t.Errorf("%s, %+v", done.State, done.Attempts)
			}
			if _, body, err := b.result(t, row.ID); err != nil || string(body) != `{"captured":true}` {
				t.Errorf("the answer is %s, %v", body, err)
			}
		})
	}
}

func TestNobodyIsToldThatNothingHappenedWhileClaimsMayBeLost(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	waiting := propose("waits for a person", opaque())
	waiting.ConfirmWithin = 24 * time.Hour
	waits := b.insert(t, waiting)
	sent := b.insert(t, propose("recorded", opaque()))
	b.loseCommits(t)

	_, err := b.Deny(t.Context(), outbox.Refusal{ID: waits.ID, Decision: []byte(`{}`)}, ada, seal)
	if intent.CodeOf(err) != intent.CodeOutboxRestored {
		t.Errorf("denied: %v", err)
	}
	refused, err := b.Refuse(t.Context(), outbox.Refusal{ID: sent.ID, Version: sent.Version, Decision: []byte(`{}`)}, seal)
	if err != nil || refused.State != intent.Recorded {
		t.Errorf("refused: %s, %v", refused.State, err)
	}
	cancelled, err := b.Cancel(t.Context(), sent.ID, ada, seal)
	if err != nil || cancelled.State != intent.Recorded || cancelled.Next().Reason != intent.ReasonRestored {
		t.Errorf("cancelled: %s, next %+v, %v", cancelled.State, cancelled.Next(), err)
	}

	b.afterRestore(t, outbox.Restore{})
	b.setClock(t, noon.Add(time.Minute))
	if row := b.journal(t, sent, nil); row.State != intent.InDoubt {
		t.Errorf("what was cancelled is %s", row.State)
	}
	if row := b.load(t, waits.ID); row.State != intent.AwaitingConfirmation || row.Next().Kind != intent.Stop {
		t.Errorf("what waits for a person is %s, next %+v", row.State, row.Next())
	}
	denied, err := b.Deny(t.Context(), outbox.Refusal{ID: waits.ID, Decision: []byte(`{}`)}, ada, seal)
	if err != nil || denied.State != intent.InDoubt || denied.Next().Kind != intent.Stop {
		t.Errorf("denied: %s, next %+v, %v", denied.State, denied.Next(), err)
	}
	if n := query[int](t, b, `SELECT count(*) FROM receipts`); n != 0 {
		t.Errorf("%d receipts", n)
	}
}

func TestRecoveryLeavesARestoredOutboxAloneUntilSomebodyTrustsIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	b.insert(t, propose("order-4711", ofClass(intent.Transactional)))
	b.loseCommits(t)
	b.setClock(t, noon.Add(time.Minute))
	if taken := b.takeStalled(t, 10); len(taken) != 1 {
		t.Fatalf("took %+v", taken)
	}
	b.setClock(t, noon.Add(2*time.Minute))
	if taken := b.takeStalled(t, 10); len(taken) != 0 {
		t.Errorf("it was taken again after a minute: %+v", taken)
	}
	b.afterRestore(t, outbox.Restore{})
	if taken := b.takeStalled(t, 10); len(taken) != 1 {
		t.Errorf("nothing is due although the outbox is trusted again")
	}
}

// What was parked in the backup may have been retried, and run, in what was lost.
func TestAfterARestoreAPersonIsToldOfEveryEnqueuedRequestThatItMayHaveRun(t *testing.T) {
	t.Parallel()
	b := start(t)
	due, parked, dropped := propose("due", keyed()), propose("parked", keyed()), propose("dropped", keyed())
	for _, p := range []outbox.Proposal{due, parked, dropped} {
		if err := b.enqueue(t, requested(p), true); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(t, `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), error_code = 'unknown_tool', error = 'no such tool' WHERE request_key = 'parked'`)
	if _, err := b.Drop(t.Context(), dropped.ID(), withdrawn); err != nil {
		t.Fatal(err)
	}
	b.loseCommits(t)
	if done := b.afterRestore(t, outbox.Restore{}); done.Parked != 2 {
		t.Errorf("%+v", done)
	}
	for p, before := range map[*outbox.Proposal]string{&due: "", &parked: "it was parked for unknown_tool: no such tool"} {
		s, _, err := b.Submitted(t.Context(), p.ID())
		if err != nil || s.ErrorCode != intent.CodeOutboxRestored || s.ParkedAt.IsZero() || !strings.HasSuffix(s.Error, before) || !strings.Contains(s.Error, "provider's books") {
			t.Errorf("%s: %+v, %v", p.RequestKey, s, err)
		}
	}
	if s, _, err := b.Submitted(t.Context(), dropped.ID()); err != nil || s.ErrorCode != intent.CodeDropped {
		t.Errorf("what never runs: %+v, %v", s, err)
	}
	b.loseCommits(t)
	if done := b.afterRestore(t, outbox.Restore{}); done.Parked != 0 {
		t.Errorf("they were parked for that before: %+v", done)
	}
}
