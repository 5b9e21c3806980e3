package recovery

import (
	"context"
	"fmt"
	"time"

	"writ/outbox"
	"writ/telemetry"
	"writ/workflows"
)

// alarm says of an intent that it makes no progress, if it is time to say so.
func (s *Sweeper) alarm(st outbox.Stalled) {
	if !st.Alarm {
		return
	}
	s.log.Warn("an intent makes no progress although its workflow is started again and again",
		"intent_id", st.ID, "tool", st.Tool, "state", string(st.State), "since", st.Since.Format(time.RFC3339), "task_queue", st.TaskQueue,
		"tried", "its workflow is started, or told to read its row, at every due time; that goes on",
		"do", "run `writ doctor`, and look at workflow "+workflows.ID(st.ID)+" in Temporal and at the log of the workers of its task queue")
}

// Measure counts what makes no progress and what is enqueued, and hands it to the metrics. Every
// process that recovers does so, and all count the same.
func (s *Sweeper) Measure(ctx context.Context) error {
	stuck, err := s.store.Stuck(ctx, 1)
	if err != nil {
		return fmt.Errorf("count the intents that make no progress: %w", err)
	}
	telemetry.RecordStuck(ctx, stuck.Count, stuck.Longest)
	backlog, err := s.store.Backlog(ctx)
	if err != nil {
		return fmt.Errorf("count the enqueued requests that wait: %w", err)
	}
	telemetry.RecordBacklog(ctx, backlog.Due, backlog.Waited, backlog.Parked)
	return nil
}
