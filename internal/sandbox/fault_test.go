package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/internal/sandbox"
)

func TestDropAfterActPerformsTheEffectAndBreaksTheConnection(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
	wantNoAnswer(t, p.send(capture, "k-1", goodCapture))
	p.wantEffects(1)
	again := p.send(capture, "k-1", goodCapture)
	want(t, again, http.StatusCreated, "")
	if !again.replayed() {
		t.Error("the effect was performed again")
	}
	p.wantEffects(1)
	if r := p.await("k-1", sandbox.StateDropped); fmt.Sprint(r.States) != "[received acted dropped]" || r.Fault != sandbox.FaultDropAfterAct {
		t.Errorf("the request log says %+v", r)
	}
}

func TestErrorAfterActPerformsTheEffectAndStoresItsSuccess(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultErrorAfterAct})
	want(t, p.send(capture, "k-1", goodCapture), http.StatusInternalServerError, sandbox.CodeInternal)
	p.wantEffects(1)
	if again := p.send(capture, "k-1", goodCapture); again.status != http.StatusCreated || !again.replayed() {
		t.Errorf("the stored answer is %d %s", again.status, again.body)
	}
	p.wantEffects(1)
}

func TestRateLimitDoesNothingAndSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 7})
	limited := p.send(capture, "k-1", goodCapture)
	want(t, limited, http.StatusTooManyRequests, sandbox.CodeRateLimited)
	if limited.header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After is %q", limited.header.Get("Retry-After"))
	}
	p.wantEffects(0)
	if got := p.send(capture, "k-1", goodCapture); got.status != http.StatusCreated || got.replayed() {
		t.Errorf("the key was not free: %d %s", got.status, got.body)
	}
}

func TestARequestThatHangsBeforeItActsHoldsItsKeyUntilItIsReleased(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangBeforeAct})
	hanging := p.sendAside(t.Context(), capture, "k-1", goodCapture)
	p.await("k-1", sandbox.StateHanging)

	inUse := p.send(capture, "k-1", goodCapture)
	want(t, inUse, http.StatusConflict, sandbox.CodeKeyInUse)
	if inUse.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", inUse.header.Get("Retry-After"))
	}
	want(t, p.send(capture, "k-1", goodCapture+" "), http.StatusConflict, sandbox.CodeKeyInUse)
	want(t, p.send(capture, "k-2", goodCapture), http.StatusCreated, "")
	p.wantEffects(1)

	if n, err := p.Release(t.Context(), "k-1"); n != 1 || err != nil {
		t.Fatalf("released %d, %v", n, err)
	}
	want(t, <-hanging, http.StatusCreated, "")
	p.wantEffects(2)
}

func TestAClientThatLeavesBeforeTheActPreventsTheEffect(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangBeforeAct})
	ctx, leave := context.WithCancel(t.Context())
	hanging := p.sendAside(ctx, capture, "k-1", goodCapture)
	p.await("k-1", sandbox.StateHanging)
	leave()
	wantNoAnswer(t, <-hanging)
	p.await("k-1", sandbox.StateAbandoned)
	p.wantEffects(0)
	if n, err := p.Release(t.Context(), ""); n != 0 || err != nil {
		t.Errorf("released %d, %v", n, err)
	}
	if got := p.send(capture, "k-1", goodCapture); got.status != http.StatusCreated || got.replayed() {
		t.Errorf("the key was not given back: %d %s", got.status, got.body)
	}
}

func TestARequestThatHangsAfterItActedHasAStoredAnswerAlready(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangAfterAct, Key: "k-1"})
	hanging := p.sendAside(t.Context(), capture, "k-1", goodCapture)
	p.await("k-1", sandbox.StateHanging)
	p.wantEffects(1)
	again := p.send(capture, "k-1", goodCapture)
	if again.status != http.StatusCreated || !again.replayed() {
		t.Fatalf("while the first request hangs the answer is %d %s", again.status, again.body)
	}
	want(t, p.send(capture, "k-1", goodCapture+" "), http.StatusUnprocessableEntity, sandbox.CodeKeyReused)
	if n, err := p.Release(t.Context(), ""); n != 1 || err != nil {
		t.Fatalf("released %d, %v", n, err)
	}
	if first := <-hanging; first.body != again.body || first.replayed() {
		t.Errorf("the released answer is %s, the replay was %s", first.body, again.body)
	}
	p.wantEffects(1)
}

func TestAClientThatLeavesAfterTheActLeavesItsEffectBehind(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	ctx, leave := context.WithCancel(t.Context())
	hanging := p.sendAside(ctx, capture, "k-1", goodCapture)
	p.await("k-1", sandbox.StateHanging)
	leave()
	wantNoAnswer(t, <-hanging)
	p.await("k-1", sandbox.StateAbandoned)
	p.wantEffects(1)
}

