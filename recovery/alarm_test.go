package recovery_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"writ/recovery"
	"writ/workflows"
)

func TestAnIntentThatMakesNoProgressIsSaidOnceByWhoeverTakesIt(t *testing.T) {
	t.Parallel()
	store, pool := newOutbox(t)
	p := proposal("order-4711")
	if _, err := store.Insert(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for i, minutes := range []int{1, 3, 7, 8, 9} {
		_, err := pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
			AS $$ SELECT '2100-01-01'::timestamptz + interval '%d minutes' $$`, minutes))
		if err != nil {
			t.Fatal(err)
		}
		temporal := &temporalClient{} // every sweep is by another process
		if started, err := recovery.NewSweeper(store, temporal, logger).Sweep(t.Context()); err != nil || started != 1 {
			t.Fatalf("after %d minutes: %d, %v", minutes, started, err)
		}
		said := strings.Count(log.String(), "makes no progress")
		if want := min(i/2, 1); said != want {
			t.Errorf("after %d minutes it was said %d times, want %d", minutes, said, want)
		}
	}
	since := time.Date(2100, 1, 1, 0, 1, 0, 0, time.UTC)
	for _, part := range []string{p.ID().String(), p.Tool, "state=recorded", p.TaskQueue, workflows.ID(p.ID()), "writ doctor"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("it does not say %q: %s", part, &log)
		}
	}
	if stuck, err := store.Stuck(t.Context(), 1); err != nil || stuck.Count != 1 || !stuck.Oldest[0].Since.Equal(since) {
		t.Errorf("%+v, %v", stuck, err)
	}
}

// It installs the process's meter provider, so it does not run in parallel.
func TestWhatIsEnqueuedIsMeasured(t *testing.T) {
	b, _ := newBacklog(t)
	b.enqueueMany(t, 3)
	if _, err := b.pool.Exec(t.Context(), `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), error_code = 'unknown_tool', error = 'no such tool' WHERE request_key = 'order-2'`); err != nil {
		t.Fatal(err)
	}
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	if err := recovery.NewSweeper(b.store, &temporalClient{}, slog.New(slog.DiscardHandler)).Measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		got[m.Name] = m.Data.(metricdata.Gauge[float64]).DataPoints[0].Value
	}
	if got["writ.enqueued.due"] != 2 || got["writ.enqueued.parked"] != 1 || got["writ.enqueued.due.longest"] <= 0 || len(got) != 5 {
		t.Errorf("%v", got)
	}
}
