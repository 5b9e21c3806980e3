package telemetry_test

import (
	"maps"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"writ/telemetry"
)

// It installs the process's meter provider, so it does not run in parallel.
func TestTheMetricsShowWhatWaitsNowAndNotWhatDidOnce(t *testing.T) {
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	for _, seen := range []struct {
		count, parked int
		longest       time.Duration
	}{{2, 1, 7 * time.Minute}, {0, 3, 1500 * time.Millisecond}, {}} {
		telemetry.RecordStuck(t.Context(), seen.count, seen.longest)
		telemetry.RecordBacklog(t.Context(), seen.count+5, seen.longest+time.Second, seen.parked)
		want := map[string]float64{
			"writ.intents.stuck in {intent}":    float64(seen.count),
			"writ.intents.overdue.longest in s": seen.longest.Seconds(),
			"writ.enqueued.due in {request}":    float64(seen.count + 5),
			"writ.enqueued.due.longest in s":    seen.longest.Seconds() + 1,
			"writ.enqueued.parked in {request}": float64(seen.parked),
		}
		if got := gauges(t, reader); !maps.Equal(got, want) {
			t.Errorf("%+v are seen as %v, want %v", seen, got, want)
		}
	}
}

// gauges returns the value of each gauge that has one, by name and unit.
func gauges(t *testing.T, reader metric.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if g, ok := m.Data.(metricdata.Gauge[float64]); ok && len(g.DataPoints) == 1 {
				got[m.Name+" in "+m.Unit] = g.DataPoints[0].Value
			}
		}
	}
	return got
}
