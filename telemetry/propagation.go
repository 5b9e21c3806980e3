package telemetry

import (
	"context"
	"os"

	"go.opentelemetry.io/otel/propagation"
)

// w3c is the only format that Writ speaks: https://www.w3.org/TR/trace-context/. Baggage
// is left out on purpose: it holds the host's own data, and headers go to a third party.
var w3c = propagation.TraceContext{}

const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
)

// Traceparent returns the W3C traceparent header of the span in ctx, 55 ASCII bytes, or
// "" if there is none. It is what the outbox row keeps.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return carrier[traceparent]
}

// WithTraceparent returns a context whose spans continue the trace of a traceparent that
// a row or a message kept; it replaces the span of ctx. A header that is empty or broken
// leaves ctx as it is: a trace is never a reason to refuse work.
func WithTraceparent(ctx context.Context, header string) context.Context {
	return w3c.Extract(ctx, propagation.MapCarrier{traceparent: header})
}

// FromEnvironment returns a context that continues the trace of the process that started
// this one (a pipeline step, a scheduled job), from TRACEPARENT and TRACESTATE. Without
// them it returns ctx. See https://opentelemetry.io/docs/specs/otel/context/env-carriers/.
func FromEnvironment(ctx context.Context) context.Context {
	return w3c.Extract(ctx, propagation.MapCarrier{
		traceparent: os.Getenv("TRACEPARENT"),
		tracestate:  os.Getenv("TRACESTATE"),
	})
}
