package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"writ/intent"
	"writ/internal/otlptest"
	"writ/telemetry"
)

// setUp runs Setup in an environment of exactly the given OTEL_* variables and returns
// the function that flushes. The tests share the process-wide tracer, so they do not run
// in parallel.
func setUp(t *testing.T, variables map[string]string) (flush func()) {
	t.Helper()
	environment(t, variables)
	shutdown, err := telemetry.Setup(t.Context(), "writ-test")
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	}
}

func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "TRACE") {
			t.Setenv(name, "") // restores it when the test ends
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

var w3cHeader = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)

func TestOneTraceRunsFromTheCommandOverTheRowToTheWire(t *testing.T) {
	for transport, start := range map[string]func(testing.TB) (*otlptest.Collector, string){
		"http/protobuf": otlptest.OverHTTP,
		"grpc":          otlptest.OverGRPC,
	} {
		t.Run(transport, func(t *testing.T) {
			received, endpoint := start(t)
			flush := setUp(t, map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
				"OTEL_EXPORTER_OTLP_PROTOCOL": transport,
				"OTEL_RESOURCE_ATTRIBUTES":    "deployment.environment.name=staging",
			})

			submitCtx, submit := telemetry.Start(t.Context(), "submit",
				telemetry.Tool.String("payments.capture"), telemetry.Attempt.Int(1))
			row := telemetry.Traceparent(submitCtx)
			telemetry.End(submit, nil)

			// Another process would read the row.
			invokeCtx, invoke := telemetry.Start(telemetry.WithTraceparent(context.Background(), row), "invoke")
			wire := http.Header{}
			propagation.TraceContext{}.Inject(invokeCtx, propagation.HeaderCarrier(wire))
			telemetry.End(invoke, nil)
			flush()

			spans := received.ByName()
			if len(spans) != 2 {
				t.Fatalf("the collector received %d spans, want submit and invoke", len(spans))
			}
			if !bytes.Equal(spans["submit"].GetTraceId(), spans["invoke"].GetTraceId()) {
				t.Error("submit and invoke are in different traces")
			}
			if !bytes.Equal(spans["invoke"].GetParentSpanId(), spans["submit"].GetSpanId()) {
				t.Error("invoke is not a child of submit")
			}
			want := fmt.Sprintf("00-%x-%x-01", spans["invoke"].GetTraceId(), spans["invoke"].GetSpanId())
			if got := wire.Get("Traceparent"); got != want {
				t.Errorf("the provider receives traceparent %q, want the invoke span %q", got, want)
			}
			if got := otlptest.Texts(spans["submit"].GetAttributes())["writ.tool"]; got != "payments.capture" {
				t.Errorf("writ.tool is %q", got)
			}
			if got := received.Resource(); got["service.name"] != "writ-test" || got["deployment.environment.name"] != "staging" {
				t.Errorf("the resource is %v, want service writ-test in staging", got)
			}
		})
	}
}

func TestTheEnvironmentNamesTheServiceAndTheHeaders(t *testing.T) {
	received, endpoint := otlptest.OverHTTP(t)
	flush := setUp(t, map[string]string{
		"OTEL_TRACES_EXPORTER":               "otlp",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + "/v1/traces",
		"OTEL_EXPORTER_OTLP_HEADERS":         "x-team=payments",
		"OTEL_SERVICE_NAME":                  "checkout",
	})
	_, span := telemetry.Start(t.Context(), "submit")
	telemetry.End(span, nil)
	flush()
	if got := received.Resource()["service.name"]; got != "checkout" {
		t.Errorf("service.name is %q, want checkout", got)
	}
	if got := received.Header("X-Team"); got != "payments" {
		t.Errorf("header X-Team is %q, want payments", got)
	}
}

