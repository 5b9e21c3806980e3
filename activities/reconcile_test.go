package activities_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/tools"
)

// books is a provider that can be asked: it finds its findings in order, the last one for ever.
type books struct {
	*provider
	spec     tools.Spec
	mu       sync.Mutex
	findings []func() (tools.Finding, error)
	asked    []tools.Inquiry
}

func (b *books) Spec() tools.Spec { return b.spec }

func (b *books) Invoke(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
	return b.invoke(ctx, inv)
}

func (b *books) Reconcile(_ context.Context, inq tools.Inquiry) (tools.Finding, error) {
	b.mu.Lock()
	find := b.findings[min(len(b.asked), len(b.findings)-1)]
	b.asked = append(b.asked, inq)
	b.mu.Unlock()
	return find()
}

func (b *books) lookups() []tools.Inquiry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func reconcilable() tools.Spec {
	return tools.Spec{Name: "transfers.create", SideEffectful: true, Reconcilable: true, Retryable: true, Timeout: 20 * time.Second,
		Retry: tools.RetryPolicy{MaxAttempts: 3}, Lookup: tools.LookupContract{SettleDelay: time.Minute, Max: 3}}
}

// lookUpable is keyed with a provider that can be asked.
func lookUpable() tools.Spec {
	s := keyed()
	s.Reconcilable, s.Lookup = true, tools.LookupContract{SettleDelay: time.Minute, Max: 3}
	return s
}

func found() (tools.Finding, error) {
	return tools.Found(tools.Result{Body: []byte(`{"id":"tr_1"}`), EffectID: "tr_1"}), nil
}

func absent() (tools.Finding, error) { return tools.Absent(), nil }

func unclear(err error) func() (tools.Finding, error) {
	return func() (tools.Finding, error) { return tools.Finding{}, err }
}

type findings []func() (tools.Finding, error)

// asking is hosting with a provider that can be asked.
func asking(t *testing.T, spec tools.Spec, found findings, answers ...func() (tools.Result, error)) (bundle, *books) {
	t.Helper()
	p := &books{provider: &provider{answers: answers}, spec: spec, findings: found}
	return start(t, nil, p), p
}

var lost = answering(tools.Unknown(errors.New("connection lost")).WithCode("connection_lost"))

func TestAnEffectThatALookupFindsCompletesItsIntentAndIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b, provider := asking(t, reconcilable(), findings{found}, lost)
	in := ask("transfers.create")
	p, steps := b.drive(t, in)
	if p.State != intent.Completed || len(provider.calls) != 1 || !reflect.DeepEqual(steps[2:], []string{"reconcile", "settle", "stop"}) {
		t.Fatalf("%s by %v, sent %d times", p.State, steps, len(provider.calls))
	}
	r := b.receipt(t, in)
	if r.Outcome != intent.Applied || r.Reason != intent.ReasonFound || r.ResultDigest == nil || len(r.Lookups) != 1 || r.Lookups[0].EffectID != "tr_1" {
		t.Errorf("the receipt is %+v", r)
	}
	if r.Attempts[0].Outcome != intent.Unknown {
		t.Errorf("the attempt's own evidence became %s", r.Attempts[0].Outcome)
	}
	if media, body, err := b.result(t, in.IntentID); err != nil || media != tools.MediaTypeJSON || string(body) != `{"id":"tr_1"}` {
		t.Errorf("the answer is %s %s, %v", media, body, err)
	}
	if inq := provider.lookups()[0]; inq.IdempotencyKey() != string(b.row(t, in).IdempotencyKey) || string(inq.Payload()) != `{"amount":"12.90"}` ||
		inq.Context().Principal != "till-7" || inq.FirstSentAt().IsZero() {
		t.Errorf("it was asked for %+v", inq)
	}
}

func TestAbsentIsNotTrustedBeforeTheSettleDelayAndThenSentAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	b, provider := asking(t, reconcilable(), findings{absent}, lost, applied)
	in := ask("transfers.create")
	p, steps := b.drive(t, in)
	if p.State != intent.Completed || !reflect.DeepEqual(steps, []string{"persist", "invoke", "reconcile", "wait", "reconcile", "invoke", "stop"}) {
		t.Fatalf("%s by %v", p.State, steps)
	}
	row := b.row(t, in)
	first, second := row.Lookups[0], row.Lookups[1]
	settled := row.Attempts[0].LeaseUntil.Add(time.Minute)
	if !first.AskedAt.Before(settled) || second.AskedAt.Before(settled) {
		t.Errorf("asked at %s and %s, settled at %s", first.AskedAt, second.AskedAt, settled)
	}
	if calls := provider.calls; len(calls) != 2 || calls[0].IdempotencyKey() != calls[1].IdempotencyKey() || row.Generation != 1 {
		t.Errorf("sent %d times, generation %d", len(calls), row.Generation)
	}
}

func TestAProviderThatDoesNotSayIsAskedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		find func() (tools.Finding, error)
		code string
	}{
		"a bare error":         {unclear(errors.New("no route")), tools.CodeToolError},
		"a failure":            {unclear(tools.Unknown(errors.New("busy")).WithCode("http_503").After(7 * time.Minute)), "http_503"},
		"a panic":              {func() (tools.Finding, error) { panic("boom") }, activities.CodePanic},
		"an ending goroutine":  {func() (tools.Finding, error) { runtime.Goexit(); return absent() }, activities.CodeGoexit},
		"a definite no of one": {unclear(tools.NotApplied(errors.New("401")).WithCode("http_401")), "http_401"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, provider := asking(t, reconcilable(), findings{tc.find}, lost)
			in := ask("transfers.create")
			p, _ := b.drive(t, in)
			row := b.row(t, in)
			if p.State != intent.InDoubt || len(provider.calls) != 1 || len(row.Lookups) != 3 {
				t.Fatalf("%s, sent %d times, asked %d times", p.State, len(provider.calls), len(row.Lookups))
			}
			for i, l := range row.Lookups {
				if l.Finding != intent.Unclear || l.Code != tc.code {
					t.Errorf("lookup %d: %+v", i+1, l)
				}
			}
			if name == "a failure" && row.Lookups[1].AskedAt.Sub(row.Lookups[0].AnsweredAt) < 7*time.Minute {
				t.Error("the provider's wish for a pause was not heard")
			}
		})
	}
}

func TestALookupThatDoesNotAnswerIsGivenUpAtItsTimeout(t *testing.T) {
	t.Parallel()
	spec := reconcilable()
	spec.Timeout = 50 * time.Millisecond
	b, provider := asking(t, spec, findings{func() (tools.Finding, error) { select {} }}, lost)
	in := ask("transfers.create")
	p, steps := b.drive(t, in)
	if p.State != intent.InDoubt || len(provider.lookups()) != 3 || b.row(t, in).Lookups[2].Code != activities.CodeDeadlineExceeded {
		t.Errorf("%s by %v", p.State, steps)
	}
}

func TestAKeyThatTheProviderMayHaveForgottenIsLookedUpAndOnlyThenReplaced(t *testing.T) {
	t.Parallel()
	b, provider := asking(t, lookUpable(), findings{absent}, lost, applied)
	in := ask("payments.capture")
	p := b.recorded(t, in)
	out := b.invoke(t, p, in)
	b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence})
	b.later(t, time.Hour) // the window of two minutes has passed
	first := b.row(t, in)
	p, steps := b.drive(t, activities.Input{IntentID: in.IntentID})
	if p.State != intent.Completed || !reflect.DeepEqual(steps, []string{"reconcile", "renew", "invoke", "stop"}) {
		t.Fatalf("%s by %v", p.State, steps)
	}
	row := b.row(t, in)
	if row.Generation != 2 || row.IdempotencyKey == first.IdempotencyKey || row.Commitment == first.Commitment {
		t.Errorf("generation %d has key %s, the first one had %s", row.Generation, row.IdempotencyKey, first.IdempotencyKey)
	}
	if want := intent.DeriveKey("acme", "payments.capture", "order-4711", 2); row.IdempotencyKey != want {
		t.Errorf("the key is %s, want %s", row.IdempotencyKey, want)
	}
	if calls := provider.calls; len(calls) != 2 || calls[1].IdempotencyKey() != string(row.IdempotencyKey) || calls[1].Attempt() != 2 {
		t.Errorf("sent %+v", calls)
	}
	if r := b.receipt(t, in); r.Generation != 2 || len(r.Attempts) != 2 || r.Outcome != intent.Applied {
		t.Errorf("the receipt is %+v", r)
	}
}

