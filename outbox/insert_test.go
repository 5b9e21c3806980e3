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

func TestAnIntentIsReadAsItWasProposed(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	p := propose("order-4711", keyed())
	p.Rules.Window = intent.Forever // the largest number that a rule holds
	row := b.insert(t, p)
	want := outbox.Row{
		ID: p.ID(), Tenant: p.Tenant, RequestKey: p.RequestKey, Principal: p.Principal, Tool: p.Tool, TaskQueue: p.TaskQueue,
		State: intent.Recorded, Version: 1, Generation: 1, IdempotencyKey: p.IdempotencyKey, EffectContext: p.EffectContext,
		Decision: p.Decision, Salt: p.Salt, Fingerprint: p.Fingerprint, SpecDigest: p.SpecDigest, Commitment: p.Commitment,
		Rules: p.Rules, Traceparent: p.Traceparent, CreatedAt: noon, DueAt: noon.Add(15 * time.Second), Approvers: 1, ReadAt: noon,
	}
	if !reflect.DeepEqual(row, want) {
		t.Errorf("inserted %+v\nwant %+v", row, want)
	}
	if loaded := b.load(t, p.ID()); !reflect.DeepEqual(loaded, want) {
		t.Errorf("loaded %+v\nwant %+v", loaded, want)
	}
	payload, err := b.Payload(t.Context(), p.ID())
	if err != nil || !bytes.Equal(payload, p.Payload) {
		t.Errorf("payload %q, %v", payload, err)
	}
}

func TestARequestKeyNamesOneIntentForEver(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.insert(t, propose("order-4711", keyed()))
	again := propose("order-4711", opaque())
	again.Salt, again.Principal, again.Fingerprint = intent.Salt{9}, "till-8", intent.Digest{9}
	row := b.insert(t, again)
	row.ReadAt = first.ReadAt
	if !reflect.DeepEqual(row, first) {
		t.Errorf("the second insert returned %+v\nwant the first row %+v", row, first)
	}
	other := propose("order-4711", keyed())
	other.Tenant = "globex"
	if row := b.insert(t, other); row.Tenant != "globex" || row.ID == first.ID {
		t.Errorf("another tenant's intent is %+v", row)
	}
}

func TestOfThirtyTwoInsertsAtOnceOneWritesTheRow(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=16")
	rows := make([]outbox.Row, 32)
	var group sync.WaitGroup
	for i := range rows {
		group.Go(func() {
			p := propose("order-4711", keyed())
			p.Salt = intent.Salt{byte(i)}
			var err error
			if rows[i], err = b.Insert(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, row := range rows {
		if row.Salt != rows[0].Salt || row.ID != rows[0].ID || row.Version != 1 {
			t.Fatalf("two callers saw different rows: %+v and %+v", rows[0], row)
		}
	}
	if n := query[int](t, b, `SELECT count(*) FROM intents`); n != 1 {
		t.Errorf("%d rows", n)
	}
	if count := b.commits.Take(); count.Flushed != 1 {
		t.Errorf("%+v, want one writer", count)
	}
}

func TestARefusedRequestIsRecordedWithItsReceiptAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	refused := outbox.End{To: intent.Refused, Reason: intent.ReasonRefused}
	row, err := b.InsertEnded(t.Context(), propose("order-4711", keyed()), refused, seal)
	if err != nil {
		t.Fatal(err)
	}
	if row.State != intent.Refused || row.EndedAt.IsZero() || !row.DueAt.IsZero() || row.Next().Kind != intent.Stop {
		t.Errorf("%+v", row)
	}
	if got := b.receipt(t, row.ID); got != "refused refused 0 " {
		t.Errorf("receipt %q", got)
	}
	if again, err := b.InsertEnded(t.Context(), propose("order-4711", keyed()), refused, seal); err != nil || again.Version != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if c := b.claim(t, row); c.Granted {
		t.Error("a refused intent was granted an attempt")
	}
}

func TestAnAnsweredReadIsOneCommitAndTheFirstAnswerStands(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := propose("greeting", intent.Rules{Class: intent.Read, MaxAttempts: 3, Timeout: time.Second})
	answer := func(text string) outbox.Row {
		ev := outbox.Evidence{Attempt: 1, Token: uuid.New(), Outcome: intent.Applied, MediaType: "text/plain", Result: []byte(text)}
		end := outbox.End{To: intent.Completed, Reason: intent.ReasonApplied, Worker: "worker-1", Evidence: &ev}
		row, err := b.InsertEnded(t.Context(), p, end, seal)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	b.commits.Take()
	row := answer("first")
	if count := b.commits.Take(); count.Flushed != 1 || count.Relaxed+count.Unsaid != 0 {
		t.Errorf("%+v, want one flushed commit", count)
	}
	if row.State != intent.Completed || len(row.Attempts) != 1 || !row.Attempts[0].EvidenceAt.Equal(row.EndedAt) {
		t.Errorf("%+v", row)
	}
	answer("second")
	if count := b.commits.Take(); count.Flushed+count.Relaxed+count.Unsaid != 0 {
		t.Errorf("%+v, the dropped answer was written", count)
	}
	if mediaType, body, err := b.result(t, row.ID); err != nil || mediaType != "text/plain" || string(body) != "first" {
		t.Errorf("%s %q, %v", mediaType, body, err)
	}
	if got := b.receipt(t, row.ID); got != "completed effect_applied 1 text/plain, 5 of 5 bytes" {
		t.Errorf("receipt %q", got)
	}
}

func TestWhatIsNotThereIsSaidByItsCode(t *testing.T) {
	t.Parallel()
	b := start(t)
	missing := intent.IntentID("acme", "nobody")
	_, err := b.Load(t.Context(), missing)
	if intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("load: %v", err)
	}
	if _, err := b.Payload(t.Context(), missing); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("payload: %v", err)
	}
	if _, err := b.Journal(t.Context(), missing, nil, seal); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("journal: %v", err)
	}
	if _, err := b.Claim(t.Context(), outbox.ClaimRequest{ID: missing, Version: 1}); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("claim: %v", err)
	}
	if mediaType, body, err := b.result(t, missing); mediaType != "" || body != nil || err != nil {
		t.Errorf("result: %q %q %v", mediaType, body, err)
	}
	if _, err := b.Spec(t.Context(), "payments.capture"); intent.CodeOf(err) != intent.CodeUnknownTool {
		t.Errorf("spec: %v", err)
	}
}
