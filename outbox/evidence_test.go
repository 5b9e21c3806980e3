package outbox_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

func TestADefiniteOutcomeIsNeverReplacedAndAnUnknownOneGivesWay(t *testing.T) {
	t.Parallel()
	b := start(t)
	none := intent.Outcome("")
	for _, tc := range []struct{ first, then, want intent.Outcome }{
		{none, intent.Applied, intent.Applied},
		{none, intent.NotApplied, intent.NotApplied},
		{none, intent.Unknown, intent.Unknown},
		{intent.Unknown, intent.Applied, intent.Applied},
		{intent.Unknown, intent.NotApplied, intent.NotApplied},
		{intent.Applied, intent.NotApplied, intent.Applied},
		{intent.Applied, intent.Unknown, intent.Applied},
		{intent.NotApplied, intent.Applied, intent.NotApplied},
		{intent.NotApplied, intent.Unknown, intent.NotApplied},
	} {
		t.Run(string(tc.first)+" then "+string(tc.then), func(t *testing.T) {
			t.Parallel()
			c := b.granted(t, b.insert(t, propose(t.Name(), keyed())))
			row := c.Row
			if tc.first != none {
				row = b.evidence(t, row, of(c, tc.first, "first"))
			}
			before := row.Version
			row = b.evidence(t, row, of(c, tc.then, "then"))
			if got := row.Attempts[0].Outcome; got != tc.want {
				t.Errorf("it is %s", got)
			}
			if learned := row.Version > before; learned != (tc.want == tc.then) {
				t.Errorf("version %d became %d", before, row.Version)
			}
			if stored := b.load(t, row.ID); stored.Version != row.Version || stored.Attempts[0].Outcome != tc.want {
				t.Errorf("returned %+v, stored %+v", row, stored)
			}
		})
	}
}

func TestTheSameEvidenceAgainIsNoNewFact(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	first := b.evidence(t, c.Row, of(c, intent.Unknown, "timeout"))
	again := b.evidence(t, c.Row, of(c, intent.Unknown, "http_500"))
	if again.Version != first.Version || again.Attempts[0].Code != "timeout" {
		t.Errorf("%+v", again)
	}
}

func TestEvidenceCountsOnlyWithTheTokenOfItsClaim(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	for name, change := range map[string]func(*outbox.Evidence){
		"another token":         func(ev *outbox.Evidence) { ev.Token = uuid.New() },
		"another attempt":       func(ev *outbox.Evidence) { ev.Attempt = 2 },
		"an attempt before all": func(ev *outbox.Evidence) { ev.Attempt = 0 },
	} {
		ev := of(c, intent.Applied, "")
		change(&ev)
		if row := b.evidence(t, c.Row, ev); row.Version != c.Row.Version || row.Attempts[0].Outcome != "" {
			t.Errorf("%s: %+v", name, row)
		}
		if row := b.journal(t, c.Row, &ev); row.State != intent.Invoking {
			t.Errorf("%s: journaled %+v", name, row)
		}
	}
}

func TestAnyResultIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	b := start(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	large := bytes.Repeat([]byte("\x00\xff"), 1<<20)
	for name, body := range map[string][]byte{"every byte": every, "two MiB of binary": large} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := b.granted(t, b.insert(t, propose(name, keyed())))
			ev := of(c, intent.Applied, "")
			ev.MediaType, ev.Result = "application/pdf", body
			row := b.journal(t, b.evidence(t, c.Row, ev), nil)
			mediaType, stored, err := b.result(t, row.ID)
			if err != nil || mediaType != "application/pdf" || !bytes.Equal(stored, body) {
				t.Errorf("%s, %d bytes, %v", mediaType, len(stored), err)
			}
		})
	}
}

