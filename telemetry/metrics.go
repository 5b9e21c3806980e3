package telemetry

import (
	"context"
	"time"

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

// gauge records a value, as count counts.
func gauge(ctx context.Context, name, unit, what string, value float64) {
	g, err := otel.Meter("writ").Float64Gauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	if err != nil {
		otel.Handle(err) // the gauge is usable all the same
	}
	g.Record(ctx, value)
}

// RecordStuck records how many intents make no progress, and for how long the one that is overdue
// longest has made none; 0 if none is overdue. All processes that look see the same, so their values
// are not to be added up.
func RecordStuck(ctx context.Context, count int, longest time.Duration) {
	gauge(ctx, "writ.intents.stuck", "{intent}", "intents that have made no progress for five minutes or longer past their due time", float64(count))
	gauge(ctx, "writ.intents.overdue.longest", "s", "for how long the intent that is overdue longest has made no progress", longest.Seconds())
}

// RecordBacklog records how many enqueued requests could be intents and are none, for how long the
// first of them has waited, 0 if none does, and how many are parked. All processes that look see the
// same, so their values are not to be added up.
func RecordBacklog(ctx context.Context, due int, waited time.Duration, parked int) {
	gauge(ctx, "writ.enqueued.due", "{request}", "enqueued requests that are due and not yet intents", float64(due))
	gauge(ctx, "writ.enqueued.due.longest", "s", "for how long the enqueued request that has been due longest has waited", waited.Seconds())
	gauge(ctx, "writ.enqueued.parked", "{request}", "enqueued requests that wait for a person", float64(parked))
}
