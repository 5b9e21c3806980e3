package outbox_test

import (
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// spent returns a keyed intent whose only attempt provably had no effect, at a time when its
// key's window has passed.
func (b bundle) spent(t *testing.T) outbox.Row {
	t.Helper()
	b.setClock(t, noon)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	b.evidence(t, c.Row, of(c, intent.NotApplied, "http_429"))
	b.setClock(t, noon.Add(48*time.Hour))
	row := b.load(t, c.Row.ID)
	if row.Next().Kind != intent.Renew {
		t.Fatalf("%+v", row.Next())
	}
	return row
}

func renewal(row outbox.Row) outbox.Renewal {
	generation := row.Generation + 1
	key := intent.DeriveKey(row.Tenant, row.Tool, row.RequestKey, generation)
	return outbox.Renewal{ID: row.ID, Version: row.Version, Key: key, Commitment: intent.Commitment(intent.Authorized{
		Fingerprint: row.Fingerprint, SpecDigest: row.SpecDigest, Context: row.EffectContext, Decision: row.Decision, Key: key, Generation: generation,
	})}
}

func TestTheKeyOfANewGenerationIsOnDiskBeforeItsFirstClaim(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.spent(t)
	if c := b.claim(t, row); c.Granted {
		t.Fatal("an attempt was granted under the spent key")
	}
	b.commits.Take()
	renewed, err := b.Renew(t.Context(), renewal(row))
	if err != nil {
		t.Fatal(err)
	}
	if count := b.commits.Take(); count.Flushed != 1 {
		t.Errorf("%+v", count)
	}
	if renewed.Generation != 2 || renewed.State != intent.Recorded || !renewed.FirstSentAt.IsZero() || renewed.DueAt.IsZero() ||
		renewed.IdempotencyKey != renewal(row).Key || renewed.Commitment != renewal(row).Commitment {
		t.Errorf("%+v", renewed)
	}
	again, err := b.Renew(t.Context(), renewal(row))
	if err != nil || again.Generation != 2 || again.Version != renewed.Version {
		t.Errorf("the same step again: generation %d, version %d, %v", again.Generation, again.Version, err)
	}
	c := b.granted(t, renewed)
	if c.Attempt.Number != 2 || c.Attempt.Generation != 2 || c.Row.FirstSentAt != noon.Add(48*time.Hour) {
		t.Errorf("%+v", c.Attempt)
	}
}

func TestNoGenerationBeginsWhileAnOutcomeIsOpen(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	row := b.evidence(t, c.Row, of(c, intent.Unknown, "http_504"))
	b.setClock(t, noon.Add(48*time.Hour))
	row, err := b.Renew(t.Context(), renewal(row))
	if err != nil || row.Generation != 1 {
		t.Errorf("generation %d, %v", row.Generation, err)
	}
}

func TestWhatThePolicyRevokedIsNotClaimedAnyMore(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	row := b.evidence(t, c.Row, of(c, intent.Unknown, "http_504"))
	b.setClock(t, noon.Add(time.Minute))
	stale, err := b.Revoke(t.Context(), row.ID, row.Version-1, []byte(`{"allow":false}`))
	if err != nil || !stale.RevokedAt.IsZero() {
		t.Fatalf("a stale no counts: %+v, %v", stale, err)
	}
	revoked, err := b.Revoke(t.Context(), row.ID, row.Version, []byte(`{"allow":false}`))
	if err != nil || revoked.RevokedAt != noon.Add(time.Minute) || string(revoked.Revocation) != `{"allow":false}` || revoked.Version != row.Version+1 {
		t.Fatalf("%+v, %v", revoked, err)
	}
	if c := b.claim(t, revoked); c.Granted || c.Row.Next().Kind != intent.Park || c.Row.Next().Reason != intent.ReasonRevoked {
		t.Errorf("granted %v, %+v", c.Granted, c.Row.Next())
	}
}

func TestNothingOfWhichNothingWasSentIsRevoked(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", keyed()))
	if row, err := b.Revoke(t.Context(), row.ID, row.Version, []byte(`{}`)); err != nil || !row.RevokedAt.IsZero() {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestCancellingEndsWhatWasNotSentAndTakesNothingBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules   intent.Rules
		outcome intent.Outcome // of the only attempt; "none" for no attempt
		state   intent.State
		next    intent.StepKind
	}{
		"nothing sent":              {keyed(), "none", intent.Cancelled, intent.Stop},
		"nothing happened":          {keyed(), intent.NotApplied, intent.Cancelled, intent.Stop},
		"a read that runs":          {intent.Rules{Class: intent.Read, Timeout: time.Second, MaxAttempts: 3}, "", intent.Cancelled, intent.Stop},
		"open, keyed":               {keyed(), intent.Unknown, intent.Invoking, intent.Park},
		"open, looked up":           {reconcilable(), intent.Unknown, intent.Invoking, intent.Reconcile},
		"open, opaque, unanswered ": {opaque(), "", intent.Invoking, intent.Wait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			row := b.insert(t, propose("order-4711", tc.rules))
			if tc.outcome != "none" {
				c := b.granted(t, row)
				row = c.Row
				if tc.outcome != "" {
					row = b.evidence(t, row, of(c, tc.outcome, "said"))
				}
			}
			b.commits.Take()
			cancelled, err := b.Cancel(t.Context(), row.ID, eve, seal)
			if err != nil || cancelled.State != tc.state || cancelled.Next().Kind != tc.next {
				t.Fatalf("%s, %+v, %v", cancelled.State, cancelled.Next(), err)
			}
			if count := b.commits.Take(); count.Flushed != 1 {
				t.Errorf("%+v", count)
			}
			if again, err := b.Cancel(t.Context(), row.ID, eve, seal); err != nil || again.Version != cancelled.Version {
				t.Errorf("again: %v, version %d and %d", err, again.Version, cancelled.Version)
			}
			if c := b.claim(t, cancelled); c.Granted {
				t.Error("an attempt was granted after it")
			}
			list, err := b.Decisions(t.Context(), row.ID)
			if err != nil || len(list) != 1 || list[0].Kind != intent.Cancel || list[0].Principal != eve.Principal {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}

func TestWhatHasEndedOtherwiseCannotBeCancelled(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	ev := of(c, intent.Applied, "")
	row := b.journal(t, c.Row, &ev)
	if _, err := b.Cancel(t.Context(), row.ID, eve, seal); intent.CodeOf(err) != intent.CodeAlreadyEnded {
		t.Errorf("%v", err)
	}
}

func TestACancellationThatCameTooLateIsNoneWhenItIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	if row, err := b.Cancel(t.Context(), c.Row.ID, eve, seal); err != nil || row.State != intent.Invoking {
		t.Fatalf("%+v, %v", row, err)
	}
	ev := of(c, intent.Applied, "")
	row := b.journal(t, b.load(t, c.Row.ID), &ev)
	if row.State != intent.Completed {
		t.Fatalf("%+v", row)
	}
	if _, err := b.Cancel(t.Context(), row.ID, eve, seal); intent.CodeOf(err) != intent.CodeAlreadyEnded {
		t.Errorf("%v", err)
	}
}

func TestAnIntentThatWaitsForAPersonCanBeCancelled(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.awaiting(t)
	row, err := b.Cancel(t.Context(), row.ID, eve, seal)
	if err != nil || row.State != intent.Cancelled || row.EndedAt.IsZero() {
		t.Fatalf("%+v, %v", row, err)
	}
	if got := b.receipt(t, row.ID); got != "cancelled cancelled 0 " {
		t.Errorf("receipt %q", got)
	}
}
