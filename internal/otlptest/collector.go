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

// ServeHTTP receives spans over HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	export, err := decode(r)
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not an OTLP trace request", http.StatusBadRequest)
		return
	}
	answer, _ := c.Export(r.Context(), export)
	c.mu.Lock()
	c.header = r.Header
	c.mu.Unlock()
	out, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func decode(r *http.Request) (*collector.ExportTraceServiceRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var export collector.ExportTraceServiceRequest
	return &export, proto.Unmarshal(raw, &export)
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

// Header returns a header of the last HTTP request.
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
	for _, request := range c.requests {
		raw, err := proto.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
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
