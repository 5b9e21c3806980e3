package telemetry_test

import (
	"testing"
	"time"

	"writ/internal/otlptest"
	"writ/telemetry"
)

func TestWhatIsCountedReachesTheCollector(t *testing.T) {
	for transport, start := range map[string]func(testing.TB) (*otlptest.Collector, string){
		"http/protobuf": otlptest.OverHTTP,
		"grpc":          otlptest.OverGRPC,
	} {
		t.Run(transport, func(t *testing.T) {
			received, endpoint := start(t)
			flush := setUp(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": transport})
			telemetry.CountAlert("contradiction")
			telemetry.CountAlert("contradiction")
			telemetry.CountBreaker("bank", true)
			flush()
			alerts := received.Metrics()["writ.alerts"]
			if len(alerts) != 1 || alerts[0].Value != 2 || alerts[0].Attributes["writ.alert"] != "contradiction" {
				t.Errorf("the collector has %v, want two alerts of one kind", alerts)
			}
			breakers := received.Metrics()["writ.breaker.changes"]
			if len(breakers) != 1 || breakers[0].Attributes["writ.change"] != "opened" {
				t.Errorf("the collector has %v, want one breaker that opened", breakers)
			}
		})
	}
}

func TestMetricsAreSentAtTheIntervalOfTheEnvironment(t *testing.T) {
	received, endpoint := otlptest.OverHTTP(t)
	defer setUp(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRIC_EXPORT_INTERVAL": "20"})()
	telemetry.CountAlert("contradiction")
	for deadline := time.Now().Add(10 * time.Second); len(received.Metrics()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing came before the end")
		}
	}
}

func TestWhoCountedNothingSendsNoMetrics(t *testing.T) {
	received, endpoint := otlptest.OverHTTP(t)
	setUp(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})()
	if got := received.Bytes(t); len(got) > 0 {
		t.Errorf("the collector got %q", got)
	}
}

func TestTheExportersOfMetricsAreThoseOfTheEnvironment(t *testing.T) {
	received, endpoint := otlptest.OverHTTP(t)
	flush := setUp(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRICS_EXPORTER": "none"})
	telemetry.CountAlert("contradiction")
	_, span := telemetry.Start(t.Context(), "submit")
	telemetry.End(span, nil)
	flush()
	if names := received.Metrics(); len(names) > 0 || len(received.Spans()) != 1 {
		t.Errorf("the collector got metrics %v and %d spans, want one span alone", names, len(received.Spans()))
	}
}
