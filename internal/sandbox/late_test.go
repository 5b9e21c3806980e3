package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"writ/internal/sandbox"
)

const transfer = "/v1/transfers/create"

func (p *provider) release(key string, want int) {
	p.t.Helper()
	if n, err := p.Release(p.t.Context(), key); n != want || err != nil {
		p.t.Fatalf("released %d, %v, want %d", n, err, want)
	}
}

func TestALateRequestIsLostForItsClientAndLandsWhenItIsReleased(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault sandbox.Fault
		code  string
	}{
		{sandbox.Fault{Fault: sandbox.FaultLandLate}, ""},
		{sandbox.Fault{Fault: sandbox.FaultLandLate, Status: 504}, sandbox.CodeGatewayTimeout},
		{sandbox.Fault{Fault: sandbox.FaultLandLate, Status: 502, Code: "bad_gateway"}, "bad_gateway"},
	} {
		t.Run(fmt.Sprint(c.fault.Status), func(t *testing.T) {
			t.Parallel()
			p := startProvider(t)
			p.fault(c.fault)
			got := p.send(capture, "k-1", goodCapture)
			if c.fault.Status == 0 {
				wantNoAnswer(t, got)
			} else {
				want(t, got, c.fault.Status, c.code)
			}
			p.wantEffects(0)
			if found, err := p.Effects(t.Context(), "k-1"); err != nil || len(found) != 0 {
				t.Errorf("the lookup finds %+v, %v", found, err)
			}
			p.release("k-1", 1)
			p.await("k-1", sandbox.StateLanded)
			p.wantEffects(1)
			if again := p.send(capture, "k-1", goodCapture); !again.replayed() {
				t.Errorf("after it landed the key is not known: %d %s", again.status, again.body)
			}
		})
	}
}

func TestALateRequestFindsTheKeyOfTheOneThatOvertookIt(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultLandLate, Status: 504})
	want(t, p.send(capture, "k-1", goodCapture), 504, sandbox.CodeGatewayTimeout)
	if got := p.send(capture, "k-1", goodCapture); got.status != http.StatusCreated || got.replayed() {
		t.Fatalf("the key was not free: %d %s", got.status, got.body)
	}
	p.release("k-1", 1)
	p.await("k-1", sandbox.StateLanded)
	p.wantEffects(1)
}

func TestALateRequestActsAgainIfItsKeyWasForgotten(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultLandLate, Status: 504})
	want(t, p.send(capture, "k-1", goodCapture), 504, sandbox.CodeGatewayTimeout)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	p.forget("k-1", 1)
	p.release("k-1", 1)
	p.await("k-1", sandbox.StateLanded)
	p.wantEffects(2)
}

func TestALateTransferIsReleasedByItsReference(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultLandLate, Key: "ref-1"})
	wantNoAnswer(t, p.send(transfer, "", goodTransfer, sandbox.ReferenceHeader, "ref-1"))
	want(t, p.send(transfer, "", goodTransfer, sandbox.ReferenceHeader, "ref-1"), http.StatusCreated, "")
	p.release("ref-2", 0)
	p.release("ref-1", 1)
	p.await("ref-1", sandbox.StateLanded)
	p.wantEffects(2) // nothing keeps it from happening twice
}

func TestALateRequestLandsByItselfAfterItsDelay(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultLandLate, DelayMS: 1})
	wantNoAnswer(t, p.send(capture, "k-1", goodCapture))
	p.await("k-1", sandbox.StateLanded)
	p.wantEffects(1)
}

func TestALateRequestIsLostWhenTheProviderStops(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultLandLate})
	wantNoAnswer(t, p.send(capture, "k-1", goodCapture))
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	p.release("k-1", 0)
	p.wantEffects(0)
}

func TestASlowAnswerComesAfterTheEffect(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultSlow, DelayMS: 1})
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	p.wantEffects(1)
	if r := p.await("k-1", sandbox.StateAnswered); fmt.Sprint(r.States) != "[received acted hanging answered]" {
		t.Errorf("the request log says %+v", r)
	}

	p.fault(sandbox.Fault{Fault: sandbox.FaultSlow, DelayMS: 3_600_000, Times: new(0)})
	slow := p.sendAside(t.Context(), capture, "k-2", goodCapture)
	p.await("k-2", sandbox.StateHanging)
	p.wantEffects(2)
	p.release("k-2", 1)
	want(t, <-slow, http.StatusCreated, "")

	ctx, leave := context.WithCancel(t.Context())
	left := p.sendAside(ctx, capture, "k-3", goodCapture)
	p.await("k-3", sandbox.StateHanging)
	leave()
	wantNoAnswer(t, <-left)
	p.await("k-3", sandbox.StateAbandoned)
	p.wantEffects(3)
}
