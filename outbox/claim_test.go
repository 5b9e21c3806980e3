package outbox_test

import (
	"bytes"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

func TestAClaimIsThePermissionToSendUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	row := b.insert(t, p)
	c := b.granted(t, row)
	want := outbox.Attempt{
		Attempt: intent.Attempt{Number: 1, Generation: 1, ClaimedAt: noon, LeaseUntil: noon.Add(15 * time.Second)},
		Token:   c.Attempt.Token, Worker: "worker-1", SendBy: noon.Add(15 * time.Second),
	}
	if !reflect.DeepEqual(c.Attempt, want) {
		t.Errorf("claimed %+v\nwant %+v", c.Attempt, want)
	}
	if !bytes.Equal(c.Payload, p.Payload) {
		t.Errorf("payload %q", c.Payload)
	}
	if c.Row.State != intent.Invoking || c.Row.Version != 2 || !c.Row.FirstSentAt.Equal(noon) || !c.Row.DueAt.Equal(noon.Add(30*time.Second)) {
		t.Errorf("row %+v", c.Row)
	}
}

func TestOfThirtyTwoClaimsOnOneVersionOneIsGranted(t *testing.T) {
	t.Parallel()
	for _, rules := range []intent.Rules{keyed(), opaque()} {
		t.Run(string(rules.Class), func(t *testing.T) {
			t.Parallel()
			b := start(t, "pool_max_conns=16")
			row := b.insert(t, propose("order-4711", rules))
			claims := make([]outbox.Claim, 32)
			var group sync.WaitGroup
			for i := range claims {
				group.Go(func() { claims[i] = b.claim(t, row) })
			}
			group.Wait()
			granted := 0
			for _, c := range claims {
				if c.Granted {
					granted++
				} else if c.Payload != nil || len(c.Row.Attempts) != 1 {
					t.Errorf("a claimant that must not send received %+v", c)
				}
			}
			if n := query[int](t, b, `SELECT count(*) FROM attempts`); granted != 1 || n != 1 {
				t.Errorf("%d claims granted, %d attempts", granted, n)
			}
		})
	}
}

func TestAClaimWhoseCommitAnswerWasLostIsFoundByItsToken(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", opaque()))
	request := outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-1", SpecDigest: behaviour}
	var claims [2]outbox.Claim
	for i := range claims {
		var err error
		if claims[i], err = b.Claim(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		claims[i].Row.ReadAt = time.Time{}
	}
	if !claims[1].Granted || !reflect.DeepEqual(claims[0], claims[1]) {
		t.Errorf("again: %+v\nfirst: %+v", claims[1], claims[0])
	}
	if n := query[int](t, b, `SELECT count(*) FROM attempts`); n != 1 {
		t.Errorf("%d attempts", n)
	}
}

func TestAClaimOnAnOldVersionIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row := b.insert(t, propose("order-4711", keyed()))
	c := b.granted(t, row)
	known := b.evidence(t, row, of(c, intent.NotApplied, "http_429")) // a fact that the step was not decided on
	b.setClock(t, noon.Add(time.Minute))                              // the backoff is over: nothing but the version is in the way
	late := b.claim(t, c.Row)
	if late.Granted || late.Row.Version != known.Version || len(late.Row.Attempts) != 1 || late.Row.Next().Kind != intent.Invoke {
		t.Errorf("claimed on version %d of %d: %+v", c.Row.Version, known.Version, late)
	}
}

func TestAClaimAsksTheRuleUnderTheLock(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row := b.insert(t, propose("order-4711", keyed()))
	c := b.granted(t, row)
	row = b.evidence(t, row, of(c, intent.Unknown, "http_504"))
	b.setClock(t, noon.Add(999*time.Millisecond))
	early := b.claim(t, row)
	if early.Granted || early.Row.Next().Kind != intent.Wait {
		t.Errorf("one millisecond before its backoff ends: %+v", early)
	}
	b.setClock(t, noon.Add(time.Second))
	if second := b.granted(t, row); second.Attempt.Number != 2 || second.Attempt.Token == c.Attempt.Token || !second.Row.FirstSentAt.Equal(noon) {
		t.Errorf("%+v", second)
	}
}

func TestAResendIsGrantedOnlyWhileTheProviderRemembersTheKey(t *testing.T) {
	t.Parallel()
	rules := keyed()
	rules.Window = time.Minute
	for name, tc := range map[string]struct {
		after   time.Duration
		granted bool
		sendBy  time.Duration
	}{
		"the whole attempt fits":         {40 * time.Second, true, 55 * time.Second},
		"it fits, but its lease doesn't": {50 * time.Second, true, 60 * time.Second},
		"one millisecond too late":       {50*time.Second + time.Millisecond, false, 0},
		"a year later":                   {365 * 24 * time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			c := b.granted(t, b.insert(t, propose("order-4711", rules)))
			b.setClock(t, noon.Add(tc.after))
			second := b.claim(t, c.Row)
			if second.Granted != tc.granted {
				t.Fatalf("granted %v; the row says %+v", second.Granted, second.Row.Next())
			}
			if tc.granted && !second.Attempt.SendBy.Equal(noon.Add(tc.sendBy)) {
				t.Errorf("send by %s, want %s after noon", second.Attempt.SendBy, tc.sendBy)
			}
		})
	}
}

func TestTheFirstAttemptIsGrantedOnlyUnderTheAuthorizedBehaviour(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", keyed()))
	request := outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-2", SpecDigest: intent.Digest{7}, Rules: keyed()}
	c, err := b.Claim(t.Context(), request)
	if err != nil || c.Granted || !c.Diverged {
		t.Fatalf("%+v, %v", c, err)
	}
	if after := b.load(t, row.ID); after.Version != 1 || after.State != intent.Recorded || len(after.Attempts) != 0 {
		t.Errorf("it left a trace: %+v", after)
	}
	first := b.granted(t, row)
	// What was sent goes on under the rules that it was sent with.
	request.Version, request.Rules = first.Row.Version, intent.Rules{}
	if c, err = b.Claim(t.Context(), request); err != nil || c.Granted || !c.Diverged {
		t.Errorf("a tool that may not know the key: %+v, %v", c, err)
	}
	request.Rules = keyed()
	c, err = b.Claim(t.Context(), request)
	if err != nil || !c.Granted || c.Attempt.Number != 2 || c.Row.Rules != keyed() {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAToolThatKillsItsWorkerIsParkedAfterItsBudget(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	row := b.insert(t, propose("order-4711", keyed()))
	for range keyed().MaxAttempts {
		row = b.granted(t, row).Row
	}
	if c := b.claim(t, row); c.Granted {
		t.Fatalf("attempt %d was granted", c.Attempt.Number)
	}
	b.setClock(t, noon.Add(15*time.Second))
	if row = b.journal(t, row, nil); row.State != intent.InDoubt || !row.DueAt.IsZero() {
		t.Errorf("%+v", row)
	}
}
