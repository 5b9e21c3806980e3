package telemetry

import (
	"context"
	"os"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"writ/intent"
)

// signal is what is exported, as the names of the environment variables call it.
type signal string

const (
	traces  signal = "TRACES"
	metrics signal = "METRICS"
)

// shutdowner is what an exporter of any signal is to whoever gives it up.
type shutdowner interface {
	Shutdown(context.Context) error
}

// transport makes the exporters of one signal. Nothing is sent yet: those for OTLP connect
// when there is something to send.
type transport[E shutdowner] struct {
	signal              signal
	console, http, grpc func(context.Context) (E, error)
}

// spanExporters makes what OTEL_TRACES_EXPORTER names.
func spanExporters(ctx context.Context) ([]sdktrace.SpanExporter, error) {
	return transport[sdktrace.SpanExporter]{
		signal: traces,
		// The specification says standard output, which is where a command's own answer goes.
		console: func(context.Context) (sdktrace.SpanExporter, error) {
			return stdouttrace.New(stdouttrace.WithWriter(os.Stderr))
		},
		http: func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracehttp.New(ctx) },
		grpc: func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracegrpc.New(ctx) },
	}.exporters(ctx)
}

// metricExporters makes what OTEL_METRICS_EXPORTER names.
func metricExporters(ctx context.Context) ([]sdkmetric.Exporter, error) {
	return transport[sdkmetric.Exporter]{
		signal: metrics,
		console: func(context.Context) (sdkmetric.Exporter, error) {
			return stdoutmetric.New(stdoutmetric.WithWriter(os.Stderr))
		},
		http: func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetrichttp.New(ctx) },
		grpc: func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetricgrpc.New(ctx) },
	}.exporters(ctx)
}

func (t transport[E]) exporters(ctx context.Context) ([]E, error) {
	names, err := t.signal.exporterNames()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, nil
	}
	if err := t.signal.checkNumbers(); err != nil {
		return nil, err
	}
	made := make([]E, 0, len(names))
	for _, name := range names {
		exporter, err := t.exporter(ctx, name)
		if err != nil {
			giveUp(ctx, made)
			return nil, err
		}
		made = append(made, exporter)
	}
	return made, nil
}

// giveUp shuts down exporters that have sent nothing, so that no failure of theirs is of interest.
func giveUp[E shutdowner](ctx context.Context, exporters []E) {
	for _, e := range exporters {
		_ = e.Shutdown(ctx)
	}
}

func (t transport[E]) exporter(ctx context.Context, name string) (none E, err error) {
	if name == "console" {
		return t.console(ctx)
	}
	if err := t.signal.checkOTLP(); err != nil {
		return none, err
	}
	switch variable, protocol := firstSet(t.signal.variable("PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "http/protobuf":
		return t.http(ctx)
	case "grpc":
		return t.grpc(ctx)
	default:
		return none, intent.Errorf(intent.CodeInvalidConfig, "%s is %q; use http/protobuf or grpc", variable, protocol)
	}
}

// variable names a setting of OTLP for this signal alone, which wins over that for all.
func (s signal) variable(setting string) string {
	return "OTEL_EXPORTER_OTLP_" + string(s) + "_" + setting
}

func (s signal) exporterNames() ([]string, error) {
	variable := "OTEL_" + string(s) + "_EXPORTER"
	listed := os.Getenv(variable)
	if listed == "" {
		if _, endpoint := firstSet(s.variable("ENDPOINT"), "OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint != "" {
			return []string{"otlp"}, nil
		}
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(listed, ",") {
		switch name = strings.TrimSpace(name); name {
		case "none":
		case "otlp", "console":
			names = append(names, name)
		default:
			return nil, intent.Errorf(intent.CodeInvalidConfig, "%s names %q; use otlp, console or none", variable, name)
		}
	}
	return names, nil
}

// firstSet is the first of the variables that is set, and its value; empty if none is.
func firstSet(variables ...string) (variable, value string) {
	for _, variable := range variables {
		if value := os.Getenv(variable); value != "" {
			return variable, value
		}
	}
	return "", ""
}
