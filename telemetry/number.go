package telemetry

import (
	"os"
	"strconv"

	"writ/intent"
)

// The most that a number of the environment may say: of milliseconds a day, and of spans that are
// buffered a million, for which the SDK takes memory at once.
const (
	mostMilliseconds = 24 * 60 * 60 * 1000
	mostSpans        = 1_000_000
)

// bounded is a variable whose value is a whole number from 1 to most.
type bounded struct {
	variable string
	most     int
}

// numbers are those that make the exporters of the signal.
func (s signal) numbers() []bounded {
	list := []bounded{{"OTEL_EXPORTER_OTLP_TIMEOUT", mostMilliseconds}, {s.variable("TIMEOUT"), mostMilliseconds}}
	switch s {
	case traces:
		list = append(list, bounded{"OTEL_BSP_SCHEDULE_DELAY", mostMilliseconds}, bounded{"OTEL_BSP_EXPORT_TIMEOUT", mostMilliseconds},
			bounded{"OTEL_BSP_MAX_QUEUE_SIZE", mostSpans}, bounded{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", mostSpans})
	case metrics:
		list = append(list, bounded{"OTEL_METRIC_EXPORT_INTERVAL", mostMilliseconds}, bounded{"OTEL_METRIC_EXPORT_TIMEOUT", mostMilliseconds})
	}
	return list
}

// checkNumbers refuses what is no such number. The SDK passes over some of them with a line in a
// log of its own, and panics over a buffer of a negative size.
func (s signal) checkNumbers() error {
	for _, b := range s.numbers() {
		value := os.Getenv(b.variable)
		if value == "" {
			continue
		}
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > b.most {
			return intent.Errorf(intent.CodeInvalidConfig, "%s is %.40q; choose a whole number from 1 to %d", b.variable, value, b.most)
		}
	}
	return nil
}
