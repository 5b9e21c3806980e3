package integration

import (
	"context"
	"fmt"
	"testing"

	"go.temporal.io/api/enums/v1"

	"writ/activities"
	"writ/internal/killpoint"
)

// A step that only uses the database is an activity of its own once it took too long for its
// workflow task, as in an outage. Nothing but its heartbeat tells soon that its worker is gone.
func TestADatabaseStepThatTakesLongIsTakenFromAKilledWorkerAtItsHeartbeat(t *testing.T) {
	t.Parallel()
	for point, step := range map[killpoint.Point]string{
		killpoint.BeforePersist: activities.NamePersist,
		killpoint.BeforeJournal: activities.NameJournal,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			doomed := w.startWorker(t, newAmbush(t, point).environment()...)
			caller := w.ask(t, capture, requestKey)
			eventually(t, step+" has begun as an activity of its own", func(ctx context.Context) error {
				described, err := w.stack.temporal(t).DescribeWorkflowExecution(ctx, w.workflowID(), "")
				if err != nil {
					return err
				}
				for _, a := range described.PendingActivities {
					if a.ActivityType.Name == step && a.State == enums.PENDING_ACTIVITY_STATE_STARTED {
						return nil
					}
				}
				return fmt.Errorf("pending are %v", described.PendingActivities)
			})
			doomed.kill()
			w.startWorker(t)
			caller.outcome(t).completed(t)
			w.provider.effects(t, 1)
			for _, event := range w.history(t).Events {
				failure := event.GetActivityTaskStartedEventAttributes().GetLastFailure()
				if failure.GetTimeoutFailureInfo().GetTimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT {
					return
				}
			}
			t.Errorf("no activity was taken from the killed worker at its heartbeat: %v", w.history(t).Events)
		})
	}
}
