package sandbox_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"writ/internal/sandbox"
)

func (p *provider) get(path string) reply {
	p.t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	return readReply(resp)
}

func TestALookupFindsWhatWasPerformedUnderAKey(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	const key = "a/b?c d"
	want(t, p.get("/v1/effects?key="+url.QueryEscape(key)), http.StatusNotFound, sandbox.CodeEffectNotFound)
	want(t, p.get("/v1/effects"), http.StatusBadRequest, sandbox.CodeKeyMissing)
	want(t, p.send(capture, key, goodCapture), http.StatusCreated, "")
	for _, path := range []string{"/v1/effects?key=" + url.QueryEscape(key), "/v1/effects/" + url.PathEscape(key)} {
		var found []sandbox.Entry
		if got := p.get(path); json.Unmarshal([]byte(got.body), &found) != nil || len(found) != 1 || found[0].Key != key {
			t.Errorf("%s gives %d %s", path, got.status, got.body)
		}
	}
	if lookups, err := p.Requests(t.Context(), sandbox.RequestFilter{Endpoint: "/v1/effects", Key: key}); err != nil || len(lookups) != 3 {
		t.Errorf("the request log has the lookups %+v, %v", lookups, err)
	}
}

func TestALookupDoesNotFindARequestThatHasNotActedYet(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangBeforeAct})
	hanging := p.sendAside(t.Context(), capture, "k-1", goodCapture)
	p.await("k-1", sandbox.StateHanging)
	if found, err := p.Effects(t.Context(), "k-1"); err != nil || len(found) != 0 {
		t.Errorf("the lookup finds %+v, %v", found, err)
	}
	if _, err := p.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want(t, <-hanging, http.StatusCreated, "")
	if found, err := p.Effects(t.Context(), "k-1"); err != nil || len(found) != 1 {
		t.Errorf("the lookup finds %+v, %v", found, err)
	}
}

func TestTheLedgerIsServedAsItIsOnTheDisk(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	if got := p.get("/ledger"); got.body != "[]" {
		t.Errorf("an empty ledger is %s", got.body)
	}
	for _, key := range []string{"k-1", "k-2"} {
		want(t, p.send(capture, key, goodCapture), http.StatusCreated, "")
	}
	disk, err := os.ReadFile(p.ledger)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.get("/ledger?format=jsonl"); got.body != string(disk) {
		t.Errorf("served:\n%s\non the disk:\n%s", got.body, disk)
	}
	p.wantEffects(2)
	want(t, p.get("/ledger?format=xml"), http.StatusBadRequest, sandbox.CodeInvalidQuery)
}

func TestWhoeverWaitsForARequestIsToldWhenItComes(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	type seen struct {
		requests []sandbox.Request
		err      error
	}
	waiting := make(chan seen, 1)
	go func() {
		found, err := p.AwaitRequests(t.Context(), sandbox.RequestFilter{State: sandbox.StateAnswered, Endpoint: capture}, 2, patience)
		waiting <- seen{found, err}
	}()
	want(t, p.send(deletion, "d", `{"document_id":"doc_1"}`), http.StatusOK, "")
	want(t, p.send(capture, "k-1", goodCapture, "traceparent", "00-aa-bb-01"), http.StatusCreated, "")
	select {
	case s := <-waiting:
		t.Fatalf("woken too early with %+v, %v", s.requests, s.err)
	default:
	}
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	s := <-waiting
	if s.err != nil || len(s.requests) != 2 {
		t.Fatalf("woken with %+v, %v", s.requests, s.err)
	}
	r := s.requests[0]
	if r.Key != "k-1" || r.Method != http.MethodPost || r.Traceparent != "00-aa-bb-01" || r.Remote == "" || r.Status != http.StatusCreated ||
		r.ID != p.books()[1].RequestID {
		t.Errorf("the request log says %+v", r)
	}
}

func TestWaitingEndsWhenTheTimeIsUpOrTheProviderStops(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	filter := sandbox.RequestFilter{Key: "nobody"}
	if _, err := p.AwaitRequests(t.Context(), filter, 1, time.Millisecond); refusal(err) != sandbox.CodeNotSeen {
		t.Errorf("the wait ends with %v", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := p.AwaitRequests(t.Context(), filter, 1, time.Minute)
		waiting <- err
	}()
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; refusal(err) != sandbox.CodeStopping {
		t.Errorf("the wait ends with %v", err)
	}
	want(t, p.get("/healthz"), http.StatusServiceUnavailable, sandbox.CodeStopping)
}

func TestARequestCanBeFoundByAStateThatItHasLeft(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	if r := p.await("k-1", sandbox.StateActed); r.State == "" {
		t.Errorf("the request log says %+v", r)
	}
}

func TestAQueryThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	for _, query := range []string{"state=hung", "stat=hanging", "wait=soon", "wait=2m", "wait=-1s", "wait=1s&count=0"} {
		want(t, p.get("/requests?"+query), http.StatusBadRequest, sandbox.CodeInvalidQuery)
	}
	want(t, p.get("/v1/payments/capture"), http.StatusNotFound, sandbox.CodeNoSuchEndpoint)
	want(t, p.get("/healthz"), http.StatusOK, "")
}
