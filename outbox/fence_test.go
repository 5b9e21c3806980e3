package outbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// mustNotRun is the tool of an attempt that has lost its right.
func mustNotRun(t *testing.T) effect {
	return func(*outbox.EffectTx) error {
		t.Error("the tool was run")
		return nil
	}
}

func TestAnAttemptThatWasOvertakenBeforeItBeganDoesNothingWheneverItComesBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	frozen := b.claimed(t, "terms")
	second := b.granted(t, b.load(t, frozen.Row.ID))
	if first := second.Row.Attempts[0]; first.Outcome != intent.NotApplied || first.Code != outbox.CodeFenced {
		t.Errorf("the overtaken attempt is %+v", first)
	}
	if done := b.transact(t, frozen, mustNotRun(t)); done.Committed || done.Evidence != nil {
		t.Errorf("overtaken, it says %+v", done)
	}
	if done := b.transact(t, second, purge(t, "terms")); !done.Committed {
		t.Fatalf("%+v", done.Evidence)
	}
	b.exec(t, keepDocument, "terms") // somebody else's, of the same name
	version := b.load(t, frozen.Row.ID).Version
	for _, late := range []outbox.Claim{frozen, second} {
		if done := b.transact(t, late, mustNotRun(t)); done.Committed || done.Evidence != nil {
			t.Errorf("after the end, attempt %d says %+v", late.Attempt.Number, done)
		}
	}
	if row := b.load(t, frozen.Row.ID); row.Version != version || row.Alert != "" {
		t.Errorf("the row moved from version %d to %d, alert %q", version, row.Version, row.Alert)
	}
	if got, want := b.receipt(t, frozen.Row.ID), "completed effect_applied 2 application/json, 17 of 17 bytes"; got != want {
		t.Errorf("the receipt is %q, want %q", got, want)
	}
}

func TestAClaimWaitsForATransactionThatRunsAndThenSeesItsEnd(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.claimed(t, "terms")
	row := b.load(t, first.Row.ID)
	running, finish := make(chan struct{}), make(chan struct{})
	ended := make(chan outbox.Transacted, 1)
	go func() {
		ended <- b.transact(t, first, func(tx *outbox.EffectTx) error {
			err := purge(t, "terms")(tx)
			close(running)
			<-finish
			return err
		})
	}()
	<-running
	// It gives up the wait after a while, so that its worker is free.
	if c := b.claim(t, row); c.Granted || !c.Running || c.Row.Version != row.Version {
		t.Errorf("while the transaction runs, the claim is %+v", c)
	}
	claimed := make(chan outbox.Claim, 1)
	go func() { claimed <- b.claim(t, row) }()
	b.awaitLockWait(t)
	close(finish)
	if c := <-claimed; c.Granted || c.Running || c.Row.State != intent.Completed {
		t.Errorf("after it the claim is %+v", c)
	}
	if done := <-ended; !done.Committed {
		t.Errorf("%+v", done.Evidence)
	}
	b.wantOnce(t, row.ID, "terms", 1)
}

// awaitLockWait waits until somebody waits for the lock of an intent's row in this schema.
func (b bundle) awaitLockWait(t *testing.T) {
	t.Helper()
	b.awaitLockWaitOn(t, "intents")
}

// awaitLockWaitOn is awaitLockWait for a row of any table.
func (b bundle) awaitLockWaitOn(t *testing.T, table string) {
	t.Helper()
	const waiting = `SELECT EXISTS (
		SELECT FROM pg_locks l JOIN pg_locks held ON held.pid = l.pid AND held.granted AND held.relation = $1::text::regclass
		WHERE NOT l.granted)`
	for deadline := time.Now().Add(20 * time.Second); !query[bool](t, b, waiting, table); {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the row")
		}
	}
}

func TestATransactionThatIsRolledBackLeavesTheEffectToTheClaimThatWaited(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.claimed(t, "terms")
	running := make(chan int, 1)
	ended := make(chan outbox.Transacted, 1)
	go func() {
		ended <- b.transact(t, first, func(tx *outbox.EffectTx) error {
			var pid int
			if err := tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
				return err
			}
			err := purge(t, "terms")(tx)
			running <- pid
			b.awaitGone(t, pid)
			return err
		})
	}()
	pid := <-running
	claimed := make(chan outbox.Claim, 1)
	go func() { claimed <- b.claim(t, b.load(t, first.Row.ID)) }()
	b.awaitLockWait(t)
	b.exec(t, `SELECT pg_terminate_backend($1)`, pid)
	second := <-claimed
	if !second.Granted || second.Attempt.Number != 2 || second.Row.Attempts[0].Code != outbox.CodeFenced {
		t.Fatalf("the claim is %+v", second)
	}
	// The first one has rolled back; what it says of itself changes nothing any more.
	done := <-ended
	if done.Committed {
		t.Fatal("it was committed")
	}
	b.evidence(t, done.Row, *done.Evidence)
	if a := b.load(t, first.Row.ID).Attempts[0]; a.Code != outbox.CodeFenced {
		t.Errorf("the first attempt is %+v", a)
	}
	if done := b.transact(t, second, purge(t, "terms")); !done.Committed {
		t.Fatalf("%+v", done.Evidence)
	}
	b.wantOnce(t, first.Row.ID, "terms", 2)
}