func TestAFailedSpanSaysCodeAndEffectButNotTheText(t *testing.T) {
	const secret = "4242424242424242"
	inDoubt := &intent.Error{Code: intent.CodeInDoubt, Message: "card " + secret, Effect: intent.Unknown}
	for _, c := range []struct {
		name, kind, outcome string
		err                 error
	}{
		{"a code", "in_doubt", "unknown", fmt.Errorf("invoke: %w", inDoubt)},
		{"a bare error", "*errors.errorString", "", fmt.Errorf("invoke: %w", errors.New("card "+secret))},
	} {
		t.Run(c.name, func(t *testing.T) {
			received, endpoint := otlptest.OverHTTP(t)
			flush := setUp(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
			_, span := telemetry.Start(t.Context(), "invoke")
			telemetry.End(span, c.err)
			flush()

			got := received.ByName()["invoke"]
			if got.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || got.GetStatus().GetMessage() != c.kind {
				t.Errorf("status is %v, want an error of kind %s", got.GetStatus(), c.kind)
			}
			attributes := otlptest.Texts(got.GetAttributes())
			if attributes["error.type"] != c.kind || attributes["writ.outcome"] != c.outcome {
				t.Errorf("attributes are %v, want error.type %s and writ.outcome %q", attributes, c.kind, c.outcome)
			}
			if bytes.Contains(received.Bytes(t), []byte(secret)) {
				t.Error("the error's text reached the collector")
			}
		})
	}
}

func TestWithoutAnExporterSpansHaveRealIDs(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"nothing set": {},
		"none":        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			flush := setUp(t, variables)
			ctx, span := telemetry.Start(t.Context(), "submit")
			if got := telemetry.Traceparent(ctx); !w3cHeader.MatchString(got) {
				t.Errorf("traceparent is %q, want a sampled W3C header", got)
			}
			telemetry.End(span, nil)
			flush()
		})
	}
}

func TestTheSamplerOfTheEnvironmentIsObeyed(t *testing.T) {
	received, endpoint := otlptest.OverHTTP(t)
	flush := setUp(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_SAMPLER": "always_off"})
	ctx, span := telemetry.Start(t.Context(), "submit")
	if got := telemetry.Traceparent(ctx); !strings.HasSuffix(got, "-00") {
		t.Errorf("traceparent is %q, want one that says not sampled", got)
	}
	telemetry.End(span, nil)
	flush()
	if n := len(received.ByName()); n != 0 {
		t.Errorf("the collector received %d spans, want none", n)
	}
}

const incoming = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestADisabledSDKPassesAnIncomingTraceOn(t *testing.T) {
	received, endpoint := otlptest.OverHTTP(t)
	flush := setUp(t, map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
	ctx, span := telemetry.Start(telemetry.WithTraceparent(t.Context(), incoming), "invoke")
	if got := telemetry.Traceparent(ctx); got != incoming {
		t.Errorf("traceparent is %q, want the incoming %q", got, incoming)
	}
	telemetry.End(span, nil)
	bare, span := telemetry.Start(t.Context(), "submit")
	if got := telemetry.Traceparent(bare); got != "" {
		t.Errorf("traceparent without a trace is %q, want none", got)
	}
	telemetry.End(span, nil)
	flush()
	if n := len(received.ByName()); n != 0 {
		t.Errorf("the collector received %d spans, want none", n)
	}
}

func TestTheTraceOfTheStartingProcessContinues(t *testing.T) {
	setUp(t, map[string]string{"TRACEPARENT": incoming, "TRACESTATE": "vendor=1"})
	ctx, span := telemetry.Start(telemetry.FromEnvironment(t.Context()), "execute")
	defer telemetry.End(span, nil)
	wire := http.Header{}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(wire))
	if got := wire.Get("Traceparent"); !strings.HasPrefix(got, incoming[:36]) || got == incoming {
		t.Errorf("traceparent is %q, want a new span of trace %s", got, incoming[3:35])
	}
	if got := wire.Get("Tracestate"); got != "vendor=1" {
		t.Errorf("tracestate is %q, want vendor=1", got)
	}
}

func TestABrokenTraceparentIsIgnored(t *testing.T) {
	setUp(t, nil)
	ctx, span := telemetry.Start(t.Context(), "outer")
	defer telemetry.End(span, nil)
	for _, header := range []string{"", "garbage", incoming[:54], "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"} {
		if got := telemetry.WithTraceparent(ctx, header); telemetry.Traceparent(got) != telemetry.Traceparent(ctx) {
			t.Errorf("%q changed the context", header)
		}
	}
	if got := telemetry.FromEnvironment(ctx); telemetry.Traceparent(got) != telemetry.Traceparent(ctx) {
		t.Error("an environment without TRACEPARENT changed the context")
	}
}

func TestBaggageDoesNotReachTheProvider(t *testing.T) {
	setUp(t, nil)
	member, err := baggage.NewMember("customer", "0815")
	if err != nil {
		t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := telemetry.Start(baggage.ContextWithBaggage(t.Context(), bag), "invoke")
	defer telemetry.End(span, nil)
	wire := http.Header{}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(wire))
	otel.GetTextMapPropagator().Inject(ctx, headerCarrier(wire))
	if len(wire) != 1 {
		t.Errorf("the provider receives %v, want traceparent alone", wire)
	}
}

type headerCarrier http.Header

func (c headerCarrier) Get(key string) string { return http.Header(c).Get(key) }
func (c headerCarrier) Set(key, value string) { http.Header(c).Set(key, value) }
func (c headerCarrier) Keys() []string        { return nil }

func TestAValueThatCannotBeFollowedIsRefusedAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		variables map[string]string
		faulty    string
	}{
		"an unknown exporter": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp,zipkin"}, "OTEL_TRACES_EXPORTER"},
		"an unknown protocol": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		"an unknown protocol of metrics alone": {map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json",
		}, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"},
		"a buffer of a negative size": {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, "OTEL_BSP_MAX_QUEUE_SIZE"},
		"a buffer larger than memory": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "9223372036854775807"}, "OTEL_BSP_MAX_QUEUE_SIZE"},
		"batches of a negative size":  {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "-1"}, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"},
		"no interval":                 {map[string]string{"OTEL_METRICS_EXPORTER": "console", "OTEL_METRIC_EXPORT_INTERVAL": "0"}, "OTEL_METRIC_EXPORT_INTERVAL"},
		"an interval with a unit":     {map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "60s"}, "OTEL_METRIC_EXPORT_INTERVAL"},
		"a timeout of traces alone":   {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "soon"}, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"},
		"broken attributes":           {map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "no equals sign"}, "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.variables)
			tracers, meters := otel.GetTracerProvider(), otel.GetMeterProvider()
			_, err := telemetry.Setup(t.Context(), "writ-test")
			var e *intent.Error
			if !errors.As(err, &e) || e.Code != intent.CodeInvalidConfig || !strings.HasPrefix(e.Message, c.faulty+" ") {
				t.Fatalf("Setup returned %v, want code %s and %s", err, intent.CodeInvalidConfig, c.faulty)
			}
			if otel.GetTracerProvider() != tracers || otel.GetMeterProvider() != meters {
				t.Error("the refused Setup installed a tracer or a meter")
			}
		})
	}
}

