package writ

import (
	"context"

	"go.temporal.io/sdk/client"

	"writ/doctor"
	"writ/intent"
	"writ/outbox"
)

// Doctor looks at everything that Writ stands on, from fsync to the workers on a task
// queue, and says of each how it is and how to mend it. It changes nothing. What it finds
// is in the report, also that PostgreSQL or Temporal is not reachable; the error is about
// the configuration, or has code interrupted if ctx ended first.
func Doctor(ctx context.Context, cfg Config) (doctor.Report, error) {
	cfg = cfg.withDefaults()
	conn, err := connect(cfg)
	if err != nil {
		return doctor.Report{}, err
	}
	defer conn.close()
	subject := doctor.Subject{
		Store: outbox.New(conn.pool), Temporal: conn.temporal,
		Address: cfg.Temporal.HostPort, Namespace: cfg.Temporal.Namespace,
	}
	if subject.Address == "" {
		subject.Address = client.DefaultHostPort
	}
	report := doctor.Examine(ctx, subject)
	if err := ctx.Err(); err != nil {
		return doctor.Report{}, intent.Errorf(intent.CodeInterrupted, "the examination was stopped before its end: %w", context.Cause(ctx))
	}
	return report, nil
}
