package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"writ/intent"
)

// FlushTimeout bounds how long a shutdown waits for a collector. A command whose effect
// is done must not hang because nobody collects its spans.
const FlushTimeout = 5 * time.Second

// Setup installs the process-wide tracer, meter and W3C propagator as the standard
// environment variables say (see the package comment). The service is the name under
// which spans and metrics appear unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES give another.
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
	spans, err := spanExporters(ctx)
	if err != nil {
		return nil, err
	}
	readers, err := metricReaders(ctx)
	if err != nil {
		giveUp(ctx, spans)
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		slog.Warn("telemetry lost spans, metrics or settings; nothing else is affected", "error", err)
	}))
	tracers, meters := tracerProvider(res, spans), meterProvider(res, readers)
	install(tracers)
	otel.SetMeterProvider(meters)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, FlushTimeout)
		defer cancel()
		return together(ctx, tracers.Shutdown, meters.Shutdown)
	}, nil
}

// together calls all at once, so that one collector that does not answer takes no time from
// the others.
func together(ctx context.Context, calls ...func(context.Context) error) error {
	errs := make([]error, len(calls))
	var waiting sync.WaitGroup
	for i, call := range calls {
		waiting.Go(func() { errs[i] = call(ctx) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

func tracerProvider(res *resource.Resource, exporters []sdktrace.SpanExporter) *sdktrace.TracerProvider {
	// The sampler is the SDK's own reading of OTEL_TRACES_SAMPLER. Its default follows the
	// parent, and samples where there is none: a client without a collector then still marks
	// the row as sampled, and the worker that has one records it.
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	for _, e := range exporters {
		options = append(options, sdktrace.WithBatcher(e))
	}
	return sdktrace.NewTracerProvider(options...)
}

func install(provider trace.TracerProvider) {
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(w3c)
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
