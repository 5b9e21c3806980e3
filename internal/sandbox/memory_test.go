package sandbox_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/sandbox"
)

func (p *provider) set(s sandbox.Settings) {
	p.t.Helper()
	if got, err := p.ChangeSettings(p.t.Context(), s); err != nil || got.BusinessRules != s.BusinessRules {
		p.t.Fatalf("the settings are %+v, %v", got, err)
	}
}

func (p *provider) forget(key string, want int) {
	p.t.Helper()
	if n, err := p.Forget(p.t.Context(), key); n != want || err != nil {
		p.t.Fatalf("forgot %d keys, %v, want %d", n, err, want)
	}
}

func TestAStoredErrorIsTheAnswerToItsKeyForEver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   sandbox.Fault
		status  int
		code    string
		effects int
	}{
		{sandbox.Fault{Fault: sandbox.FaultStoredError}, 500, sandbox.CodeInternal, 0},
		{sandbox.Fault{Fault: sandbox.FaultStoredError, Status: 402}, 402, sandbox.CodeCardDeclined, 0},
		{sandbox.Fault{Fault: sandbox.FaultErrorStoredAfterAct}, 500, sandbox.CodeInternal, 1},
		{sandbox.Fault{Fault: sandbox.FaultErrorStoredAfterAct, Status: 502, Code: "upstream"}, 502, "upstream", 1},
	} {
		t.Run(c.fault.Fault+" "+c.code, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t)
			p.fault(c.fault)
			first := p.send(capture, "k-1", goodCapture)
			want(t, first, c.status, c.code)
			if first.replayed() {
				t.Error("the first answer says that it was stored before")
			}
			for range 2 {
				again := p.send(capture, "k-1", goodCapture)
				want(t, again, c.status, c.code)
				if !again.replayed() || again.body != first.body {
					t.Errorf("the later answer is %s, replayed %v", again.body, again.replayed())
				}
			}
			want(t, p.send(capture, "k-1", goodCapture+" "), http.StatusUnprocessableEntity, sandbox.CodeKeyReused)
			p.wantEffects(c.effects)
			want(t, p.send(capture, "k-2", goodCapture), http.StatusCreated, "")
			p.forget("k-1", 1)
			want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
			p.wantEffects(c.effects + 2)
		})
	}
}

func TestAForgottenKeyActsAgain(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	first := p.send(capture, "k-1", goodCapture)
	want(t, first, http.StatusCreated, "")
	want(t, p.send(capture, "k-2", goodCapture), http.StatusCreated, "")
	p.forget("k-1", 1)
	p.forget("k-1", 0)
	p.forget("k-3", 0)
	second := p.send(capture, "k-1", goodCapture)
	if second.status != http.StatusCreated || second.replayed() || second.body == first.body {
		t.Errorf("the forgotten key is answered with %d %s", second.status, second.body)
	}
	if third := p.send(capture, "k-1", goodCapture); !third.replayed() || third.body != second.body {
		t.Errorf("the new answer is not remembered: %s", third.body)
	}
	if effects, err := p.Effects(t.Context(), "k-1"); err != nil || len(effects) != 2 {
		t.Errorf("the lookup finds %+v, %v", effects, err)
	}
	p.forget("", 2)
	want(t, p.send(capture, "k-2", goodCapture+" "), http.StatusCreated, "") // other bytes: nothing is known of the first
	p.wantEffects(4)
}

func TestAKeyIsForgottenWhenItsWindowIsOver(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	p := startProviderOn(t, ledger)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	p.set(sandbox.Settings{KeyWindow: "1h"})
	if again := p.send(capture, "k-1", goodCapture); !again.replayed() {
		t.Error("the key was forgotten within its window")
	}
	p.set(sandbox.Settings{KeyWindow: "1ns"})
	if again := p.send(capture, "k-1", goodCapture); again.status != http.StatusCreated || again.replayed() {
		t.Errorf("the key was remembered after its window: %d %s", again.status, again.body)
	}
	p.set(sandbox.Settings{})
	if again := p.send(capture, "k-1", goodCapture); !again.replayed() {
		t.Error("without a window the key was forgotten")
	}
	p.wantEffects(2)
}

