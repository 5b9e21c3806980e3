package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"writ/intent"
)

// Scope is the name of Writ's tracer.
const Scope = "writ"

// The attributes of Writ's spans. There is none for a payload, a key or a result.
const (
	IntentID = attribute.Key("writ.intent_id")
	Tool     = attribute.Key("writ.tool")
	Tenant   = attribute.Key("writ.tenant")
	State    = attribute.Key("writ.state")
	Attempt  = attribute.Key("writ.attempt") // int, counted from 1
	Outcome  = attribute.Key("writ.outcome") // applied, not_applied or unknown
	Step     = attribute.Key("writ.step")    // what the next-step rule answered

	// ErrorType is OpenTelemetry's own attribute for the kind of an error.
	ErrorType = attribute.Key("error.type")
)

// Start begins a span of Writ's tracer as a child of the one in ctx, if any. The caller
// must [End] it.
func Start(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	return otel.Tracer(Scope).Start(ctx, name, trace.WithAttributes(attrs...))
}

// End ends a span. An err marks it as failed, with the error's kind (an [intent.Error]'s
// code, else its Go type) and, where the error says so, what is known of the effect. The
// error's text stays out: it may quote a provider's answer or a payload.
func End(span trace.Span, err error) {
	defer span.End()
	if err == nil {
		return
	}
	kind := kindOf(err)
	span.SetAttributes(ErrorType.String(kind))
	span.SetStatus(codes.Error, kind)
	var e *intent.Error
	if errors.As(err, &e) {
		span.SetAttributes(Outcome.String(string(e.Effect)))
	}
}

// kindOf names err with few possible values: a code, or the type of the innermost error,
// since the wrappers around it are all alike.
func kindOf(err error) string {
	if code := intent.CodeOf(err); code != "" {
		return string(code)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
