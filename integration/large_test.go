package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"writ"
	"writ/intent"
	"writ/receipts"
	"writ/tools"
	"writ/tools/effecthttp"
)

// kept is how many bytes of an answer a worker keeps by default.
const kept = 16 << 20

// document is an answer of size bytes in JSON.
func document(size int) []byte {
	return fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("x", size-len(`{"a":""}`)))
}

func nested(levels int) []byte {
	return []byte(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

// answers are what a provider may say after it has acted.
var answers = map[string]struct {
	mediaType string
	body      []byte
	// recorded is the media type that the receipt has.
	recorded string
}{
	"1.9_MB":                  {"application/json", document(1_900_000), "application/json"},
	"2.1_MB":                  {"application/json", document(2_100_000), "application/json"},
	"4.5_MB":                  {"application/json", document(4_500_000), "application/json"},
	"62_MB":                   {"application/json", document(62_000_000), "application/json"},
	"binary":                  {"application/pdf", bytes.Repeat([]byte("\x00\xff\x80%PDF"), 100), "application/pdf"},
	"large_binary":            {"application/pdf", bytes.Repeat([]byte("\x00\xff\x80%PDF"), 400_000), "application/pdf"},
	"invalid_UTF-8":           {"application/json", []byte("{\"a\":\"gr\xfcn\"}"), "application/octet-stream"},
	"NaN":                     {"application/json", []byte(`{"rate":NaN,"limit":-Infinity}`), "application/octet-stream"},
	"nested_5000_levels":      {"application/json", nested(5_000), "application/json"},
	"nested_9990_levels":      {"application/json", nested(9_990), "application/json"},
	"nested_100000_levels":    {"application/json", nested(100_000), "application/octet-stream"},
	"large_and_deeply_nested": {"application/json", nested(1_000_000), "application/octet-stream"},
	"nothing":                 {"application/json", nil, ""},
}

// answering captures a payment and then answers whatever the payload asks for.
func answering(t testing.TB, w *world) tools.Tool {
	t.Helper()
	provider, err := effecthttp.New(effecthttp.Config{BaseURL: w.provider.url})
	if err != nil {
		t.Fatal(err)
	}
	spec := tools.Spec{Name: "payments.answer", SideEffectful: true, Idempotent: true}
	return tools.New(spec, func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
		var asked struct{ Answer string }
		if err := inv.Decode(&asked); err != nil {
			return tools.Result{}, tools.NotApplied(err).AsFinal()
		}
		body := []byte(capture.payload)
		if _, err := provider.Do(ctx, inv, effecthttp.Request{Path: "/v1/payments/capture", Body: body}); err != nil {
			return tools.Result{}, err
		}
		answer := answers[asked.Answer]
		return tools.Result{MediaType: answer.mediaType, Body: answer.body}, nil
	})
}

func TestWhateverAProviderAnswersTheEffectIsRecordedOnceWithAReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.host(t, answering(t, w))
	client := w.dial(t)
	for name, answer := range answers {
		request := writ.Request{
			Tool: "payments.answer", Tenant: w.name, Principal: "shop", Service: "till", RequestKey: requestKey + name,
			Payload: fmt.Appendf(nil, `{"answer":"%s"}`, name),
		}
		done, err := client.Execute(t.Context(), request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if effects, err := w.provider.Effects(t.Context(), string(done.Intent.IdempotencyKey)); err != nil || len(effects) != 1 {
			t.Errorf("%s: %d effects, %v", name, len(effects), err)
		}
		receipt, err := receipts.Parse(done.Receipt)
		if err != nil || receipt.Outcome != intent.Applied || receipt.State != intent.Completed || receipt.MediaType != answer.recorded {
			t.Errorf("%s: %s, %v", name, done.Receipt, err)
		}
		if receipt.ResultSize != int64(len(answer.body)) || (receipt.ResultKept != nil) != (len(answer.body) > kept) || receipt.ResultKept != nil && *receipt.ResultKept != kept {
			t.Errorf("%s: the receipt says %d bytes, %v of them kept", name, receipt.ResultSize, receipt.ResultKept)
		}
		if got := shown(done.Answer); !bytes.Equal(got, answer.body[:min(len(answer.body), kept)]) {
			t.Errorf("%s: %d bytes come back of %d", name, len(got), len(answer.body))
		}
		if size := w.historySize(t, done.Intent.WorkflowID); size > 64<<10 {
			t.Errorf("%s: the history has %d bytes", name, size)
		}
		if again := w.asked(t, request); again.status != 0 || string(again.Receipt) != string(done.Receipt) || !bytes.Equal(shown(again.Answer), shown(done.Answer)) {
			t.Errorf("%s: on the command line it ends with status %d and the receipt %s", name, again.status, again.Receipt)
		}
	}
	w.provider.effects(t, len(answers))
}

func shown(a *writ.Answer) []byte {
	switch {
	case a == nil:
		return nil
	case a.JSON != nil:
		return a.JSON
	}
	return a.Body
}

// asked asks for the request on the command line, with its payload in a file.
func (w *world) asked(t testing.TB, r writ.Request) outcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "payload.json")
	if err := os.WriteFile(file, r.Payload, 0o600); err != nil {
		t.Fatal(err)
	}
	return w.writ(t, "execute", r.Tool, "--payload", "@"+file, "--key", r.RequestKey, "--tenant", r.Tenant, "--principal", r.Principal, "--service", r.Service).outcome(t)
}

