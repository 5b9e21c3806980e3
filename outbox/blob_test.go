package outbox_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// largePayload is the canonical JSON object with one member of size bytes.
func largePayload(size int) []byte { return fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("x", size)) }

// proposeLarge proposes an intent whose payload does not fit into its row.
func proposeLarge(key string, payload []byte, salt intent.Salt, staged bool) outbox.Proposal {
	p := propose(key, keyed())
	p.Payload, p.Salt, p.Staged = payload, salt, staged
	return p
}

func (b bundle) blobs(t *testing.T, id intent.ID) int {
	t.Helper()
	return query[int](t, b, `SELECT count(*) FROM blobs WHERE intent_id = $1`, id[:])
}

func (b bundle) stagedPayloads(t *testing.T) int {
	t.Helper()
	return query[int](t, b, `SELECT count(*) FROM staged_payloads`)
}

func TestALargePayloadIsStoredOnceAndReadAsItIs(t *testing.T) {
	t.Parallel()
	b := start(t)
	payload := largePayload(intent.MaxInline)
	for _, staged := range []bool{true, false} {
		p := proposeLarge(fmt.Sprintf("order-%t", staged), payload, intent.Salt{7}, staged)
		if staged {
			ref, err := b.StagePayload(t.Context(), p.ID(), payload, intent.Salt{7})
			if err != nil || ref.Size != int64(len(payload)) || ref.Digest != intent.PayloadDigest(intent.Salt{7}, payload) {
				t.Fatalf("%+v, %v", ref, err)
			}
			kept, err := b.Staged(t.Context(), p.ID(), ref)
			if err != nil || !bytes.Equal(kept.Body, payload) || kept.Salt != (intent.Salt{7}) {
				t.Fatalf("%d bytes under %x, %v", len(kept.Body), kept.Salt, err)
			}
		}
		row := b.insert(t, p)
		read, err := b.Payload(t.Context(), row.ID)
		if err != nil || !bytes.Equal(read, payload) {
			t.Errorf("staged %t: %d bytes, %v", staged, len(read), err)
		}
		if claim := b.granted(t, row); !bytes.Equal(claim.Payload, payload) {
			t.Errorf("staged %t: the claim hands out %d bytes", staged, len(claim.Payload))
		}
		if n := b.blobs(t, row.ID); n != 1 || b.stagedPayloads(t) != 0 {
			t.Errorf("staged %t: stored %d times, %d still staged", staged, n, b.stagedPayloads(t))
		}
		if inline := query[bool](t, b, `SELECT payload IS NOT NULL FROM intents WHERE id = $1`, row.ID[:]); inline {
			t.Errorf("staged %t: the row has a second copy", staged)
		}
	}
}

func TestAPayloadThatFitsStandsInItsRow(t *testing.T) {
	t.Parallel()
	b := start(t)
	payload := largePayload(intent.MaxInline - len(`{"a":""}`))
	row := b.insert(t, proposeLarge("order-4711", payload, intent.Salt{7}, false))
	if read, err := b.Payload(t.Context(), row.ID); err != nil || !bytes.Equal(read, payload) || len(read) != intent.MaxInline || b.blobs(t, row.ID) != 0 {
		t.Errorf("%d bytes, %d blobs, %v", len(read), b.blobs(t, row.ID), err)
	}
}

