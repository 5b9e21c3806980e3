package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"writ/intent"
)

// FlushTimeout bounds how long a shutdown waits for a collector. A command whose effect
// is done must not hang because nobody collects its spans.
const FlushTimeout = 5 * time.Second

// Setup installs the process-wide tracer and the W3C propagator as the standard
// environment variables say (see the package comment). The service is the name under
// which spans appear unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES give another.
//
// The returned shutdown sends what is still buffered and waits for it for FlushTimeout at
// most; call it once, after the last span has ended. Setup fails only for a value that it
// cannot follow, with an *intent.Error of code invalid_configuration, and has then
// changed nothing. A collector that is away is not an error.
func Setup(ctx context.Context, service string) (shutdown func(context.Context) error, err error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		install(noop.NewTracerProvider())
		return func(context.Context) error { return nil }, nil
	}
	res, err := describe(ctx, service)
	if err != nil {
		return nil, err
	}
	targets, err := exporters(ctx)
	if err != nil {
		return nil, err
	}
	// The sampler is the SDK's own reading of OTEL_TRACES_SAMPLER. Its default follows the
	// parent, and samples where there is none: a client without a collector then still marks
	// the row as sampled, and the worker that has one records it.
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	for _, e := range targets {
		options = append(options, sdktrace.WithBatcher(e))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		slog.Warn("telemetry lost spans or settings; nothing else is affected", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(options...)
	install(provider)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, FlushTimeout)
		defer cancel()
		return provider.Shutdown(ctx)
	}, nil
}

func install(provider trace.TracerProvider) {
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(w3c)
}

// exporters makes what OTEL_TRACES_EXPORTER names. Nothing is sent yet: both OTLP
// exporters connect when there is something to send.
func exporters(ctx context.Context) ([]sdktrace.SpanExporter, error) {
	names, err := exporterNames()
	if err != nil {
		return nil, err
	}
	made := make([]sdktrace.SpanExporter, 0, len(names))
	for _, name := range names {
		exporter, err := newExporter(ctx, name)
		if err != nil {
			for _, e := range made {
				err = errors.Join(err, e.Shutdown(ctx))
			}
			return nil, err
		}
		made = append(made, exporter)
	}
	return made, nil
}

func exporterNames() ([]string, error) {
	listed := os.Getenv("OTEL_TRACES_EXPORTER")
	if listed == "" {
		if firstSet("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
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
			return nil, intent.Errorf(intent.CodeInvalidConfig,
				"OTEL_TRACES_EXPORTER names %q; use otlp, console or none", name)
		}
	}
	return names, nil
}

func newExporter(ctx context.Context, name string) (sdktrace.SpanExporter, error) {
	if name == "console" {
		// The specification says standard output, which is where a command's own answer goes.
		return stdouttrace.New(stdouttrace.WithWriter(os.Stderr))
	}
	if err := checkOTLP(); err != nil {
		return nil, err
	}
	switch protocol := firstSet("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, intent.Errorf(intent.CodeInvalidConfig,
			"OTEL_EXPORTER_OTLP_PROTOCOL is %q; use http/protobuf or grpc", protocol)
	}
}

// describe says who produced the spans: the service, then whatever the environment adds
// or overrides.
func describe(ctx context.Context, service string) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", service), attribute.Int("process.pid", os.Getpid())),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, intent.Errorf(intent.CodeInvalidConfig,
			"OTEL_RESOURCE_ATTRIBUTES cannot be read; write key=value,key=value: %w", err)
	}
	return res, nil
}

func firstSet(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}
