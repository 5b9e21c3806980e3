package sandbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"writ/internal/sandbox"
)

func TestEachEndpointPerformsOneEffectAndAnswersWithItsID(t *testing.T) {
	t.Parallel()
	for endpoint, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		capture:  {goodCapture, http.StatusCreated, "captured"},
		refund:   {`{"payment_id":"pay_1","amount":12500}`, http.StatusCreated, "refunded"},
		deletion: {`{"document_id":"doc/2024/7"}`, http.StatusOK, "deleted"},
		notify:   {`{"recipient":"ada@example.com","body":"paid"}`, http.StatusAccepted, "accepted"},
	} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t)
			got := p.send(endpoint, "k-1", c.body)
			want(t, got, c.status, "")
			var said struct{ ID, Status string }
			if err := json.Unmarshal([]byte(got.body), &said); err != nil {
				t.Fatal(err)
			}
			entry := p.books()[0]
			if said.ID != entry.EffectID || said.Status != c.says || entry.Endpoint != endpoint {
				t.Errorf("the answer %s does not match the ledger's %+v", got.body, entry)
			}
			p.wantEffects(1)
		})
	}
}

func TestALedgerEntryTellsEverythingAboutItsRequest(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	body := "{\n \"payment_id\": \"pay_1\", \"amount\": \"125.00\", \"currency\": \"EUR\", \"note\": \"<a & b\\u00e9>\"}"
	got := p.send(capture, "k-1", body, "traceparent", trace)
	want(t, got, http.StatusCreated, "")

	entry := p.books()[0]
	digest := sha256.Sum256([]byte(body))
	switch {
	case entry.Seq != 1, entry.Key != "k-1", entry.Traceparent != trace, entry.Time.IsZero():
		t.Errorf("entry is %+v", entry)
	case entry.RequestID != got.header.Get("Request-Id"):
		t.Errorf("request id is %q, want the answer's %q", entry.RequestID, got.header.Get("Request-Id"))
	case entry.BodySHA256 != hex.EncodeToString(digest[:]):
		t.Errorf("digest is not that of the bytes as sent")
	case string(entry.Body) != `{"payment_id":"pay_1","amount":"125.00","currency":"EUR","note":"<a & b\u00e9>"}`:
		t.Errorf("body is %s", entry.Body)
	case entry.Answer.Status != got.status, string(entry.Answer.Body) != got.body:
		t.Errorf("stored answer is %+v, the client got %d %s", entry.Answer, got.status, got.body)
	}
}

