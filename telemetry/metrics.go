package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// count adds one to a counter of the process's meter provider; without one it goes nowhere. The
// counter is asked for each time, because a provider may be set after the first count.
func count(name, what string, attributes ...attribute.KeyValue) {
	c, err := otel.Meter("writ").Int64Counter(name, metric.WithDescription(what))
	if err != nil {
		otel.Handle(err) // the counter is usable all the same
	}
	c.Add(context.Background(), 1, metric.WithAttributes(attributes...))
}

// CountBreaker counts that the provider's circuit breaker has opened, which holds what would be
// sent to it, or has closed again.
func CountBreaker(provider string, opened bool) {
	change := "closed"
	if opened {
		change = "opened"
	}
	count("writ.breaker.changes", "holds that a circuit breaker has set on a provider, and lifted",
		attribute.String("writ.provider", provider), attribute.String("writ.change", change))
}

// CountAlert counts one alert of the kind, one of intent's Reason constants.
func CountAlert(kind string) {
	count("writ.alerts", "intents whose evidence says something that a person has to look at", attribute.String("writ.alert", kind))
}
