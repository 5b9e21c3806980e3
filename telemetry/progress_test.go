package telemetry_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"writ/telemetry"
)

// It installs the process's meter provider, so it does not run in parallel.
func TestTheMetricsShowWhatMakesNoProgressNowAndNotWhatDidOnce(t *testing.T) {
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	for _, seen := range []struct {
		count   int
		longest time.Duration
	}{{2, 7 * time.Minute}, {0, 1500 * time.Millisecond}, {0, 0}} {
		telemetry.RecordStuck(t.Context(), seen.count, seen.longest)
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
		if got["writ.intents.stuck in {intent}"] != float64(seen.count) || got["writ.intents.overdue.longest in s"] != seen.longest.Seconds() || len(got) != 2 {
			t.Errorf("%+v are seen as %v", seen, got)
		}
	}
}
