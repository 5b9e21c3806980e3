package activities_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// largePayload is a canonical payload of exactly size bytes.
func largePayload(size int) []byte {
	return fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("<", size-len(`{"a":""}`)))
}

// askStaged is the input of a request whose payload was staged first.
func (b bundle) askStaged(t *testing.T, tool string, payload []byte, change ...func(*activities.Request)) activities.Input {
	t.Helper()
	in := ask(tool, change...)
	ref, err := b.store.StagePayload(t.Context(), in.IntentID, payload, intent.Salt{9})
	if err != nil {
		t.Fatal(err)
	}
	in.Request.Payload, in.Request.PayloadRef = nil, &ref
	return in
}

func TestAToolReceivesThePayloadThatARequestRefersTo(t *testing.T) {
	t.Parallel()
	payload := largePayload(intent.MaxPayload) // six times as large in Temporal's spelling
	for _, spec := range []tools.Spec{keyed(), opaque(), read()} {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, spec, applied)
			in := b.askStaged(t, spec.Name, payload)
			if carried, err := json.Marshal(in); err != nil || len(carried) > 2000 {
				t.Fatalf("the history carries %d bytes, %v", len(carried), err)
			}
			if p, steps := b.drive(t, in); p.State != intent.Completed {
				t.Fatalf("%v: %+v", steps, p)
			}
			if asked := provider.asked(); len(asked) != 1 || !bytes.Equal(asked[0].Payload(), payload) {
				t.Errorf("the tool was called %d times", len(asked))
			}
			row := b.row(t, in)
			action := intent.Action{Tenant: row.Tenant, Principal: row.Principal, Tool: row.Tool, Payload: payload}
			if row.Fingerprint != intent.Fingerprint(row.Salt, action) {
				t.Error("the fingerprint is of another payload")
			}
			// The same action by another reference, or by the payload itself, is the same.
			if p, steps := b.drive(t, b.askStaged(t, spec.Name, payload)); p.State != intent.Completed || len(provider.asked()) != 1 {
				t.Errorf("asked again: %v %+v", steps, p)
			}
			other := b.askStaged(t, spec.Name, largePayload(intent.MaxPayload-1))
			if p, _ := b.drive(t, other); p.Rejection == nil || p.Rejection.Code != intent.CodeIdempotencyConflict || len(provider.asked()) != 1 {
				t.Errorf("another payload under the same key: %+v", p)
			}
		})
	}
}

func TestAReferenceIsRejectedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, keyed(), applied)
	for name, tc := range map[string]struct {
		payload []byte
		change  func(*activities.Request)
		want    intent.Code
	}{
		"to nothing":                     {largePayload(100_000), func(r *activities.Request) { r.PayloadRef.Digest[0]++ }, intent.CodePayloadMissing},
		"to content of another size":     {largePayload(100_000), func(r *activities.Request) { r.PayloadRef.Size++ }, intent.CodePayloadMissing},
		"beside a payload":               {largePayload(100_000), func(r *activities.Request) { r.Payload = json.RawMessage(`{}`) }, intent.CodeInvalidPayload},
		"to more than is allowed":        {largePayload(intent.MaxPayload + 1), func(*activities.Request) {}, intent.CodePayloadTooLarge},
		"to what is no object":           {[]byte(`"` + strings.Repeat("x", 100_000) + `"`), func(*activities.Request) {}, intent.CodePayloadNotObject},
		"to what is not JSON":            {[]byte(strings.Repeat("x", 100_000)), func(*activities.Request) {}, intent.CodeInvalidJSON},
		"from under another request key": {largePayload(100_000), func(r *activities.Request) { r.RequestKey = "order-0" }, intent.CodeIntentIDMismatch},
	} {
		in := b.askStaged(t, "payments.capture", tc.payload, func(r *activities.Request) { r.RequestKey = intent.RequestKey(name) })
		tc.change(in.Request)
		if p := b.authorize(t, in); p.Rejection == nil || p.Rejection.Code != tc.want {
			t.Errorf("%s: %+v, want %s", name, p.Rejection, tc.want)
		}
	}
	if n := b.rows(t); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

func TestEqualRequestsHaveOneMarkHoweverTheyCarryTheirPayload(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, keyed(), applied)
	first, second := b.askStaged(t, "payments.capture", largePayload(100_000)), b.askStaged(t, "payments.capture", largePayload(100_000))
	other := b.askStaged(t, "payments.capture", largePayload(100_001))
	if first.Request.Mark() != second.Request.Mark() || first.Request.Mark() == other.Request.Mark() {
		t.Errorf("%s, %s and, for another payload, %s", first.Request.Mark(), second.Request.Mark(), other.Request.Mark())
	}
}