func TestAStoppingProviderAnswersWhatActedAndRefusesWhatDidNot(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangBeforeAct, Key: "k-before"})
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangAfterAct, Key: "k-after"})
	before := p.sendAside(t.Context(), capture, "k-before", goodCapture)
	after := p.sendAside(t.Context(), capture, "k-after", goodCapture)
	p.await("k-before", sandbox.StateHanging)
	p.await("k-after", sandbox.StateHanging)
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, <-before, http.StatusServiceUnavailable, sandbox.CodeStopping)
	want(t, <-after, http.StatusCreated, "")
	p.wantEffects(1)
}

func TestIgnoreKeyPerformsAKnownKeyAgain(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultIgnoreKey})
	first := p.send(capture, "k-1", goodCapture) // the key is new, so there is nothing to ignore yet
	second := p.send(capture, "k-1", goodCapture)
	third := p.send(capture, "k-1", goodCapture)
	want(t, first, http.StatusCreated, "")
	want(t, second, http.StatusCreated, "")
	if second.replayed() || second.body == first.body {
		t.Errorf("the second request was not performed: %s", second.body)
	}
	if !third.replayed() || third.body != first.body {
		t.Errorf("the stored answer is %s, want the first effect's %s", third.body, first.body)
	}
	effects, err := p.Effects(t.Context(), "k-1")
	if err != nil || len(effects) != 2 {
		t.Errorf("the lookup finds %+v, %v", effects, err)
	}
	p.wantEffects(2)
}

func TestIgnoreKeyPerformsWhileTheFirstRequestIsStillHanging(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultHangBeforeAct})
	p.fault(sandbox.Fault{Fault: sandbox.FaultIgnoreKey})
	first := p.sendAside(t.Context(), capture, "k-1", goodCapture)
	p.await("k-1", sandbox.StateHanging)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	if _, err := p.Release(t.Context(), "k-1"); err != nil {
		t.Fatal(err)
	}
	want(t, <-first, http.StatusCreated, "")
	p.wantEffects(2)
}

func TestARuleFiresAtEveryNthMatchingRequest(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	rule := p.fault(sandbox.Fault{Fault: sandbox.FaultRateLimit, Endpoint: capture, Every: 3, Times: new(2), MatchBody: "pay_1"})
	p.send(deletion, "d", `{"document_id":"doc_1"}`)                                // another endpoint
	p.send(capture, "x", strings.Replace(goodCapture, "pay_1", "pay_2", 1))         // another body
	want(t, p.send(capture, "y", `{"payment_id":"pay_1"}`), 422, "invalid_request") // never admitted
	want(t, p.send(capture, "x", goodCapture), 422, sandbox.CodeKeyReused)          // cannot be limited
	var fired []int
	for i := 1; i <= 10; i++ {
		if p.send(capture, fmt.Sprintf("k-%d", i), goodCapture).status == http.StatusTooManyRequests {
			fired = append(fired, i)
		}
	}
	if fmt.Sprint(fired) != "[3 6]" {
		t.Errorf("fired at %v, want 3 and 6", fired)
	}
	faults, err := p.Faults(t.Context())
	if err != nil || len(faults) != 1 || faults[0].ID != rule.ID || faults[0].Matched != 10 || faults[0].Fired != 2 {
		t.Errorf("the rules are %+v, %v", faults, err)
	}
}

func TestARuleFiresOnceByDefaultAndAlwaysWithTimesZero(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultRateLimit, Key: "once"})
	p.fault(sandbox.Fault{Fault: sandbox.FaultRateLimit, Key: "always", Times: new(0)})
	want(t, p.send(capture, "once", goodCapture), 429, sandbox.CodeRateLimited)
	want(t, p.send(capture, "once", goodCapture), 201, "")
	for range 3 {
		want(t, p.send(capture, "always", goodCapture), 429, sandbox.CodeRateLimited)
	}
}

func TestTheFirstRuleThatFiresHidesTheRequestFromLaterRules(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{ID: "a", Fault: sandbox.FaultRateLimit})
	p.fault(sandbox.Fault{ID: "b", Fault: sandbox.FaultErrorAfterAct})
	want(t, p.send(capture, "k-1", goodCapture), 429, sandbox.CodeRateLimited)
	want(t, p.send(capture, "k-1", goodCapture), 500, sandbox.CodeInternal)
	want(t, p.send(capture, "k-1", goodCapture), 201, "")
}

