package outbox_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// A refusal of which commits were lost may have been followed by an effect, and its good answer says so.
func TestTheGoodAnswerOfWhatWasDecidedAgainInLostCommitsIsKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules intent.Rules
		since bool // it was refused after the restore
		want  string
	}{
		"refused before":            {opaque(), false, "refused refused 0  and refused applied_after_all 1 "},
		"keyed, refused before":     {keyed(), false, "refused refused 0  and refused applied_after_all 1 "},
		"refused since":             {opaque(), true, "refused refused 0 "},
		"transactional, and here":   {ofClass(intent.Transactional), false, "refused refused 0 "},
		"a read, which did nothing": {ofClass(intent.Read), false, "refused refused 0 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setClock(t, noon)
			p := propose("order-4711", tc.rules)
			if tc.since {
				b.loseCommits(t)
				b.afterRestore(t, outbox.Restore{})
				b.setClock(t, noon.Add(time.Hour))
			}
			row := b.refuses(t, p)
			if !tc.since {
				b.setClock(t, noon.Add(time.Hour))
				b.loseCommits(t)
				b.afterRestore(t, outbox.Restore{})
			}
			b.setClock(t, noon.Add(2*time.Hour))
			answer := outbox.Evidence{Attempt: 1, Token: uuid.New(), Outcome: intent.Applied, MediaType: "application/json", Result: []byte(`{"captured":true}`)}
			for range 2 { // evidence, and the journal
				b.evidence(t, row, answer)
			}
			if got := b.receipt(t, row.ID); got != tc.want {
				t.Errorf("receipts %q", got)
			}
			kept := tc.want != "refused refused 0 "
			now := b.load(t, row.ID)
			if again := b.insert(t, p.Over(now)); kept == (again.Generation == 2) || kept != (intent.Happened(now.Record()) == intent.Applied) || kept != (now.Alert != "") {
				t.Errorf("generation %d, alert %q, %+v", again.Generation, now.Alert, now.Attempts)
			}
		})
	}
}

func TestADenialIsSealedForTheGenerationThatItDenies(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	p.ConfirmWithin = time.Hour
	first := b.insert(t, p)
	no := denial(first) // by who looked at the first generation
	b.setClock(t, noon.Add(2*time.Hour))
	expired, err := b.Refuse(t.Context(), denial(first), seal)
	if err != nil {
		t.Fatal(err)
	}
	b.insert(t, p.Over(expired))
	row, err := b.Deny(t.Context(), no, eve, seal)
	if err != nil || row.Generation != 2 || row.State != intent.Refused {
		t.Fatalf("%+v, %v", row, err)
	}
	for _, row := range []outbox.Row{expired, row} {
		if row.Commitment != intent.Commitment(row.Authorized()) {
			t.Errorf("generation %d is refused under a commitment that it does not have", row.Generation)
		}
	}
}

func TestARefusedIntentThatSomebodyChangedByHandIsNotDecidedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			p, earlier := propose("order-4711", keyed()), propose("order-4712", keyed())
			b.byHand(t, b.refuses(t, p).ID, change)
			b.byHand(t, b.insert(t, earlier).ID, change) // for which it is refused
			if _, err := b.Refuse(t.Context(), denial(b.load(t, earlier.ID())), seal); err != nil {
				t.Fatal(err)
			}
			for _, p := range []outbox.Proposal{p, earlier} {
				row := b.load(t, p.ID())
				if _, err := b.Insert(t.Context(), p.Over(row).Bound()); intent.CodeOf(err) != intent.CodeIntentAltered {
					t.Errorf("%s: %v", p.RequestKey, err)
				}
				if now := b.load(t, row.ID); now.State != intent.Refused || now.Generation != 1 {
					t.Errorf("%s: %s, generation %d", p.RequestKey, now.State, now.Generation)
				}
			}
		})
	}
}

// The first request is under way until a dispatcher has seen its end, and the second one may come before that.
func TestARequestThatIsEnqueuedAgainRightAfterItsRefusalIsNotForgottenWithTheFirst(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	e := enqueued(`{}`)
	if err := b.enqueue(t, e, true); err != nil {
		t.Fatal(err)
	}
	first := b.takeOne(t)
	p := propose(string(e.RequestKey), keyed())
	p.Tenant, p.Principal, p.Tool, p.Payload, p.EffectContext = e.Action.Tenant, e.Action.Principal, e.Action.Tool, e.Action.Payload, e.EffectContext
	p.Fingerprint = intent.Fingerprint(p.Salt, e.Action)
	row := b.refuses(t, p)

	b.setClock(t, noon.Add(time.Millisecond))
	for range 2 { // the second finds that it is enqueued
		if err := b.enqueue(t, e, true); err != nil {
			t.Fatal(err)
		}
	}
	b.settle(t, 0)
	again := b.takeOne(t)
	if !again.Again || again.ID != row.ID {
		t.Errorf("%+v", again)
	}
	if err := b.Forget(t.Context(), first); err != nil { // by whoever took the first one
		t.Fatal(err)
	}
	b.wantEnqueued(t, 1)
	b.insert(t, p.Over(row))
	b.setClock(t, noon.Add(time.Minute))
	if known := b.takeOne(t); !known.Known || known.Again {
		t.Errorf("%+v", known)
	}
}