func TestAlreadyCapturedIsSuccessOnlyAfterAnOpenAttempt(t *testing.T) {
	t.Parallel()
	already := answering(tools.NotApplied(errors.New("409")).WithCode("already_captured").AsFinal().AsAlready())
	for name, tc := range map[string]struct {
		answers []func() (tools.Result, error)
		state   intent.State
		reason  string
	}{
		"on the first attempt":            {[]func() (tools.Result, error){already}, intent.Failed, intent.ReasonFinalFailure},
		"after an open one":               {[]func() (tools.Result, error){lost, already}, intent.Completed, intent.ReasonAlready},
		"after one that had no effect":    {[]func() (tools.Result, error){answering(tools.NotApplied(errors.New("429"))), already}, intent.Failed, intent.ReasonFinalFailure},
		"after a refusal and an open one": {[]func() (tools.Result, error){lost, answering(tools.NotApplied(errors.New("429"))), already}, intent.Completed, intent.ReasonAlready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := hosting(t, keyed(), tc.answers...)
			in := ask("payments.capture")
			p, steps := b.drive(t, in)
			if r := b.receipt(t, in); p.State != tc.state || r.Reason != tc.reason {
				t.Errorf("%s because of %s by %v", p.State, r.Reason, steps)
			}
		})
	}
}

func TestALookupIsAskedOnlyOnTheVersionThatItWasDecidedOn(t *testing.T) {
	t.Parallel()
	b, provider := asking(t, reconcilable(), findings{found}, lost)
	in := ask("transfers.create")
	p := b.recorded(t, in)
	out := b.invoke(t, p, in)
	fromRow := activities.Input{IntentID: in.IntentID}
	p = b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
	stale := p
	stale.Version--
	if p := b.reconcile(t, stale, in); p.Step.Kind != intent.Reconcile || len(provider.lookups()) != 0 {
		t.Errorf("a stale step asked: %+v", p)
	}
	first := b.reconcile(t, p, in)
	if again := b.reconcile(t, p, in); first.Step.Kind != intent.Settle || again.Step.Kind != intent.Settle || len(provider.lookups()) != 1 {
		t.Errorf("asked %d times: %+v, %+v", len(provider.lookups()), first.Step, again.Step)
	}
}

func TestAToolThatAsksAnotherProviderMayNotLookUp(t *testing.T) {
	t.Parallel()
	here := reconcilable()
	here.Provider = "bank-a"
	b, provider := asking(t, here, findings{found}, lost)
	in := ask("transfers.create")
	p := b.recorded(t, in)
	out := b.invoke(t, p, in)
	fromRow := activities.Input{IntentID: in.IntentID}
	p = b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
	elsewhere := here
	elsewhere.Provider = "bank-b"
	stranger := &books{provider: provider.provider, spec: elsewhere, findings: findings{absent}}
	other := b.worker(t, nil, stranger)
	if p, err := other.Authorize(t.Context(), fromRow); err == nil {
		t.Errorf("it goes on there: %+v", p)
	}
	if p, err := other.Reconcile(t.Context(), activities.ReconcileInput{IntentID: in.IntentID, Tool: in.Request.Tool, Version: p.Version}); err == nil {
		t.Errorf("it asked another provider: %+v", p)
	}
	if len(stranger.lookups()) != 0 || len(b.row(t, in).Lookups) != 0 {
		t.Error("a lookup was made")
	}
	if p, _ := b.drive(t, fromRow); p.State != intent.Completed || len(provider.lookups()) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestAProviderThatWishesForAYearBeforeTheNextLookupDoesNotHideAnOpenOutcome(t *testing.T) {
	t.Parallel()
	b, _ := asking(t, reconcilable(), findings{unclear(tools.Unknown(errors.New("closed")).After(math.MaxInt64))}, lost)
	in := ask("transfers.create")
	p, _ := b.drive(t, in)
	row := b.row(t, in)
	if p.State != intent.InDoubt || row.Lookups[2].AskedAt.Sub(row.CreatedAt) > time.Hour {
		t.Errorf("%s after lookups at %s and %s", p.State, row.Lookups[0].AskedAt, row.Lookups[2].AskedAt)
	}
}

func TestNeitherAnAttemptNorALookupIsRecordedWithoutACode(t *testing.T) {
	t.Parallel()
	b, _ := asking(t, reconcilable(), findings{unclear(tools.Unknown(errors.New("closed"))), found}, answering(tools.Unknown(errors.New("closed"))))
	in := ask("transfers.create")
	if p, _ := b.drive(t, in); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	if row := b.row(t, in); row.Attempts[0].Code != activities.CodeToolError || row.Lookups[0].Code != activities.CodeToolError {
		t.Errorf("the attempt has code %q and the lookup %q", row.Attempts[0].Code, row.Lookups[0].Code)
	}
}