// historySize is the size in bytes of everything that Temporal keeps of a workflow.
func (w *world) historySize(t testing.TB, workflowID string) (size int) {
	t.Helper()
	for _, event := range w.historyOf(t, workflowID).Events {
		size += proto.Size(event)
	}
	return size
}

func TestALargePayloadReachesTheToolAndNoHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	received := make(chan []byte, 10)
	w.host(t, tools.New(tools.Spec{Name: "documents.index"}, func(_ context.Context, inv tools.Invocation) (tools.Result, error) {
		received <- inv.Payload()
		return tools.JSON(len(inv.Payload()))
	}))
	client := w.dial(t)
	for name, size := range map[string]int{"inline": intent.MaxInline, "by reference": intent.MaxInline + 1, "of one MiB": intent.MaxPayload} {
		payload := fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("<", size-len(`{"a":""}`)))
		request := writ.Request{Tool: "documents.index", Tenant: w.name, Principal: "shop", Service: "till", RequestKey: name, Payload: payload}
		done, err := client.Execute(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := <-received; !bytes.Equal(got, payload) {
			t.Errorf("%s: the tool received %d bytes", name, len(got))
		}
		stored, err := client.Get(t.Context(), done.Intent.ID)
		if err != nil || !bytes.Equal(stored.Payload, payload) {
			t.Errorf("%s: %d bytes are stored, %v", name, len(stored.Payload), err)
		}
		if history := w.historySize(t, done.Intent.WorkflowID); size > intent.MaxInline && history > 32<<10 {
			t.Errorf("%s: the history has %d bytes", name, history)
		}
		if again := w.asked(t, request); again.status != 0 || string(again.Receipt) != string(done.Receipt) {
			t.Errorf("%s: on the command line it ends with status %d: %+v", name, again.status, again.Error)
		}
	}
	if len(received) != 0 {
		t.Error("the tool was called again")
	}
	too := writ.Request{Tool: "documents.index", Tenant: w.name, Principal: "shop", Service: "till", RequestKey: "too large", Payload: document(intent.MaxPayload + 1)}
	if _, err := client.Execute(t.Context(), too); intent.CodeOf(err) != intent.CodePayloadTooLarge {
		t.Errorf("one byte more: %v", err)
	}
	if got := w.asked(t, too); got.status != 2 || got.Error.Code != intent.CodePayloadTooLarge {
		t.Errorf("one byte more on the command line: status %d, %+v", got.status, got.Error)
	}
	var written int
	if query(t, w.database, `SELECT (SELECT count(*) FROM intents WHERE request_key = 'too large') + (SELECT count(*) FROM staged_payloads)`, &written); written != 0 {
		t.Errorf("%d rows were written for what was refused, or left behind", written)
	}
}
