// Package telemetry is Writ's traces and metrics: one trace from the command that asked for an
// effect, through the row and the workflow, to the request that the provider received; and
// counts of what a person has to look at.
//
//   - [Setup] installs the process-wide tracer and meter from the standard OTEL_* variables.
//   - [Start] and [End] bracket one piece of work with a span.
//   - [Traceparent] and [WithTraceparent] carry the trace across the outbox row,
//     [FromEnvironment] from whatever started the process. Package effecthttp carries it
//     to the provider.
//
// # Environment
//
//	variable                                   meaning here
//	OTEL_SDK_DISABLED                          true: no spans, no metrics; an incoming trace is still passed on
//	OTEL_{TRACES,METRICS}_EXPORTER             otlp, console (standard error) or none, or several with commas
//	OTEL_EXPORTER_OTLP_[…_]ENDPOINT            set, and no exporter named: otlp; … is TRACES or METRICS
//	OTEL_EXPORTER_OTLP_[…_]PROTOCOL            http/protobuf (default) or grpc
//	OTEL_EXPORTER_OTLP_[…_]HEADERS             name=value,name=value, with each value percent-encoded
//	OTEL_EXPORTER_OTLP_...                     as the OpenTelemetry specification says
//	OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
//	OTEL_TRACES_SAMPLER[_ARG], OTEL_BSP_*, OTEL_METRIC_EXPORT_INTERVAL (ms, 60000)
//	                                           numbers are whole: 1 ms to a day, 1 to 1,000,000 spans
//	TRACEPARENT, TRACESTATE                    the trace of the job that started this process
//
// With neither an exporter nor an endpoint nothing leaves the process, but spans have
// real ids, so that a row written today can be joined to a trace collected elsewhere.
//
// # What it must never do
//
// Spans and metrics carry names, states, numbers and codes (see the attribute keys). They never carry
// a payload, a request key, an idempotency key, a result, or the text of an error, which
// may quote any of them. Telemetry decides nothing: no effect waits for a collector, and
// an exporter that fails costs its spans or metrics and nothing else.
package telemetry