func TestDeletedRulesDoNotFire(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	for _, id := range []string{"a", "b", "c"} {
		p.fault(sandbox.Fault{ID: id, Fault: sandbox.FaultRateLimit, Times: new(0)})
	}
	if err := p.RemoveFault(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := p.RemoveFault(t.Context(), "a"); refusal(err) != sandbox.CodeFaultNotFound {
		t.Errorf("deleting it again gives %v", err)
	}
	want(t, p.send(capture, "k-1", goodCapture), 429, sandbox.CodeRateLimited)
	if err := p.RemoveFault(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want(t, p.send(capture, "k-1", goodCapture), 201, "")
}

func TestTheFaultHeaderFailsItsOwnRequestOnly(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	rule := p.fault(sandbox.Fault{Fault: sandbox.FaultErrorAfterAct})
	limited := p.send(capture, "k-1", goodCapture, sandbox.FaultHeader, sandbox.FaultRateLimit)
	want(t, limited, 429, sandbox.CodeRateLimited)
	if limited.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", limited.header.Get("Retry-After"))
	}
	if faults, err := p.Faults(t.Context()); err != nil || faults[0].ID != rule.ID || faults[0].Matched != 0 {
		t.Errorf("the rule saw the request: %+v, %v", faults, err)
	}
	wantNoAnswer(t, p.send(capture, "k-1", goodCapture, sandbox.FaultHeader, sandbox.FaultDropAfterAct))
	want(t, p.send(capture, "k-2", goodCapture, sandbox.FaultHeader, "explode"), 400, sandbox.CodeUnknownFault)
	p.wantEffects(1)
}

func TestFaultsAlsoStrikeTheOpaqueEndpoint(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{Fault: sandbox.FaultDropAfterAct, Endpoint: notify})
	const body = `{"recipient":"ada@example.com","body":"paid"}`
	wantNoAnswer(t, p.send(notify, "", body))
	p.wantEffects(1)
	want(t, p.send(notify, "", body), http.StatusAccepted, "")
	p.wantEffects(2)
}

func TestAFaultThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{ID: "taken", Fault: sandbox.FaultRateLimit, Key: "nobody"})
	for body, code := range map[string]string{
		`{"fault":"explode"}`:               sandbox.CodeUnknownFault,
		`{}`:                                sandbox.CodeUnknownFault,
		``:                                  sandbox.CodeUnknownFault,
		`{"fault":"rate_limit","tims":1}`:   sandbox.CodeInvalidFault,
		`{"fault":"rate_limit"}{}`:          sandbox.CodeInvalidFault,
		`{"fault":"rate_limit","times":-1}`: sandbox.CodeInvalidFault,
		`{"fault":"rate_limit","every":-1}`: sandbox.CodeInvalidFault,
		`{"fault":"rate_limit","retry_after":-1}`:                    sandbox.CodeInvalidFault,
		`{"fault":"drop_after_act","retry_after":1}`:                 sandbox.CodeInvalidFault,
		`{"fault":"rate_limit","endpoint":"payments.capture"}`:       sandbox.CodeInvalidFault,
		`{"fault":"ignore_key","endpoint":"/v1/notifications/send"}`: sandbox.CodeInvalidFault,
		`{"fault":"rate_limit","id":"taken"}`:                        sandbox.CodeFaultExists,
		`{"fault":"drop_after_act","status":500}`:                    sandbox.CodeInvalidFault,
		`{"fault":"rate_limit","code":"slow_down"}`:                  sandbox.CodeInvalidFault,
		`{"fault":"refuse","status":302}`:                            sandbox.CodeInvalidFault,
		`{"fault":"refuse","code":"No!"}`:                            sandbox.CodeInvalidFault,
		`{"fault":"refuse","delay_ms":5}`:                            sandbox.CodeInvalidFault,
		`{"fault":"slow","delay_ms":-1}`:                             sandbox.CodeInvalidFault,
		`{"fault":"slow","size":5}`:                                  sandbox.CodeInvalidFault,
		`{"fault":"huge_body","size":1000000000}`:                    sandbox.CodeInvalidFault,
		`{"fault":"land_late","code":"lost"}`:                        sandbox.CodeInvalidFault,
		`{"fault":"stored_error","endpoint":"/v1/transfers/create"}`: sandbox.CodeInvalidFault,
		`{"fault":"lookup_lag","endpoint":"/v1/payments/capture"}`:   sandbox.CodeInvalidFault,
		`{"fault":"refuse","endpoint":"/v1/effects"}`:                sandbox.CodeInvalidFault,
		`{"fault":"lookup_error","match_body":"pay_1"}`:              sandbox.CodeInvalidFault,
	} {
		resp, err := http.Post(p.url+"/admin/faults", "application/json", bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Error struct{ Code, Message string }
		}
		err = json.NewDecoder(resp.Body).Decode(&said)
		resp.Body.Close()
		if err != nil || said.Error.Code != code || said.Error.Message == "" || resp.StatusCode < 400 {
			t.Errorf("%s gives %d %+v %v, want %s", body, resp.StatusCode, said, err, code)
		}
	}
	if faults, err := p.Faults(t.Context()); err != nil || len(faults) != 1 {
		t.Errorf("the rules are %+v, %v", faults, err)
	}
}

func TestTheProviderNamesRulesWithoutTakingNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	p.fault(sandbox.Fault{ID: "fault-1", Fault: sandbox.FaultRateLimit})
	if f := p.fault(sandbox.Fault{Fault: sandbox.FaultRateLimit}); f.ID != "fault-2" {
		t.Errorf("the rule is named %q", f.ID)
	}
}

// refusal is the code of the provider's refusal, empty if err is none.
func refusal(err error) string {
	if r := new(sandbox.Refusal); errors.As(err, &r) {
		return r.Code
	}
	return ""
}
