package outbox_test

import (
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

func TestTheNewestPublishedBehaviourOfANameIsInForce(t *testing.T) {
	t.Parallel()
	b := start(t)
	publish := func(at time.Time, specs ...outbox.Spec) {
		t.Helper()
		b.setClock(t, at)
		if err := b.PublishSpecs(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
	}
	inForce := func(name string) outbox.Spec {
		t.Helper()
		spec, err := b.Spec(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	capture := outbox.Spec{Name: "payments.capture", Digest: intent.Digest{1}, JSON: []byte(`{"v":1}`), TaskQueue: "writ"}
	echo := outbox.Spec{Name: "echo", Digest: intent.Digest{2}, JSON: []byte(`{}`), TaskQueue: "writ"}
	publish(noon, capture, echo)
	changed := outbox.Spec{Name: "payments.capture", Digest: intent.Digest{3}, JSON: []byte(`{"v":2}`), TaskQueue: "canary"}
	publish(noon.Add(time.Second), changed)
	if got := inForce("payments.capture"); got.Digest != changed.Digest || got.TaskQueue != "canary" || string(got.JSON) != `{"v":2}` || !got.PublishedAt.Equal(noon.Add(time.Second)) {
		t.Errorf("in force: %+v", got)
	}
	publish(noon.Add(2*time.Second), capture) // rolled back
	if got := inForce("payments.capture"); got.Digest != capture.Digest {
		t.Errorf("after the roll-back: %+v", got)
	}
	if got, known, err := b.SpecOf(t.Context(), "payments.capture", changed.Digest); err != nil || !known || got.Digest != changed.Digest || string(got.JSON) != `{"v":2}` {
		t.Errorf("as it was: %+v, %t, %v", got, known, err)
	}
	if _, known, err := b.SpecOf(t.Context(), "echo", changed.Digest); err != nil || known {
		t.Errorf("as it never was: %t, %v", known, err)
	}
	specs, err := b.Specs(t.Context())
	if err != nil || len(specs) != 2 || specs[0].Name != "echo" || specs[1].Digest != capture.Digest {
		t.Errorf("listed %+v, %v", specs, err)
	}
	if _, err := b.Spec(t.Context(), "Payments.capture"); intent.CodeOf(err) != intent.CodeUnknownTool {
		t.Errorf("a look-alike: %v", err)
	}
}

func TestWorkersMayPublishTheSameToolsAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=8")
	specs := []outbox.Spec{
		{Name: "a", Digest: intent.Digest{1}, JSON: []byte(`{}`), TaskQueue: "writ"},
		{Name: "b", Digest: intent.Digest{2}, JSON: []byte(`{}`), TaskQueue: "writ"},
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := b.PublishSpecs(t.Context(), specs); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := query[int](t, b, `SELECT count(*) FROM tool_specs`); n != 2 {
		t.Errorf("%d rows", n)
	}
}