func TestTheWindowIsThatOfTheConfiguration(t *testing.T) {
	t.Parallel()
	server, err := sandbox.New(sandbox.Config{
		LedgerPath: filepath.Join(t.TempDir(), "ledger.jsonl"), KeyWindow: time.Minute, BusinessRules: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := serveProvider(t, server)
	if got, err := p.Settings(t.Context()); err != nil || got != (sandbox.Settings{KeyWindow: "1m0s", BusinessRules: true}) {
		t.Errorf("the settings are %+v, %v", got, err)
	}
}

func TestTheRulesOfBusinessRefuseWhatWasDoneUnderAnotherKey(t *testing.T) {
	t.Parallel()
	const document = `{"document_id":"doc_1"}`
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	p := startProviderOn(t, ledger)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusCreated, "")
	want(t, p.send(capture, "k-2", goodCapture), http.StatusCreated, "") // off by default
	want(t, p.send(deletion, "d-1", document), http.StatusOK, "")
	p.set(sandbox.Settings{BusinessRules: true})
	want(t, p.send(capture, "k-3", goodCapture), http.StatusConflict, sandbox.CodeAlreadyCaptured)
	want(t, p.send(deletion, "d-2", document), http.StatusNotFound, sandbox.CodeDocumentNotFound)
	if again := p.send(capture, "k-1", goodCapture); !again.replayed() {
		t.Errorf("a known key is refused: %d %s", again.status, again.body)
	}
	want(t, p.send(capture, "k-3", `{"payment_id":"pay_2","amount":"1.00","currency":"EUR"}`), http.StatusCreated, "")
	want(t, p.send(refund, "r-1", `{"payment_id":"pay_1","amount":"1.00"}`), http.StatusCreated, "")
	want(t, p.send(refund, "r-2", `{"payment_id":"pay_1","amount":"1.00"}`), http.StatusCreated, "") // in parts
	p.forget("k-1", 1)
	want(t, p.send(capture, "k-1", goodCapture), http.StatusConflict, sandbox.CodeAlreadyCaptured)
	p.wantEffects(6)
}

func TestTheRulesOfBusinessHoldForManyAtOnceAndAfterARestart(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	p := startProviderOn(t, ledger)
	p.set(sandbox.Settings{BusinessRules: true})
	const senders = 8
	var waiting []<-chan reply
	for i := range senders {
		waiting = append(waiting, p.sendAside(t.Context(), capture, string(rune('a'+i)), goodCapture))
	}
	created := 0
	for _, one := range waiting {
		if got := <-one; got.status == http.StatusCreated {
			created++
		} else {
			want(t, got, http.StatusConflict, sandbox.CodeAlreadyCaptured)
		}
	}
	if created != 1 {
		t.Errorf("%d captures of one payment were performed", created)
	}
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	after := startProviderOn(t, ledger)
	after.set(sandbox.Settings{BusinessRules: true})
	want(t, after.send(capture, "z", goodCapture), http.StatusConflict, sandbox.CodeAlreadyCaptured)
}

func TestASettingThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	for _, body := range []string{`{"key_window":"soon"}`, `{"key_window":"-1s"}`, `{"key_windows":"1s"}`, `{"business_rules":"yes"}`, `{`} {
		resp, err := http.Post(p.url+"/admin/settings", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		want(t, readReply(resp), http.StatusBadRequest, sandbox.CodeInvalidSettings)
	}
	resp, err := http.Post(p.url+"/admin/settings", "application/json", strings.NewReader(`{"key_window":"2s"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	resp, err = http.Post(p.url+"/admin/settings", "application/json", strings.NewReader(`{"business_rules":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := readReply(resp); got.body != `{"key_window":"2s","business_rules":true}` {
		t.Errorf("what was not given has changed: %s", got.body)
	}
}