func TestEvidenceAfterTheEndIsKeptAndEndsNothingAgain(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	second := b.granted(t, first.Row)
	applied := of(second, intent.Applied, "")
	ended := b.journal(t, second.Row, &applied)
	row := b.evidence(t, ended, of(first, intent.NotApplied, "not_found"))
	if row.State != intent.Completed || !row.EndedAt.Equal(ended.EndedAt) || !row.DueAt.IsZero() || row.Version != ended.Version+1 {
		t.Errorf("%+v", row)
	}
	if row.Attempts[0].Outcome != intent.NotApplied || row.Attempts[0].Code != "not_found" {
		t.Errorf("the late evidence was not kept: %+v", row.Attempts[0])
	}
	if again := b.journal(t, row, nil); again.Version != row.Version || b.receipt(t, row.ID) != `completed effect_applied 2 application/json, 17 of 17 bytes` {
		t.Errorf("journaled again: %+v, receipt %q", again, b.receipt(t, row.ID))
	}
}

func TestEvidenceAboutAParkedIntentIsDueForRecovery(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	c := b.granted(t, b.insert(t, propose("order-4711", opaque())))
	unknown := of(c, intent.Unknown, "http_502")
	row := b.journal(t, c.Row, &unknown)
	if row.State != intent.InDoubt || !row.DueAt.IsZero() {
		t.Fatalf("%+v", row)
	}
	b.setClock(t, noon.Add(time.Hour))
	row = b.evidence(t, row, of(c, intent.Applied, ""))
	if row.State != intent.InDoubt || !row.DueAt.Equal(noon.Add(time.Hour+15*time.Second)) {
		t.Errorf("%+v", row)
	}
	if step := row.Next(); step.Kind != intent.Settle || step.To != intent.Completed {
		t.Errorf("next %+v", step)
	}
	if row = b.journal(t, row, nil); row.State != intent.Completed || !row.DueAt.IsZero() {
		t.Errorf("%+v", row)
	}
}

func TestWhatAnAttemptIsKnownOfSurvivesTheWayToTheRowAndBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	ev := of(c, intent.NotApplied, "http_429")
	ev.Message, ev.Final, ev.InProgress, ev.RetryAfterMS = "zu viele Anfragen – später", true, true, 90_000
	got := b.evidence(t, c.Row, ev).Attempts[0]
	want := c.Attempt
	want.Outcome, want.EvidenceAt, want.Code, want.Message = intent.NotApplied, noon, ev.Code, ev.Message
	want.Final, want.InProgress, want.RetryAfter = true, true, 90*time.Second
	if got != want {
		t.Errorf("read %+v\nwant %+v", got, want)
	}
}

func TestEvidenceFromManyWorkersAtOnceLosesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=8")
	rules := keyed()
	rules.MaxAttempts = 8
	var claims []outbox.Claim
	row := b.insert(t, propose("order-4711", rules))
	for range rules.MaxAttempts {
		c := b.granted(t, row)
		claims, row = append(claims, c), c.Row
	}
	var group sync.WaitGroup
	for i, c := range claims {
		group.Go(func() {
			outcome := intent.NotApplied
			if i == 3 {
				outcome = intent.Applied
			}
			ev := of(c, outcome, "")
			b.evidence(t, row, ev)
			b.journal(t, row, &ev)
		})
	}
	group.Wait()
	end := b.load(t, row.ID)
	if end.State != intent.Completed || end.Version != row.Version+8+1 {
		t.Errorf("%+v", end)
	}
	for _, a := range end.Attempts {
		if a.Outcome == "" || a.Outcome == intent.Unknown {
			t.Errorf("attempt %d lost its evidence", a.Number)
		}
	}
	if n := query[int](t, b, `SELECT count(*) FROM receipts`); n != 1 {
		t.Errorf("%d receipts", n)
	}
}

func TestALateAnswerDoesNotReplaceTheOneThatTheReceiptIsSealedOver(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	second := b.granted(t, first.Row)
	ev := of(second, intent.Applied, "")
	ev.Result = []byte(`{"answer":2}`)
	b.journal(t, second.Row, &ev)
	late := of(first, intent.Applied, "")
	late.Result = []byte(`{"answer":1}`)
	row := b.evidence(t, b.load(t, first.Row.ID), late)
	if row.State != intent.Completed || row.Attempts[0].Outcome != intent.Applied {
		t.Errorf("the late answer is not kept: %+v", row)
	}
	if _, body, err := b.result(t, row.ID); err != nil || string(body) != `{"answer":2}` {
		t.Errorf("answers %s (%v)", body, err)
	}
}