func TestALargeInlinePayloadIsStoredOnceToo(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), applied)
	in := ask("payments.capture", func(r *activities.Request) { r.Payload = []byte(`{"a":"` + strings.Repeat("x", 100_000) + `"}`) })
	if p, steps := b.drive(t, in); p.State != intent.Completed {
		t.Fatalf("%v: %+v", steps, p)
	}
	if asked := provider.asked(); !bytes.Equal(asked[0].Payload(), in.Request.Payload) {
		t.Error("the tool received something else")
	}
	var blobs, copies int
	if err := b.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM blobs), (SELECT count(payload) FROM intents)`).Scan(&blobs, &copies); err != nil || blobs != 1 || copies != 0 {
		t.Errorf("%d blobs, %d copies in rows, %v", blobs, copies, err)
	}
}

func TestAnAnswerOverTheLimitIsCutAndItsSizeAndDigestAreRecorded(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a":"` + strings.Repeat("x", 200_000) + `"}`)
	b, provider := hosting(t, keyed(), func() (tools.Result, error) { return tools.Result{Body: body}, nil })
	b.Activities = b.limited(t, 100_000, tools.New(keyed(), provider.invoke))
	in := ask("payments.capture")
	if p, _ := b.drive(t, in); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	answer, kept, err := b.store.Result(t.Context(), in.IntentID)
	if err != nil || !bytes.Equal(kept, body[:100_000]) || answer.Size != int64(len(body)) || answer.MediaType != "application/json" {
		t.Fatalf("%+v, %d bytes, %v", answer, len(kept), err)
	}
	row, r := b.row(t, in), b.receipt(t, in)
	whole := intent.ResultDigest(row.Salt, "application/json", body)
	if answer.Digest != whole || *r.ResultDigest != whole || r.ResultSize != int64(len(body)) || r.ResultKept == nil || *r.ResultKept != 100_000 {
		t.Errorf("answer %+v, receipt %+v", answer, r)
	}
	if r.Outcome != intent.Applied || r.Attempts[0].Code != activities.CodeResultCut || row.Attempts[0].Message == "" {
		t.Errorf("receipt %+v", r)
	}
}

// limited is a worker that keeps maxResult bytes of an answer.
func (b bundle) limited(t *testing.T, maxResult int, list ...tools.Tool) *activities.Activities {
	t.Helper()
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	return activities.New(activities.Config{
		Store: b.store, Registry: registry, Policy: policy.NewEngine(nil, quiet), TaskQueue: "writ", Worker: "worker-1", Logger: quiet, MaxResult: maxResult,
	})
}

func TestALargeAnswerWhoseDatabaseWasAwayLeavesItsSizeAndDigest(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("x"), 100_000)
	b, _ := hosting(t, keyed(), func() (tools.Result, error) { return tools.Result{Body: body}, nil })
	in := ask("payments.capture")
	claim := b.recorded(t, in)
	out := b.invoke(t, claim, in)
	if out.Evidence.Result != nil || out.Evidence.ResultRef == nil || out.Evidence.MediaType == "" {
		t.Fatalf("the history has %+v", out.Evidence)
	}
	// As if the evidence had never reached the database.
	b.exec(t, `ALTER TABLE attempts DISABLE TRIGGER guard`)
	b.exec(t, `UPDATE attempts SET outcome = NULL, evidence_at = NULL, media_type = NULL, result_digest = NULL`)
	b.exec(t, `ALTER TABLE attempts ENABLE TRIGGER guard`)
	b.exec(t, `DELETE FROM blobs`)
	if p := b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence}); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	r := b.receipt(t, in)
	if *r.ResultDigest != out.Evidence.ResultRef.Digest || r.ResultSize != 100_000 || r.ResultKept == nil || *r.ResultKept != 0 {
		t.Errorf("receipt %+v", r)
	}
	if answer, kept, err := b.store.Result(t.Context(), in.IntentID); err != nil || len(kept) != 0 || *answer != (outbox.Answer{
		MediaType: out.Evidence.MediaType, Digest: out.Evidence.ResultRef.Digest, Size: 100_000,
	}) {
		t.Errorf("%+v, %d bytes, %v", answer, len(kept), err)
	}
}

func TestALargeAnswerThatCouldNotBeStoredIsSaidToBeLost(t *testing.T) {
	t.Parallel()
	var b bundle
	b, _ = hosting(t, keyed(), func() (tools.Result, error) {
		b.exec(t, `ALTER TABLE blobs RENAME TO away`)
		return tools.Result{Body: bytes.Repeat([]byte("x"), 100_000)}, nil
	})
	in := ask("payments.capture")
	out := b.invoke(t, b.recorded(t, in), in)
	b.exec(t, `ALTER TABLE away RENAME TO blobs`)
	if out.Evidence.Outcome != intent.Applied || out.Evidence.Code != activities.CodeResultLost {
		t.Fatalf("%+v", out.Evidence)
	}
	b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence})
	row := b.row(t, in)
	if r := b.receipt(t, in); row.State != intent.Completed || r.Attempts[0].Code != activities.CodeResultLost || *r.ResultKept != 0 || !strings.Contains(row.Attempts[0].Message, "100000 bytes") {
		t.Errorf("row %+v, receipt %+v", row, r)
	}
}

var quiet = slog.New(slog.DiscardHandler)