func TestTwoTransactionsOfOneAttemptMakeOneEffect(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	results := make(chan outbox.Transacted, 2)
	for range 2 {
		go func() { results <- b.transact(t, c, purge(t, "terms")) }()
	}
	one, other := <-results, <-results
	if one.Committed == other.Committed || one.Evidence != nil || other.Evidence != nil {
		t.Errorf("they say %+v and %+v", one, other)
	}
	b.wantOnce(t, c.Row.ID, "terms", 1)
}

func TestAnIntentThatEndsWithoutItsEffectTakesTheRightFromItsOpenAttempt(t *testing.T) {
	t.Parallel()
	b := start(t)
	rules := transactional()
	rules.MaxAttempts = 1
	b.exec(t, keepDocument, "terms")
	frozen := b.granted(t, b.insert(t, propose("terms", rules)))
	row := b.journal(t, frozen.Row, nil)
	if row.State != intent.Failed || row.Attempts[0].Code != outbox.CodeFenced || row.Attempts[0].Outcome != intent.NotApplied {
		t.Fatalf("the intent is %s with %+v", row.State, row.Attempts[0])
	}
	if done := b.transact(t, frozen, mustNotRun(t)); done.Committed || done.Evidence != nil {
		t.Errorf("%+v", done)
	}
	if got, want := b.receipt(t, row.ID), "failed attempts_exhausted 1 "; got != want || !b.kept(t, "terms") {
		t.Errorf("the receipt is %q, want %q", got, want)
	}
}

func TestTheLastAttemptOfTheBudgetMakesItsEffect(t *testing.T) {
	t.Parallel()
	b := start(t)
	rules := transactional()
	rules.MaxAttempts = 1
	b.exec(t, keepDocument, "terms")
	c := b.granted(t, b.insert(t, propose("terms", rules)))
	if done := b.transact(t, c, purge(t, "terms")); !done.Committed {
		t.Fatalf("%+v", done.Evidence)
	}
	b.wantOnce(t, c.Row.ID, "terms", 1)
}

func TestAnIntentThatSomebodyStoppedAfterTheClaimIsNotBegun(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	b.exec(t, `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, decided_at)
		SELECT id, 1, 'cancel', 'ada', 'no', commitment, writ_now() FROM intents`)
	done := b.transact(t, c, mustNotRun(t))
	if done.Evidence == nil || done.Evidence.Code != outbox.CodeFenced || done.Evidence.Outcome != intent.NotApplied {
		t.Fatalf("%+v", done)
	}
	if row := b.journal(t, done.Row, done.Evidence); row.State != intent.Cancelled {
		t.Errorf("the intent is %s", row.State)
	}
}

// A history can outlive the commit that it speaks of, for example through a failover to a
// standby that had not got it.
func TestAHistoryThatSaysAppliedIsNotBelievedOverTheDatabase(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	ev := of(c, intent.Applied, "")
	row := b.journal(t, c.Row, &ev)
	if row = b.evidence(t, row, ev); row.State != intent.Invoking || row.Attempts[0].Outcome != "" {
		t.Errorf("the intent is %s with %+v", row.State, row.Attempts[0])
	}
	if step := row.Next(); step.Kind != intent.Invoke || step.Attempt != 2 {
		t.Errorf("the next step is %+v", step)
	}
}

func TestAStrangerOfAnotherClassIsNeverTransacted(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("terms", keyed())))
	done := b.transact(t, c, mustNotRun(t))
	if done.Committed || done.Evidence == nil || done.Evidence.Code != outbox.CodeFenced {
		t.Errorf("%+v", done)
	}
	unknown := within(c, time.Second)
	unknown.Token = uuid.New()
	if done, err := b.Transact(context.WithoutCancel(t.Context()), unknown, evidenceOf(c, mustNotRun(t)), seal); err != nil || done.Committed || done.Evidence != nil {
		t.Errorf("a token that was never granted: %+v, %v", done, err)
	}
}
