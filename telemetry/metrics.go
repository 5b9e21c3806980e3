package telemetry

import (
	"context"
	"time"

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

// What makes no progress, as one process sees it. All that look see the same, so their values are
// not to be added up.
var (
	stuck   = gauge("writ.intents.stuck", "{intent}", "intents that have made no progress for five minutes or longer past their due time")
	overdue = gauge("writ.intents.overdue.longest", "s", "for how long the intent that is overdue longest has made no progress")
)

func gauge(name, unit, what string) metric.Float64Gauge {
	g, err := otel.Meter("writ").Float64Gauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	if err != nil {
		otel.Handle(err) // the gauge is usable all the same
	}
	return g
}

// RecordStuck records how many intents make no progress, and for how long the one that is overdue
// longest has made none; 0 if none is overdue.
func RecordStuck(ctx context.Context, count int, longest time.Duration) {
	stuck.Record(ctx, float64(count))
	overdue.Record(ctx, longest.Seconds())
}
