package outbox_test

import (
	"bytes"
	"testing"

	"writ/intent"
	"writ/outbox"
)

func TestOnlyTheEnqueuedActionBecomesTheIntentOfItsKey(t *testing.T) {
	t.Parallel()
	b := start(t)
	large := bytes.Replace([]byte(`{"a":""}`), []byte(`""`), append(append([]byte(`"`), bytes.Repeat([]byte("x"), intent.MaxInline)...), '"'), 1)
	for name, change := range map[string]func(*outbox.Proposal){
		"principal":     func(p *outbox.Proposal) { p.Principal = "till-8" },
		"tool":          func(p *outbox.Proposal) { p.Tool = "payments.refund" },
		"payload":       func(p *outbox.Proposal) { p.Payload = []byte(`{}`) },
		"large payload": func(p *outbox.Proposal) { p.Payload = large },
	} {
		mine := propose(name, keyed())
		if err := b.enqueue(t, requested(mine), true); err != nil {
			t.Fatal(err)
		}
		other := mine
		change(&other)
		for what, insert := range map[string]func() (outbox.Row, error){
			"insert": func() (outbox.Row, error) { return b.Insert(t.Context(), other) },
			"refuse": func() (outbox.Row, error) {
				return b.InsertEnded(t.Context(), other, outbox.End{To: intent.Refused}, seal)
			},
		} {
			if _, err := insert(); intent.CodeOf(err) != intent.CodeIdempotencyConflict {
				t.Errorf("%s of another %s: %v", what, name, err)
			}
		}
		if n := query[int](t, b, `SELECT count(*)::int FROM intents WHERE request_key = $1`, name); n != 0 {
			t.Errorf("another %s has %d rows", name, n)
		}
		if row := b.insert(t, mine); row.State != intent.Recorded {
			t.Errorf("the enqueued %s is %s", name, row.State)
		}
	}
	if n := query[int](t, b, `SELECT count(*)::int FROM blobs`); n != 0 {
		t.Errorf("%d payloads of refused actions stay", n)
	}
}

func TestAnEnqueuedRequestThatWasChangedByHandIsAConflictAndNoOutage(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, change := range map[string]string{"principal": `principal = 'boss'`, "tool": `tool = 'payments.refund'`, "payload": `payload = payload || ' '`} {
		mine := propose(name, keyed())
		if err := b.enqueue(t, requested(mine), true); err != nil {
			t.Fatal(err)
		}
		b.exec(t, `UPDATE enqueued SET `+change+` WHERE request_key = $1`, name)
		if _, err := b.Insert(t.Context(), mine); intent.CodeOf(err) != intent.CodeIdempotencyConflict {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if n := query[int](t, b, `SELECT count(*)::int FROM intents`); n != 0 {
		t.Errorf("%d intents were written", n)
	}
}

func TestTheSpecOfAReservedKeyIsOnlyForItsOwnAction(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := requested(propose("order-7", keyed()))
	ask := func(a intent.Action) (outbox.Spec, error) {
		return b.SpecFor(t.Context(), mine.RequestKey, a, mine.EffectContext)
	}
	if _, err := ask(mine.Action); intent.CodeOf(err) != intent.CodeUnknownTool {
		t.Errorf("before a worker published the tool: %v", err)
	}
	published := outbox.Spec{Name: mine.Action.Tool, Digest: behaviour, JSON: []byte(`{}`), TaskQueue: "q-1"}
	if err := b.PublishSpecs(t.Context(), []outbox.Spec{published}); err != nil {
		t.Fatal(err)
	}
	other := mine.Action
	other.Payload = []byte(`{}`)
	for _, a := range []intent.Action{mine.Action, other} {
		if spec, err := ask(a); err != nil || spec.TaskQueue != "q-1" || spec.Digest != behaviour || string(spec.JSON) != "{}" || spec.PublishedAt.IsZero() {
			t.Errorf("of a free key: %+v, %v", spec, err)
		}
	}
	if err := b.enqueue(t, mine, true); err != nil {
		t.Fatal(err)
	}
	if spec, err := ask(mine.Action); err != nil || spec.TaskQueue != "q-1" {
		t.Errorf("of its own key: %+v, %v", spec, err)
	}
	if _, err := ask(other); intent.CodeOf(err) != intent.CodeIdempotencyConflict {
		t.Errorf("of another's key: %v", err)
	}
}
