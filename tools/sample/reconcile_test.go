package sample_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/sandbox"
	"writ/tools"
	"writ/tools/sample"
)

var reconcilable = append([]string{"transfers.create"}, keyed...)

// look asks what became of a tool's effect, as the engine would.
func look(ctx context.Context, t *testing.T, registry *tools.Registry, tool string) (tools.Finding, error) {
	t.Helper()
	registered, found := registry.Lookup(tool)
	reconciler, able := registered.Tool.(tools.Reconciler)
	if !found || !able {
		t.Fatalf("%s cannot be looked up", tool)
	}
	return reconciler.Reconcile(ctx, invocation.NewInquiry(invocation.Question{
		Tool: tool, Payload: []byte(payloads[tool]), IdempotencyKey: key, Deadline: time.Now().Add(20 * time.Second),
	}))
}

func TestALookupFindsTheEffectWithItsResultAndName(t *testing.T) {
	t.Parallel()
	for _, tool := range reconcilable {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			before, err := look(t.Context(), t, b.tools, tool)
			if err != nil || before.Found {
				t.Fatalf("before anything happened the lookup says %+v, %v", before, err)
			}
			b.fault(sandbox.Fault{Fault: sandbox.FaultDropAfterAct})
			_, err = b.invoke(t.Context(), tool)
			wantFailure(t, err, intent.Unknown, "connection_lost")
			after, err := look(t.Context(), t, b.tools, tool)
			if err != nil || !after.Found || after.Effects != 1 {
				t.Fatalf("after it the lookup says %+v, %v", after, err)
			}
			effect := b.books()[0]
			if after.Result.EffectID != effect.EffectID || string(after.Result.Body) != string(effect.Answer.Body) || after.Result.MediaType != tools.MediaTypeJSON {
				t.Errorf("the result is %+v, the effect %+v", after.Result, effect)
			}
			if registered, _ := b.tools.Lookup(tool); registered.Output.Validate(after.Result.Body) != nil {
				t.Errorf("the result is not what the spec promises: %s", after.Result.Body)
			}
		})
	}
}

func TestALookupCountsTheEffectsUnderOneKey(t *testing.T) {
	t.Parallel()
	for _, tool := range reconcilable {
		b := newBench(t)
		b.fault(sandbox.Fault{Fault: sandbox.FaultPerformTwice})
		result, err := b.invoke(t.Context(), tool)
		if err != nil {
			t.Fatal(err)
		}
		found, err := look(t.Context(), t, b.tools, tool)
		if err != nil || !found.Found || found.Effects != 2 || found.Result.EffectID != result.EffectID {
			t.Errorf("%s: the lookup says %+v, %v; the result was %+v", tool, found, err, result)
		}
	}
}

func TestALookupThatFailsSaysNothingOfTheEffect(t *testing.T) {
	t.Parallel()
	for _, tool := range reconcilable {
		b := newBench(t)
		b.fault(sandbox.Fault{Fault: sandbox.FaultLookupError})
		b.fault(sandbox.Fault{Fault: sandbox.FaultLookupError, Status: 429, RetryAfter: 9})
		b.fault(sandbox.Fault{Fault: sandbox.FaultLookupError, Status: 404, Code: "no_such_endpoint"})
		for _, want := range []struct {
			code string
			wait time.Duration
		}{{"http_500", 0}, {"rate_limited", 9 * time.Second}, {"no_such_endpoint", 0}} {
			_, err := look(t.Context(), t, b.tools, tool)
			if f := wantFailure(t, err, intent.Unknown, want.code); f.RetryAfter != want.wait {
				t.Errorf("%s: the wait is %v", tool, f.RetryAfter)
			}
		}
	}
}

func TestAnAnswerThatIsNoListIsNotTakenForAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `null`, `{}`, `"none"`, `[`, `[{}]`, `[null]`, `<html>`} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		t.Cleanup(front.Close)
		list, err := sample.Tools(sample.Config{ProviderURL: front.URL})
		if err != nil {
			t.Fatal(err)
		}
		registry, err := tools.NewRegistry(list...)
		if err != nil {
			t.Fatal(err)
		}
		finding, err := look(t.Context(), t, registry, "transfers.create")
		var f *tools.Failure
		if !errors.As(err, &f) || f.Outcome != intent.Unknown || finding.Found {
			t.Errorf("%q: %+v, %v", body, finding, err)
		}
	}
}

