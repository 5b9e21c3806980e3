package telemetry_test

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

// collected is what an OTLP collector received. It speaks both of OTLP's transports.
type collected struct {
	collector.UnimplementedTraceServiceServer

	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
	headers  http.Header
}

func (c *collected) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	return &collector.ExportTraceServiceResponse{}, nil
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not an OTLP trace request", http.StatusBadRequest)
		return
	}
	var export collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &export); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, _ := c.Export(r.Context(), &export)
	c.mu.Lock()
	c.headers = r.Header
	c.mu.Unlock()
	out, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

// overHTTP starts an OTLP/HTTP collector and returns its address.
func overHTTP(t *testing.T) (*collected, string) {
	t.Helper()
	c := &collected{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

// overGRPC starts an OTLP/gRPC collector and returns its address.
func overGRPC(t *testing.T) (*collected, string) {
	t.Helper()
	c := &collected{}
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

// spans returns the received spans by name.
func (c *collected) spans() map[string]*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := map[string]*otlp.Span{}
	for _, request := range c.requests {
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					spans[span.GetName()] = span
				}
			}
		}
	}
	return spans
}

// resource returns the attributes of whoever sent the spans.
func (c *collected) resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) == 0 {
		return nil
	}
	return texts(c.requests[0].GetResourceSpans()[0].GetResource().GetAttributes())
}

func (c *collected) header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.Get(name)
}

// bytes returns everything that was received, as it was encoded.
func (c *collected) bytes(t *testing.T) []byte {
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

func texts(attributes []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(attributes))
	for _, a := range attributes {
		m[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return m
}