func TestAnAddressOrHeaderThatCannotBeReadIsRefusedAndNotRepeated(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		for _, c := range []struct{ name, value string }{
			{"HEADERS", "Bearer s3cret"},
			{"HEADERS", "authorization=ok,Bearer s3cret"},
			{"HEADERS", "Bearer s3cret=x"},
			{"HEADERS", "authorization=s3cret%zz"},
			{"TRACES_HEADERS", "=s3cret"},
			{"ENDPOINT", "http://u:s3cret@127.0.0.1:x"},
			{"ENDPOINT", "http:/u:s3cret@127.0.0.1"},
			{"TRACES_ENDPOINT", "http://u:s3cret%zz@127.0.0.1"},
			{"METRICS_HEADERS", "=s3cret"},
			{"METRICS_ENDPOINT", "http://u:s3cret%zz@127.0.0.1"},
		} {
			t.Run(protocol+" "+c.name+" "+c.value, func(t *testing.T) {
				variable := "OTEL_EXPORTER_OTLP_" + c.name
				environment(t, map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, variable: c.value})
				var err error
				printed := printedBy(t, func() { _, err = telemetry.Setup(t.Context(), "writ-test") })
				if intent.CodeOf(err) != intent.CodeInvalidConfig || !strings.Contains(err.Error(), variable+" ") || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("Setup returned %v, want code %s and the variable's name alone", err, intent.CodeInvalidConfig)
				}
				if printed != "" {
					t.Errorf("Setup printed %q", printed)
				}
			})
		}
	}
}

// printedBy returns what OpenTelemetry's own logger says while run runs.
func printedBy(t *testing.T, run func()) string {
	t.Helper()
	var printed strings.Builder
	otel.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(&printed, nil)))
	defer otel.SetLogger(logr.Discard())
	run()
	return printed.String()
}

func TestACollectorThatNeverAnswersDoesNotHoldTheShutdown(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	environment(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": silent.URL})
	shutdown, err := telemetry.Setup(t.Context(), "writ-test")
	if err != nil {
		t.Fatal(err)
	}
	_, span := telemetry.Start(t.Context(), "submit")
	telemetry.End(span, nil)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown returned %v, want that the deadline passed", err)
	}
}

func TestAConsoleExporterWritesToStandardError(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	original := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = original }()
	flush := setUp(t, map[string]string{"OTEL_TRACES_EXPORTER": "console"})
	ctx, span := telemetry.Start(t.Context(), "submit")
	id := trace.SpanContextFromContext(ctx).TraceID()
	telemetry.End(span, nil)
	flush()
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(written, []byte(hex.EncodeToString(id[:]))) {
		t.Errorf("standard error holds %q, want the span", written)
	}
}