func TestATransferCarriesItsKeyAsAReferenceOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 2 {
		if _, err := b.invoke(t.Context(), "transfers.create"); err != nil {
			t.Fatal(err)
		}
	}
	books := b.books()
	if len(books) != 2 { // the endpoint does not look at keys: what must not be sent twice is sent twice
		t.Fatalf("the ledger is %+v", books)
	}
	if books[0].Key != "" || books[0].Reference != key || string(books[0].Body) != payloads["transfers.create"] {
		t.Errorf("the effect is %+v", books[0])
	}
}

func TestWhatIsTheCaseAlreadyIsSaidAsThat(t *testing.T) {
	t.Parallel()
	for tool, code := range map[string]string{"payments.capture": "already_captured", "documents.delete": "document_not_found"} {
		b := newBench(t)
		if _, err := b.ChangeSettings(t.Context(), sandbox.Settings{BusinessRules: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.invoke(t.Context(), tool); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Forget(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		_, err := b.invoke(t.Context(), tool)
		if f := wantFailure(t, err, intent.NotApplied, code); !f.Already || !f.Final || f.Stored {
			t.Errorf("%s: the failure is %+v", tool, f)
		}
		if n := len(b.books()); n != 1 {
			t.Errorf("%s: the ledger has %d effects", tool, n)
		}
	}
}

func TestAStoredErrorIsMarkedFromTheSecondRequestOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fault(sandbox.Fault{Fault: sandbox.FaultStoredError})
	for _, stored := range []bool{false, true, true} {
		_, err := b.invoke(t.Context(), "payments.capture")
		if f := wantFailure(t, err, intent.Unknown, "http_500"); f.Stored != stored {
			t.Errorf("the failure is %+v, want stored %v", f, stored)
		}
	}
}

func TestABodyThatIsNoAnswerIsASuccessAllTheSame(t *testing.T) {
	t.Parallel()
	for fault, mediaType := range map[string]string{
		sandbox.FaultMalformedBody: tools.MediaTypeBinary, sandbox.FaultBrokenBody: tools.MediaTypeBinary, sandbox.FaultHugeBody: tools.MediaTypeJSON,
	} {
		b := newBench(t)
		b.fault(sandbox.Fault{Fault: fault})
		result, err := b.invoke(t.Context(), "payments.capture")
		if err != nil || result.MediaType != mediaType || len(result.Body) == 0 || result.EffectID != "" {
			t.Errorf("%s: %s %q of %d bytes, %v", fault, result.MediaType, result.EffectID, len(result.Body), err)
		}
		if again, err := b.invoke(t.Context(), "payments.capture"); err != nil || again.EffectID != b.books()[0].EffectID {
			t.Errorf("%s: the stored answer is %+v, %v", fault, again, err)
		}
	}
}

func TestTheConfigurationSaysWhatIsPromisedOfTheProvider(t *testing.T) {
	t.Parallel()
	list, err := sample.Tools(sample.Config{
		ProviderURL: "http://127.0.0.1:7766", Timeout: time.Second, Retry: tools.RetryPolicy{MaxAttempts: 3},
		Key:    tools.KeyContract{Remembers: tools.Window(time.Minute), ReplaysErrors: true},
		Lookup: tools.LookupContract{SettleDelay: tools.Immediate, Max: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	capture, _ := registry.Lookup("payments.capture")
	rules := capture.Spec.Rules()
	if rules.Timeout != time.Second || rules.MaxAttempts != 3 || rules.Window != time.Minute || !rules.ReplaysErrors ||
		!rules.Lookup || rules.SettleDelay != 0 || rules.MaxLookups != 4 {
		t.Errorf("the rules of a keyed tool are %+v", rules)
	}
	message, _ := registry.Lookup("notifications.send")
	if rules := message.Spec.Rules(); rules.Lookup || rules.Window != 0 || rules.MaxAttempts != 3 {
		t.Errorf("the rules of the opaque tool are %+v", rules)
	}

	b := newBench(t)
	transfer, _ := b.tools.Lookup("transfers.create")
	if rules := transfer.Spec.Rules(); rules.SettleDelay != 2*time.Second || rules.MaxLookups != tools.DefaultMaxLookups || rules.Timeout != 10*time.Second {
		t.Errorf("the rules by default are %+v", rules)
	}
	if transfer.Spec.Stake != (tools.Stake{Amount: "/amount", Currency: "/currency"}) {
		t.Errorf("at stake is %+v", transfer.Spec.Stake)
	}
}
