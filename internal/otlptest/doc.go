// Package otlptest is an OpenTelemetry collector for tests: it keeps the spans that
// processes send to it, in either of OTLP's transports. A [Collector] is started with
// [OverHTTP] or [OverGRPC]. It must never be part of a program.
package otlptest
