package sample_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/sandbox"
	"writ/tools"
	"writ/tools/sample"
)

const key = "2f6c3d0e-6a55-8f7c-9d33-0f1b7a6f2c11"

var payloads = map[string]string{
	"payments.capture":   `{"amount":"129.90","currency":"EUR","description":"Schütte & Söhne <GmbH>","payment_id":"pay_1"}`,
	"payments.refund":    `{"amount":"29.90","currency":"EUR","payment_id":"pay_1","reason":"returned"}`,
	"documents.delete":   `{"document_id":"doc/2026/7"}`,
	"notifications.send": `{"body":"paid","recipient":"ada@example.com","subject":"Invoice 7"}`,
	"transfers.create":   `{"account_id":"acc_1","amount":"500.00","currency":"EUR"}`,
	"echo":               `{"anything":[1,2,{"a":null}]}`,
}

// bench is the sample tools with a provider of their own.
type bench struct {
	*sandbox.Client
	t     *testing.T
	tools *tools.Registry
}

func newBench(t *testing.T) *bench {
	t.Helper()
	server, err := sandbox.New(sandbox.Config{
		LedgerPath: filepath.Join(t.TempDir(), "ledger.jsonl"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		front.Close()
	})
	list, err := sample.Tools(sample.Config{ProviderURL: front.URL})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Client: sandbox.NewClient(front.URL), t: t, tools: registry}
}

// invoke runs a tool as the engine would.
func (b *bench) invoke(ctx context.Context, tool string) (tools.Result, error) {
	b.t.Helper()
	registered, found := b.tools.Lookup(tool)
	if !found {
		b.t.Fatalf("no tool %s", tool)
	}
	if err := tools.Validate(registered, []byte(payloads[tool])); err != nil {
		b.t.Fatal(err)
	}
	return registered.Tool.Invoke(ctx, invocation.New(invocation.Fields{
		Tool: tool, Payload: []byte(payloads[tool]), IdempotencyKey: key, Attempt: 1, SendBy: time.Now().Add(time.Minute),
	}))
}

func (b *bench) fault(f sandbox.Fault) {
	b.t.Helper()
	if _, err := b.AddFault(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) books() []sandbox.Entry {
	b.t.Helper()
	entries, err := b.Ledger(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return entries
}

func wantFailure(t *testing.T, err error, outcome intent.Outcome, code string) *tools.Failure {
	t.Helper()
	var f *tools.Failure
	if !errors.As(err, &f) || f.Outcome != outcome || f.Code != code {
		t.Fatalf("the error is %v, want %s (%s)", err, outcome, code)
	}
	return f
}

var keyed = []string{"payments.capture", "payments.refund", "documents.delete"}

func TestEachToolHasItsClass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := map[string]intent.Class{"notifications.send": intent.Opaque, "newsletters.send": intent.Opaque, "echo": intent.Read, "transfers.create": intent.Reconcilable,
		"documents.store": intent.Transactional, "documents.purge": intent.Transactional}
	for _, name := range keyed {
		want[name] = intent.Keyed
	}
	for _, tool := range b.tools.All() {
		if tool.Spec.Class() != want[tool.Spec.Name] || !tool.Spec.Retryable || tool.Spec.Timeout != 10*time.Second {
			t.Errorf("%s: %+v", tool.Spec.Name, tool.Spec)
		}
		if rules := tool.Spec.Rules(); rules.Class == intent.Keyed && rules.Window != intent.Forever {
			t.Errorf("%s: the key is remembered for %v", tool.Spec.Name, rules.Window)
		}
		delete(want, tool.Spec.Name)
	}
	if len(want) != 0 {
		t.Errorf("missing tools: %v", want)
	}
}

func TestAKeyedToolSendsItsPayloadAndKeyByteForByteAndHasOneEffect(t *testing.T) {
	t.Parallel()
	for _, tool := range keyed {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first, err := b.invoke(t.Context(), tool)
			if err != nil {
				t.Fatal(err)
			}
			again, err := b.invoke(t.Context(), tool)
			if err != nil || string(again.Body) != string(first.Body) {
				t.Errorf("the second answer is %s, %v, the first was %s", again.Body, err, first.Body)
			}
			books := b.books()
			if len(books) != 1 || books[0].Key != key || string(books[0].Body) != payloads[tool] {
				t.Fatalf("the ledger is %+v", books)
			}
			if first.MediaType != tools.MediaTypeJSON || string(first.Body) != string(books[0].Answer.Body) {
				t.Errorf("the result is %s %s, the provider answered %s", first.MediaType, first.Body, books[0].Answer.Body)
			}
			if registered, _ := b.tools.Lookup(tool); registered.Output.Validate(first.Body) != nil {
				t.Errorf("the answer is not what the spec promises: %v", registered.Output.Validate(first.Body))
			}
			if want := "/v1/" + strings.ReplaceAll(tool, ".", "/"); books[0].Endpoint != want {
				t.Errorf("the endpoint is %s, want %s", books[0].Endpoint, want)
			}
		})
	}
}

func TestTheOpaqueToolSendsNoKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.invoke(t.Context(), "notifications.send"); err != nil {
		t.Fatal(err)
	}
	books := b.books()
	if len(books) != 1 || books[0].Key != "" || string(books[0].Body) != payloads["notifications.send"] {
		t.Errorf("the ledger is %+v", books)
	}
}

func TestEchoReturnsItsPayload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	result, err := b.invoke(t.Context(), "echo")
	if err != nil || string(result.Body) != payloads["echo"] || result.MediaType != tools.MediaTypeJSON {
		t.Errorf("the result is %+v, %v", result, err)
	}
}

func TestEachFaultOfTheProviderIsToldAsWhatIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   string
		outcome intent.Outcome
		code    string
		effects int
	}{
		{sandbox.FaultDropAfterAct, intent.Unknown, "connection_lost", 1},
		{sandbox.FaultErrorAfterAct, intent.Unknown, "http_500", 1},
		{sandbox.FaultRateLimit, intent.NotApplied, "rate_limited", 0},
	} {
		for _, tool := range append([]string{"notifications.send"}, keyed...) {
			t.Run(c.fault+" "+tool, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.fault(sandbox.Fault{Fault: c.fault})
				_, err := b.invoke(t.Context(), tool)
				if f := wantFailure(t, err, c.outcome, c.code); f.Final || f.InProgress {
					t.Errorf("the failure is %+v", f)
				}
				if n := len(b.books()); n != c.effects {
					t.Fatalf("the ledger has %d effects, want %d", n, c.effects)
				}
				if tool == "notifications.send" {
					return // sending it again is what must not be done
				}
				if _, err := b.invoke(t.Context(), tool); err != nil {
					t.Fatal(err)
				}
				if n := len(b.books()); n != 1 {
					t.Errorf("after the same key again the ledger has %d effects", n)
				}
			})
		}
	}
}

func TestARateLimitPassesOnWhenToComeBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fault(sandbox.Fault{Fault: sandbox.FaultRateLimit, RetryAfter: 90})
	_, err := b.invoke(t.Context(), "payments.capture")
	if f := wantFailure(t, err, intent.NotApplied, "rate_limited"); f.RetryAfter != 90*time.Second {
		t.Errorf("the wait is %v", f.RetryAfter)
	}
}

func TestAHangingRequestIsInProgressForOthersAndUnknownForItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fault(sandbox.Fault{Fault: sandbox.FaultHangBeforeAct})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	hanging := make(chan error, 1)
	go func() {
		_, err := b.invoke(ctx, "payments.capture")
		hanging <- err
	}()
	filter := sandbox.RequestFilter{Key: key, State: sandbox.StateHanging}
	if _, err := b.AwaitRequests(t.Context(), filter, 1, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	_, err := b.invoke(t.Context(), "payments.capture")
	if f := wantFailure(t, err, intent.NotApplied, "idempotency_key_in_use"); !f.InProgress || f.RetryAfter != time.Second || f.Final {
		t.Errorf("the failure is %+v", f)
	}
	leave()
	wantFailure(t, <-hanging, intent.Unknown, "connection_lost")
	if n := len(b.books()); n != 0 {
		t.Errorf("the ledger has %d effects", n)
	}
}

func TestAnAnswerThatHangsAfterTheActIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fault(sandbox.Fault{Fault: sandbox.FaultHangAfterAct})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := b.invoke(ctx, "payments.capture")
	wantFailure(t, err, intent.Unknown, "timeout")
	if n := len(b.books()); n != 1 {
		t.Errorf("the ledger has %d effects", n)
	}
}

