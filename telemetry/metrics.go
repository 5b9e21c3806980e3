package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// alerts counts what a person has to look at, by kind. It goes to the process's own meter
// provider; without one it goes nowhere.
var alerts = counter("writ.alerts", "intents whose evidence says something that a person has to look at")

func counter(name, what string) metric.Int64Counter {
	c, err := otel.Meter("writ").Int64Counter(name, metric.WithDescription(what))
	if err != nil {
		otel.Handle(err) // the counter is usable all the same
	}
	return c
}

// breakers counts what circuit breakers do, by provider and change.
var breakers = counter("writ.breaker.changes", "holds that a circuit breaker has set on a provider, and lifted")

// CountBreaker counts that the provider's circuit breaker has opened, which holds what would be
// sent to it, or has closed again.
func CountBreaker(provider string, opened bool) {
	change := "closed"
	if opened {
		change = "opened"
	}
	breakers.Add(context.Background(), 1,
		metric.WithAttributes(attribute.String("writ.provider", provider), attribute.String("writ.change", change)))
}

// CountAlert counts one alert of the kind, one of intent's Reason constants.
func CountAlert(kind string) {
	alerts.Add(context.Background(), 1, metric.WithAttributes(attribute.String("writ.alert", kind)))
}
