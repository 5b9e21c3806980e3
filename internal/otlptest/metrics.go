package otlptest

import (
	"context"
	"maps"

	metriccollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// meter is the part of a collector that takes metrics: both services have a method Export.
type meter struct {
	metriccollector.UnimplementedMetricsServiceServer
	to *Collector
}

// Export receives metrics over gRPC.
func (m meter) Export(_ context.Context, r *metriccollector.ExportMetricsServiceRequest) (*metriccollector.ExportMetricsServiceResponse, error) {
	m.to.mu.Lock()
	defer m.to.mu.Unlock()
	m.to.metrics = append(m.to.metrics, r)
	return &metriccollector.ExportMetricsServiceResponse{}, nil
}

// Point is one value of a metric.
type Point struct {
	Attributes map[string]string
	Value      int64
}

// Metrics returns the whole-numbered values that were received last, by metric.
func (c *Collector) Metrics() map[string][]Point {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := map[string][]Point{}
	for _, request := range c.metrics {
		for _, resource := range request.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				maps.Copy(last, points(scope.GetMetrics()))
			}
		}
	}
	return last
}

func points(list []*otlp.Metric) map[string][]Point {
	found := map[string][]Point{}
	for _, m := range list {
		data := m.GetSum().GetDataPoints()
		data = append(data, m.GetGauge().GetDataPoints()...)
		for _, d := range data {
			found[m.GetName()] = append(found[m.GetName()], Point{Attributes: Texts(d.GetAttributes()), Value: d.GetAsInt()})
		}
	}
	return found
}
