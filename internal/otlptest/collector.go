package otlptest

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metriccollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Collector is what an OTLP collector received. It is safe for concurrent use.
type Collector struct {
	collector.UnimplementedTraceServiceServer

	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
	metrics  []*metriccollector.ExportMetricsServiceRequest
	header   http.Header
}

// OverHTTP starts an OTLP/HTTP collector, which ends with the test, and returns the
// endpoint to configure.
func OverHTTP(t testing.TB) (c *Collector, endpoint string) {
	t.Helper()
	c = &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

// OverGRPC starts an OTLP/gRPC collector, which ends with the test, and returns the
// endpoint to configure.
func OverGRPC(t testing.TB) (c *Collector, endpoint string) {
	t.Helper()
	c = &Collector{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	metriccollector.RegisterMetricsServiceServer(server, meter{to: c})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return c, "http://" + listener.Addr().String()
}

// Export receives spans over gRPC.
func (c *Collector) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP receives spans and metrics over HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer proto.Message
	var err error
	switch r.URL.Path {
	case "/v1/traces":
		var export collector.ExportTraceServiceRequest
		if err = decode(r, &export); err == nil {
			answer, err = c.Export(r.Context(), &export)
		}
		c.mu.Lock()
		c.header = r.Header
		c.mu.Unlock()
	case "/v1/metrics":
		var export metriccollector.ExportMetricsServiceRequest
		if err = decode(r, &export); err == nil {
			answer, err = meter{to: c}.Export(r.Context(), &export)
		}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, "not an OTLP request", http.StatusBadRequest)
		return
	}
	out, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func decode(r *http.Request, export proto.Message) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(raw, export)
}

// Spans returns the received spans in the order in which they came.
func (c *Collector) Spans() []*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var spans []*otlp.Span
	for _, request := range c.requests {
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				spans = append(spans, scope.GetSpans()...)
			}
		}
	}
	return spans
}

// ByName returns the received spans by name; of several with one name, the last.
func (c *Collector) ByName() map[string]*otlp.Span {
	spans := map[string]*otlp.Span{}
	for _, span := range c.Spans() {
		spans[span.GetName()] = span
	}
	return spans
}

// Resource returns the attributes of whoever sent the first spans.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) == 0 {
		return nil
	}
	return Texts(c.requests[0].GetResourceSpans()[0].GetResource().GetAttributes())
}

// Header returns a header of the last HTTP request with spans.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header.Get(name)
}

// Bytes returns everything that was received, as it was encoded.
func (c *Collector) Bytes(t testing.TB) []byte {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []byte
	add := func(request proto.Message) {
		raw, err := proto.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
	}
	for _, request := range c.requests {
		add(request)
	}
	for _, request := range c.metrics {
		add(request)
	}
	return all
}

// Texts returns the attributes whose values are text.
func Texts(attributes []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(attributes))
	for _, a := range attributes {
		m[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return m
}
