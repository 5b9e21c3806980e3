package sandbox_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/internal/sandbox"
)

const goodTransfer = `{"account_id":"acc_1","amount":"500.00","currency":"EUR"}`

func TestATransferIsPerformedEachTimeAndFoundByItsReference(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	const reference = "a/b?c d"
	want(t, p.get("/v1/transfers"), http.StatusBadRequest, sandbox.CodeInvalidQuery)
	if got := p.get("/v1/transfers?reference=" + url.QueryEscape(reference)); got.status != http.StatusOK || got.body != "[]" {
		t.Errorf("before there is one the list is %d %s", got.status, got.body)
	}
	for range 2 {
		// The endpoint does not look at keys.
		want(t, p.send(transfer, "k-1", goodTransfer, sandbox.ReferenceHeader, reference), http.StatusCreated, "")
	}
	want(t, p.send(transfer, "", goodTransfer), http.StatusCreated, "")
	found, err := p.Transfers(t.Context(), reference)
	if err != nil || len(found) != 2 || found[0].Reference != reference || string(found[0].Body) != goodTransfer || found[0].EffectID == found[1].EffectID {
		t.Errorf("the lookup finds %+v, %v", found, err)
	}
	var answer struct{ ID, Status string }
	if err := json.Unmarshal(found[0].Answer.Body, &answer); err != nil || answer.ID != found[0].EffectID || answer.Status != "created" {
		t.Errorf("the answer is %s", found[0].Answer.Body)
	}
	p.wantEffects(3)
	want(t, p.send(transfer, "", goodTransfer, sandbox.ReferenceHeader, strings.Repeat("r", 256)), http.StatusBadRequest, sandbox.CodeReferenceInvalid)
	want(t, p.send(transfer, "", goodTransfer, sandbox.ReferenceHeader, "ü"), http.StatusBadRequest, sandbox.CodeReferenceInvalid)
	if seen, err := p.Requests(t.Context(), sandbox.RequestFilter{Endpoint: transfer, Key: reference}); err != nil || len(seen) != 2 {
		t.Errorf("the request log finds %+v, %v", seen, err)
	}
}

func TestAReferenceIsFoundAfterARestart(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(transfer, "", goodTransfer, sandbox.ReferenceHeader, "ref-1"), http.StatusCreated, "")
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	after := startProviderOn(t, p.ledger)
	if found, err := after.Transfers(t.Context(), "ref-1"); err != nil || len(found) != 1 {
		t.Errorf("the lookup finds %+v, %v", found, err)
	}
}

// What a lookup shows, of an effect that is there.
func (p *provider) shows(key string) (int, error) {
	found, err := p.Effects(p.t.Context(), key)
	return len(found), err
}

func TestALookupThatLagsDoesNotShowTheEffectYet(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	rule := p.fault(sandbox.Fault{Fault: sandbox.FaultLookupLag, Endpoint: "/v1/effects", Times: new(2)})
	if n, err := p.shows("k-1"); n != 0 || err != nil {
		t.Errorf("found %d, %v", n, err)
	}
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	for _, want := range []int{0, 0, 1} { // the one before there was anything to hide does not count
		if n, err := p.shows("k-1"); n != want || err != nil {
			t.Errorf("found %d, %v, want %d", n, err, want)
		}
	}
	if faults, err := p.Faults(t.Context()); err != nil || faults[0].ID != rule.ID || faults[0].Fired != 2 {
		t.Errorf("the rules are %+v, %v", faults, err)
	}
	want(t, p.send(transfer, "", goodTransfer, sandbox.ReferenceHeader, "ref-1"), http.StatusCreated, "")
	p.fault(sandbox.Fault{Fault: sandbox.FaultLookupLag, Key: "ref-1"})
	for _, want := range []int{0, 1} {
		if found, err := p.Transfers(t.Context(), "ref-1"); len(found) != want || err != nil {
			t.Errorf("found %+v, %v, want %d", found, err, want)
		}
	}
}

func TestALookupThatLagsByADelayShowsWhatIsOlder(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	p.fault(sandbox.Fault{ID: "long", Fault: sandbox.FaultLookupLag, DelayMS: 3_600_000, Times: new(0)})
	if n, err := p.shows("k-1"); n != 0 || err != nil {
		t.Errorf("found %d, %v", n, err)
	}
	if err := p.RemoveFault(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	short := p.fault(sandbox.Fault{Fault: sandbox.FaultLookupLag, DelayMS: 1, Times: new(0)})
	for n := 0; n == 0; { // it shows within a millisecond of the effect
		var err error
		if n, err = p.shows("k-1"); err != nil {
			t.Fatalf("%v (%+v)", err, short)
		}
	}
}

func TestALookupCanFail(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	p.fault(sandbox.Fault{Fault: sandbox.FaultLookupError})
	p.fault(sandbox.Fault{Fault: sandbox.FaultLookupError, Status: 429, RetryAfter: 5})
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "") // an effect is no lookup
	want(t, p.get("/v1/effects?key=k-1"), 500, sandbox.CodeInternal)
	limited := p.get("/v1/effects/k-1")
	want(t, limited, 429, sandbox.CodeRateLimited)
	if limited.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After is %q", limited.header.Get("Retry-After"))
	}
	if n, err := p.shows("k-1"); n != 1 || err != nil {
		t.Errorf("found %d, %v", n, err)
	}
	if seen, err := p.Requests(t.Context(), sandbox.RequestFilter{Endpoint: "/v1/effects"}); err != nil || seen[0].Fault != sandbox.FaultLookupError {
		t.Errorf("the request log says %+v, %v", seen, err)
	}
}
