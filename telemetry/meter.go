package telemetry

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// metricReaders makes one reader for each exporter that OTEL_METRICS_EXPORTER names. Each sends
// every OTEL_METRIC_EXPORT_INTERVAL, and once more at the end.
func metricReaders(ctx context.Context) ([]sdkmetric.Reader, error) {
	exporters, err := metricExporters(ctx)
	if err != nil {
		return nil, err
	}
	readers := make([]sdkmetric.Reader, 0, len(exporters))
	for _, e := range exporters {
		readers = append(readers, sdkmetric.NewPeriodicReader(unlessEmpty{e}))
	}
	return readers, nil
}

func meterProvider(res *resource.Resource, readers []sdkmetric.Reader) *sdkmetric.MeterProvider {
	options := []sdkmetric.Option{sdkmetric.WithResource(res)}
	for _, r := range readers {
		options = append(options, sdkmetric.WithReader(r))
	}
	return sdkmetric.NewMeterProvider(options...)
}

// unlessEmpty does not send what holds no metric: most commands count nothing and must not wait
// for a collector to hear so.
type unlessEmpty struct{ sdkmetric.Exporter }

// Export implements sdkmetric.Exporter.
func (e unlessEmpty) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if len(m.ScopeMetrics) == 0 {
		return nil
	}
	return e.Exporter.Export(ctx, m)
}