func TestAPayloadThatTheProviderWouldNotUnderstandIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ tool, payload, says string }{
		{"payments.capture", `{"amount":"1.00","currency":"EUR"}`, `it must have the member "payment_id"`},
		{"payments.capture", `{"payment_id":"pay_1","amount":1,"currency":"EUR"}`, "/amount: must be a string (a positive decimal"},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.0000","currency":"EUR"}`, "/amount: must match "},
		{"payments.capture", `{"payment_id":"pay_1","amount":"0","currency":"EUR"}`, "/amount: must match "},
		{"payments.capture", `{"payment_id":"pay_1","amount":"-1","currency":"EUR"}`, "/amount: must match "},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.00","currency":"eur"}`, "/currency: must match ^[A-Z]{3}$ (three capital letters"},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.00","currency":null}`, "/currency: must be a string (three capital letters"},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.00","currency":"EUR","Amount":"9.00"}`, `must not have the member "Amount"; it may have "amount", "currency"`},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.00","currency":"EUR","description":""}`, "/description: must have at least 1 character"},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.00","currency":"EUR","description":" \u00a0"}`, "description must have at most 1000 bytes and not be blank"},
		{"payments.capture", `{"payment_id":"pay_1","amount":"1.00","currency":"EUR","description":"` + strings.Repeat("ä", 501) + `"}`, "description must have at most 1000 bytes and not be blank"},
		{"payments.capture", `{"payment_id":"pay_1","amount":"0.000","currency":"EUR"}`, "/amount: must match "},
		{"payments.refund", `{"payment_id":"pay 1","amount":"1.00"}`, "/payment_id: must match "},
		{"documents.delete", `{"document_id":"doc_1","force":"yes"}`, `must not have the member "force"; it may have "document_id", "reason"`},
		{"notifications.send", `{"recipient":"ada@example.com"}`, `it must have the member "body"`},
		{"notifications.send", `[]`, "it must be an object"},
		{"notifications.send", `null`, "it must be an object"},
	} {
		registered, _ := b.tools.Lookup(c.tool)
		err := tools.Validate(registered, []byte(c.payload))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: the error is %v, want %q", c.tool, c.payload, err, c.says)
		}
	}
}

func TestALongUnknownNameIsRepeatedInPart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	registered, _ := b.tools.Lookup("documents.delete")
	for name, says := range map[string]string{
		strings.Repeat("n", 64):            `"` + strings.Repeat("n", 64) + `";`,
		strings.Repeat("n", 65):            `"` + strings.Repeat("n", 61) + `…";`,
		"n" + strings.Repeat("\u00e4", 40): `"n` + strings.Repeat("\u00e4", 30) + `…";`,
		strings.Repeat("\x7f", 512<<10):    `\x7f…";`,
	} {
		payload, err := json.Marshal(map[string]string{"document_id": "doc_1", name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		err = tools.Validate(registered, payload)
		if err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 1024 {
			t.Errorf("a name of %d bytes: the error is %.2000v, want %q", len(name), err, says)
		}
	}
}

func TestTheExampleCapturesAreGoodPayloads(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../examples/captures.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := newBench(t)
	registered, _ := b.tools.Lookup("payments.capture")
	for in := bufio.NewScanner(file); in.Scan(); {
		var line struct{ Payload json.RawMessage }
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if err := tools.Validate(registered, line.Payload); err != nil {
			t.Errorf("%s: %v", line.Payload, err)
		}
	}
}

func TestAnAmountIsPositiveAndHasAtMostThreeDecimals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refund, _ := b.tools.Lookup("payments.refund")
	for amount, good := range map[string]bool{
		"1": true, "10": true, "999999999999.999": true, "0.1": true, "0.10": true, "0.100": true, "0.01": true, "0.010": true, "0.001": true, "1.000": true,
		"": false, "0": false, "0.0": false, "0.00": false, "0.000": false, "0.0001": false, "01": false, "1.": false, ".5": false, "-1": false, "1e3": false,
		"1000000000000": false, "1.0\n": false,
	} {
		payload, err := json.Marshal(map[string]string{"payment_id": "pay_1", "amount": amount})
		if err != nil {
			t.Fatal(err)
		}
		if err := tools.Validate(refund, payload); (err == nil) != good {
			t.Errorf("%q: %v", amount, err)
		}
	}
}

func TestWithoutAProviderThereAreNoTools(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:7766"} {
		if list, err := sample.Tools(sample.Config{ProviderURL: url}); err == nil || list != nil {
			t.Errorf("%q gives %v, %v", url, list, err)
		}
	}
}
