package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"writ/internal/sandbox"
)

// Each fault that answers at once, by what the client sees and what the ledger has, and what the same key gets after it.
func TestAFaultDoesToAnEffectWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   sandbox.Fault
		status  int // 0: no answer
		code    string
		effects int
		replays bool // the same key is answered with what is stored
	}{
		{sandbox.Fault{Fault: sandbox.FaultDropBeforeAct}, 0, "", 0, false},
		{sandbox.Fault{Fault: sandbox.FaultDropAfterAct}, 0, "", 1, true},
		{sandbox.Fault{Fault: sandbox.FaultErrorAfterAct}, 500, sandbox.CodeInternal, 1, true},
		{sandbox.Fault{Fault: sandbox.FaultGatewayTimeout}, 504, sandbox.CodeGatewayTimeout, 0, false},
		{sandbox.Fault{Fault: sandbox.FaultGatewayTimeoutAfterAct}, 504, sandbox.CodeGatewayTimeout, 1, true},
		{sandbox.Fault{Fault: sandbox.FaultRateLimit}, 429, sandbox.CodeRateLimited, 0, false},
		{sandbox.Fault{Fault: sandbox.FaultRefuse}, 402, sandbox.CodeCardDeclined, 0, false},
		{sandbox.Fault{Fault: sandbox.FaultRefuse, Status: 401, Code: "bad_token"}, 401, "bad_token", 0, false},
		{sandbox.Fault{Fault: sandbox.FaultRefuse, Status: 409}, 409, sandbox.CodeRefused, 0, false},
		{sandbox.Fault{Fault: sandbox.FaultRefuse, Status: 503}, 503, sandbox.CodeRefused, 0, false},
		{sandbox.Fault{Fault: sandbox.FaultPerformTwice}, 201, "", 2, true},
	} {
		t.Run(fmt.Sprintf("%s %d", c.fault.Fault, c.fault.Status), func(t *testing.T) {
			t.Parallel()
			p := startProvider(t)
			p.fault(c.fault)
			first := p.send(capture, "k-1", goodCapture)
			if c.status == 0 {
				wantNoAnswer(t, first)
			} else {
				want(t, first, c.status, c.code)
			}
			p.wantEffects(c.effects)
			again := p.send(capture, "k-1", goodCapture)
			want(t, again, http.StatusCreated, "")
			if again.replayed() != c.replays {
				t.Errorf("replayed is %v", again.replayed())
			}
			p.wantEffects(max(c.effects, 1))
		})
	}
}

func TestARefusalCanSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultRefuse, Status: 503, Code: "maintenance", RetryAfter: 30})
	got := p.send(capture, "k-1", goodCapture)
	want(t, got, 503, "maintenance")
	if got.header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
}

func TestPerformTwiceHasTwoEffectsOfOneRequestUnderOneKey(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultPerformTwice})
	first := p.send(capture, "k-1", goodCapture)
	effects, err := p.Effects(t.Context(), "k-1")
	if err != nil || len(effects) != 2 || effects[0].RequestID != effects[1].RequestID || effects[0].EffectID == effects[1].EffectID {
		t.Fatalf("the lookup finds %+v, %v", effects, err)
	}
	if first.body != string(effects[0].Answer.Body) {
		t.Errorf("the answer is %s", first.body)
	}
	if again := p.send(capture, "k-1", goodCapture); again.body != first.body {
		t.Errorf("the replay is %s", again.body)
	}
}

func TestABodyThatIsNoJSONBreaksOffOrIsHugeComesAfterTheEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault sandbox.Fault
		size  int // of the body that arrives, -1 for that of the stored answer less one byte
		valid bool
		whole bool
	}{
		{sandbox.Fault{Fault: sandbox.FaultMalformedBody}, -1, false, true},
		{sandbox.Fault{Fault: sandbox.FaultBrokenBody}, 0, false, false},
		{sandbox.Fault{Fault: sandbox.FaultHugeBody}, 2 << 20, true, true},
		{sandbox.Fault{Fault: sandbox.FaultHugeBody, Size: 1000}, 1000, true, true},
	} {
		t.Run(fmt.Sprint(c.fault.Fault, c.fault.Size), func(t *testing.T) {
			t.Parallel()
			p := startProvider(t)
			p.fault(c.fault)
			got := p.send(capture, "k-1", goodCapture)
			if got.status != http.StatusCreated || (got.err == nil) != c.whole || json.Valid([]byte(got.body)) != c.valid {
				t.Fatalf("the answer is %d, %d bytes, %v", got.status, len(got.body), got.err)
			}
			p.wantEffects(1)
			stored := p.books()[0].Answer.Body
			switch {
			case c.fault.Fault == sandbox.FaultBrokenBody && got.body != string(stored[:len(stored)/2]),
				c.size == -1 && got.body != string(stored[:len(stored)-1]),
				c.size > 0 && len(got.body) != c.size:
				t.Errorf("%d bytes arrived: %.200s", len(got.body), got.body)
			}
			if again := p.send(capture, "k-1", goodCapture); again.body != string(stored) || !again.replayed() {
				t.Errorf("the stored answer is %.200s", again.body)
			}
		})
	}
}

func TestTheHeaderAsksForTheDefaultsOfAFault(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	want(t, p.send(capture, "k-1", goodCapture, sandbox.FaultHeader, sandbox.FaultRefuse), 402, sandbox.CodeCardDeclined)
	wantNoAnswer(t, p.send(capture, "k-1", goodCapture, sandbox.FaultHeader, sandbox.FaultDropBeforeAct))
	// A lookup's fault cannot befall an effect.
	want(t, p.send(capture, "k-1", goodCapture, sandbox.FaultHeader, sandbox.FaultLookupError), 201, "")
}