func TestEqualPayloadsOfOneIntentHaveOneReference(t *testing.T) {
	t.Parallel()
	b := start(t)
	id := intent.IntentID("acme", "order-4711")
	payload, other := largePayload(100_000), largePayload(100_001)
	refs := make([]outbox.PayloadRef, 8)
	var all sync.WaitGroup
	for i := range refs {
		all.Go(func() {
			staged, err := payload, error(nil)
			if i%4 == 3 {
				staged = other
			}
			if refs[i], err = b.StagePayload(t.Context(), id, staged, intent.Salt{byte(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, ref := range refs {
		if same := ref == refs[0]; same != (i%4 != 3) {
			t.Errorf("reference %d is %+v and the first one %+v", i, ref, refs[0])
		}
	}
	if n := b.blobs(t, id); n != 2 {
		t.Errorf("two payloads were stored %d times", n)
	}
	if elsewhere, err := b.StagePayload(t.Context(), intent.IntentID("acme", "order-4712"), payload, intent.Salt{99}); err != nil || elsewhere == refs[0] {
		t.Errorf("another intent has the same reference %+v, %v", elsewhere, err)
	}
}

func TestAReferenceToNothingIsAnError(t *testing.T) {
	t.Parallel()
	b := start(t)
	id, other := intent.IntentID("acme", "order-4711"), intent.IntentID("acme", "order-4712")
	ref, err := b.StagePayload(t.Context(), id, largePayload(100_000), intent.Salt{7})
	if err != nil {
		t.Fatal(err)
	}
	for name, missing := range map[string]struct {
		id  intent.ID
		ref outbox.PayloadRef
	}{
		"of another intent": {other, ref},
		"of another size":   {id, outbox.PayloadRef{Digest: ref.Digest, Size: ref.Size - 1}},
		"of other content":  {id, outbox.PayloadRef{Digest: intent.Digest{1}, Size: ref.Size}},
	} {
		if _, err := b.Staged(t.Context(), missing.id, missing.ref); intent.CodeOf(err) != intent.CodePayloadMissing {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLoserOfARaceLeavesNoPayloadBehind(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := proposeLarge("order-4711", largePayload(100_000), intent.Salt{1}, false)
	row := b.insert(t, mine)
	b.insert(t, proposeLarge("order-4711", largePayload(100_001), intent.Salt{2}, false)) // another action under the same key
	b.insert(t, mine)                                                                     // a COMMIT whose answer was lost
	if read, err := b.Payload(t.Context(), row.ID); err != nil || !bytes.Equal(read, mine.Payload) || b.blobs(t, row.ID) != 1 {
		t.Errorf("%d bytes, %d blobs, %v", len(read), b.blobs(t, row.ID), err)
	}
}

func TestAnAbandonedPayloadIsDroppedAfterAMonthAndAUsedOneNever(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	used := proposeLarge("used", largePayload(100_000), intent.Salt{1}, true)
	abandoned := intent.IntentID("acme", "abandoned")
	for id, payload := range map[intent.ID][]byte{used.ID(): used.Payload, abandoned: largePayload(100_000)} {
		if _, err := b.StagePayload(t.Context(), id, payload, intent.Salt{1}); err != nil {
			t.Fatal(err)
		}
	}
	b.insert(t, used)
	drop := func() int {
		t.Helper()
		n, err := b.DropAbandoned(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	b.setClock(t, noon.Add(30*24*time.Hour))
	if n := drop(); n != 0 || b.blobs(t, abandoned) != 1 {
		t.Errorf("%d were dropped too early", n)
	}
	again := intent.IntentID("acme", "again")
	b.setClock(t, noon)
	for _, at := range []time.Time{noon, noon.Add(24 * time.Hour)} {
		b.setClock(t, at)
		if _, err := b.StagePayload(t.Context(), again, largePayload(100_000), intent.Salt{1}); err != nil {
			t.Fatal(err)
		}
	}
	b.setClock(t, noon.Add(30*24*time.Hour+time.Microsecond))
	if n := drop(); n != 1 || b.blobs(t, again) != 1 || b.blobs(t, abandoned) != 0 || b.blobs(t, used.ID()) != 1 {
		t.Errorf("%d were dropped; of the used one %d are left", n, b.blobs(t, used.ID()))
	}
}

func TestALargeAnswerIsStoredOnceAndACutOneKeepsItsSizeAndDigest(t *testing.T) {
	t.Parallel()
	b := start(t)
	whole := bytes.Repeat([]byte("\x00\xff"), 1<<20)
	for name, kept := range map[string][]byte{"whole": whole, "cut": whole[:1<<20], "lost": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := b.granted(t, b.insert(t, propose(name, keyed())))
			ev := of(c, intent.Applied, "")
			ev.MediaType, ev.Result = "application/pdf", kept
			ev.ResultRef = &outbox.ResultRef{Digest: intent.ResultDigest(c.Row.Salt, "application/pdf", whole), Size: int64(len(whole))}
			if name != "lost" { // the database was away until the journal, and histories have no body
				b.evidence(t, c.Row, ev)
				ev.Result = nil
			}
			row := b.journal(t, c.Row, &ev)
			answer, stored, err := b.Result(t.Context(), row.ID)
			if err != nil || answer == nil || !bytes.Equal(stored, kept) {
				t.Fatalf("%+v, %d bytes, %v", answer, len(stored), err)
			}
			if *answer != (outbox.Answer{MediaType: "application/pdf", Digest: ev.ResultRef.Digest, Size: int64(len(whole)), Kept: int64(len(kept))}) {
				t.Errorf("%+v", answer)
			}
			if got, want := b.receipt(t, row.ID), fmt.Sprintf("completed effect_applied 1 application/pdf, %d of %d bytes", len(kept), len(whole)); got != want {
				t.Errorf("receipt %q, want %q", got, want)
			}
			if n := b.blobs(t, row.ID); n != 1 {
				t.Errorf("it is stored %d times", n)
			}
		})
	}
}

func TestAnAnswerOfNoUseIsNotStored(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	row := b.evidence(t, c.Row, of(c, intent.Applied, ""))
	stranger := of(c, intent.Applied, "")
	for _, ev := range []outbox.Evidence{of(c, intent.Applied, ""), {Attempt: stranger.Attempt, Token: uuid.New(), Outcome: intent.Applied, MediaType: "a/b"}} {
		ev.ResultRef = &outbox.ResultRef{Digest: intent.Digest{1}, Size: 1 << 20}
		ev.Result = make([]byte, 1<<20)
		if after := b.evidence(t, row, ev); after.Version != row.Version || b.blobs(t, row.ID) != 0 {
			t.Errorf("version %d became %d, %d blobs", row.Version, after.Version, b.blobs(t, row.ID))
		}
	}
}

func TestStoredContentCannotBeChanged(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := proposeLarge("order-4711", largePayload(100_000), intent.Salt{1}, false)
	b.insert(t, p)
	for _, statement := range []string{`UPDATE blobs SET body = '{}'`, `DELETE FROM blobs`, `TRUNCATE blobs CASCADE`} {
		if _, err := b.pool.Exec(t.Context(), statement); err == nil {
			t.Errorf("%s is allowed", statement)
		}
	}
	if read, err := b.Payload(t.Context(), p.ID()); err != nil || !slices.Equal(read, p.Payload) {
		t.Errorf("%d bytes, %v", len(read), err)
	}
}

func TestThePayloadOfARejectedRequestIsDroppedAndAUsedOneIsNot(t *testing.T) {
	t.Parallel()
	b := start(t)
	used := proposeLarge("used", largePayload(100_000), intent.Salt{1}, true)
	rejected := intent.IntentID("acme", "rejected")
	refs := map[intent.ID]outbox.PayloadRef{}
	for _, id := range []intent.ID{used.ID(), rejected} {
		ref, err := b.StagePayload(t.Context(), id, used.Payload, intent.Salt{1})
		if err != nil {
			t.Fatal(err)
		}
		refs[id] = ref
	}
	b.insert(t, used)
	for id, ref := range refs {
		if err := b.Unstage(t.Context(), id, ref); err != nil {
			t.Fatal(err)
		}
	}
	if b.blobs(t, used.ID()) != 1 || b.blobs(t, rejected) != 0 {
		t.Errorf("%d of the used one are left, and %d of the rejected one", b.blobs(t, used.ID()), b.blobs(t, rejected))
	}
}

func TestAnAnswerIsFoundAlsoIfTheClockWentBackBeforeTheEnd(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	c := b.granted(t, b.insert(t, propose("order-4711", keyed())))
	b.evidence(t, c.Row, of(c, intent.Applied, ""))
	b.setClock(t, noon.Add(-time.Second))
	row := b.journal(t, c.Row, nil)
	if mediaType, body, err := b.result(t, row.ID); err != nil || mediaType != "application/json" || len(body) == 0 || row.State != intent.Completed {
		t.Errorf("%s: %q %q, %v", row.State, mediaType, body, err)
	}
}