func TestABadRequestIsRefusedWithoutAnEffectAndLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	const bad, unprocessable = http.StatusBadRequest, http.StatusUnprocessableEntity
	for i, c := range []struct {
		endpoint, body string
		status         int
		code           string
	}{
		{capture, ``, bad, sandbox.CodeInvalidJSON},
		{capture, `{"payment_id"`, bad, sandbox.CodeInvalidJSON},
		{capture, goodCapture + `{}`, bad, sandbox.CodeInvalidJSON},
		{capture, "{\"payment_id\":\"\xff\"}", bad, sandbox.CodeInvalidJSON},
		{capture, `null`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `[]`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":"125.00"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"","amount":"125.00","currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":7,"amount":"125.00","currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":"0.00","currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":"-1","currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":"1e2","currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":125.5,"currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":1e2,"currency":"EUR"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"pay_1","amount":"125.00","currency":"euro"}`, unprocessable, sandbox.CodeInvalidRequest},
		{refund, `{"payment_id":"pay_1"}`, unprocessable, sandbox.CodeInvalidRequest},
		{refund, `{"amount":"1.00"}`, unprocessable, sandbox.CodeInvalidRequest},
		{deletion, `{"document_id":" "}`, unprocessable, sandbox.CodeInvalidRequest},
		{notify, `{"recipient":"ada@example.com","body":" "}`, unprocessable, sandbox.CodeInvalidRequest},
		{notify, `{"body":"paid"}`, unprocessable, sandbox.CodeInvalidRequest},
		{capture, `{"payment_id":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge, sandbox.CodeBodyTooLarge},
	} {
		key := fmt.Sprintf("k-%d", i)
		want(t, p.send(c.endpoint, key, c.body), c.status, c.code)
		if got := p.send(deletion, key, `{"document_id":"doc_1"}`); got.status != http.StatusOK || got.replayed() {
			t.Errorf("after %s %.80s the key is not free: %d %s", c.endpoint, c.body, got.status, got.body)
		}
	}
	for _, entry := range p.books() {
		if entry.Endpoint != deletion {
			t.Errorf("a refused request had the effect %+v", entry)
		}
	}
}

func TestAKeyedEndpointDemandsOneUsableKey(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(capture, "", goodCapture), http.StatusBadRequest, sandbox.CodeKeyMissing)
	want(t, p.send(capture, strings.Repeat("k", 256), goodCapture), http.StatusBadRequest, sandbox.CodeKeyInvalid)
	want(t, p.send(capture, "k-é", goodCapture), http.StatusBadRequest, sandbox.CodeKeyInvalid)
	want(t, p.send(capture, "k-1", goodCapture, "Idempotency-Key", "k-2"), http.StatusBadRequest, sandbox.CodeKeyInvalid)
	p.wantEffects(0)
	want(t, p.send(capture, strings.Repeat("k", 255), goodCapture), http.StatusCreated, "")
}

func TestTheSameRequestAgainGetsTheStoredAnswer(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	first := p.send(capture, "k-1", goodCapture)
	want(t, first, http.StatusCreated, "")
	if first.replayed() {
		t.Error("the first answer says that it is a replay")
	}
	for range 3 {
		again := p.send(capture, "k-1", goodCapture)
		if again.status != first.status || again.body != first.body || !again.replayed() {
			t.Fatalf("replay is %d %s %v, want %d %s", again.status, again.body, again.header, first.status, first.body)
		}
	}
	p.wantEffects(1)
}

func TestAKeyIsNotTakenForAnotherBodyOrEndpoint(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	for _, other := range [][2]string{
		{capture, strings.Replace(goodCapture, "125", "126", 1)},
		{capture, goodCapture + " "}, // the same JSON, but other bytes
		{refund, goodCapture},
	} {
		want(t, p.send(other[0], "k-1", other[1]), http.StatusUnprocessableEntity, sandbox.CodeKeyReused)
	}
	p.wantEffects(1)
}

func TestTheOpaqueEndpointDoesNotLookAtKeys(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	const body = `{"recipient":"ada@example.com","body":"paid"}`
	for _, key := range []string{"k-1", "k-1", ""} {
		if got := p.send(notify, key, body); got.status != http.StatusAccepted || got.replayed() {
			t.Fatalf("answer is %d %s", got.status, got.body)
		}
	}
	p.wantEffects(3)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
}

func TestManyRequestsWithOneKeyAtOncePerformOneEffect(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	var senders sync.WaitGroup
	for range 30 {
		senders.Go(func() {
			got := p.send(capture, "k-1", goodCapture)
			inUse := got.status == http.StatusConflict && got.code() == sandbox.CodeKeyInUse && got.header.Get("Retry-After") == "1"
			if got.status != http.StatusCreated && !inUse {
				t.Errorf("answer is %d %s %v", got.status, got.body, got.err)
			}
		})
	}
	senders.Wait()
	p.wantEffects(1)
}

func TestManyRequestsWithTheirOwnKeysAreAllPerformed(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	var senders sync.WaitGroup
	for i := range 50 {
		senders.Go(func() {
			if got := p.send(capture, fmt.Sprintf("k-%d", i), goodCapture); got.status != http.StatusCreated {
				t.Errorf("answer is %d %s %v", got.status, got.body, got.err)
			}
		})
	}
	senders.Wait()
	keys := make(map[string]bool)
	for i, entry := range p.books() {
		keys[entry.Key] = true
		if entry.Seq != int64(i)+1 {
			t.Errorf("entry %d has seq %d", i, entry.Seq)
		}
	}
	if len(keys) != 50 {
		t.Errorf("the ledger has %d keys, want 50", len(keys))
	}
}

func TestARestartedProviderKnowsItsKeysAndAnswers(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	first := p.send(capture, "k-1", goodCapture)
	want(t, first, http.StatusCreated, "")
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, p.send(capture, "k-2", goodCapture), http.StatusServiceUnavailable, sandbox.CodeStopping)

	p = startProviderOn(t, p.ledger)
	again := p.send(capture, "k-1", goodCapture)
	if again.status != first.status || again.body != first.body || !again.replayed() {
		t.Errorf("after the restart the answer is %d %s, want %d %s", again.status, again.body, first.status, first.body)
	}
	want(t, p.send(capture, "k-1", goodCapture+" "), http.StatusUnprocessableEntity, sandbox.CodeKeyReused)
	want(t, p.send(capture, "k-2", goodCapture), http.StatusCreated, "")
	if books := p.books(); len(books) != 2 || books[1].Seq != 2 {
		t.Errorf("the ledger is %+v", books)
	}
}
