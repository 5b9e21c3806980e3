package integration

import (
	"encoding/hex"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"writ/internal/otlptest"
)

func TestOneTraceLeadsFromTheCommandToTheProvidersRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	collector, endpoint := otlptest.OverHTTP(t)
	exporting := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint}
	worker := w.startWorker(t, exporting...)
	caller := start(t, "writ execute", program("writ"), append(w.environment(), exporting...),
		"execute", capture.tool, "--payload", capture.payload, "--key", requestKey, "--tenant", w.name, "-o", "json")
	got := caller.outcome(t)
	got.completed(t)
	worker.stop(t) // sends the spans that it still has

	trace := &spans{byID: map[string]*otlp.Span{}}
	for _, span := range collector.Spans() {
		trace.byID[hex.EncodeToString(span.SpanId)] = span
	}
	root := trace.named(t, "writ.submit")
	for _, name := range []string{"writ.authorize", "writ.persist", "writ.invoke", "writ.attempt", "writ.journal"} {
		if span := trace.named(t, name); hex.EncodeToString(span.TraceId) != hex.EncodeToString(root.TraceId) {
			t.Errorf("%s is in another trace than the command", name)
		} else if !trace.below(span, root) {
			t.Errorf("%s does not lead back to the command", name)
		}
	}
	for what, header := range map[string]string{
		"row":               got.Intent.Traceparent,
		"provider's ledger": w.provider.effects(t, 1)[0].Traceparent,
	} {
		traceID, spanID := header[3:35], header[36:52]
		if traceID != hex.EncodeToString(root.TraceId) {
			t.Errorf("the %s has traceparent %s, the command's trace is %x", what, header, root.TraceId)
		}
		if trace.byID[spanID] == nil {
			t.Errorf("the %s has traceparent %s, whose span nobody sent", what, header)
		}
	}
	if sent := trace.byID[w.provider.effects(t, 1)[0].Traceparent[36:52]]; sent != nil && !trace.below(sent, trace.named(t, "writ.attempt")) {
		t.Errorf("the provider's request belongs to %s, want the attempt", sent.Name)
	}
}

// spans are those that the collector received.
type spans struct{ byID map[string]*otlp.Span }

// named returns the only span of that name.
func (s *spans) named(t testing.TB, name string) *otlp.Span {
	t.Helper()
	var found []*otlp.Span
	for _, span := range s.byID {
		if span.Name == name {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are named %s, want one; there are %v", len(found), name, s.byID)
	}
	return found[0]
}

// below reports whether span is ancestor or leads back to it.
func (s *spans) below(span, ancestor *otlp.Span) bool {
	for range s.byID {
		if span == ancestor {
			return true
		}
		if span = s.byID[hex.EncodeToString(span.GetParentSpanId())]; span == nil {
			return false
		}
	}
	return false
}
