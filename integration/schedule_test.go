package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
)

// scheduled creates an hourly schedule that is paused, so that it asks only when it is told to.
func (w *world) scheduled(t testing.TB, a action, name string) {
	t.Helper()
	w.writ(t, "schedule", "create", name, a.tool, "--tenant", w.name, "--every", "1h", "--paused", "--payload", a.payload, "--note", "closing of the day").succeeds(t)
	t.Cleanup(func() { w.writ(t, "schedule", "delete", name, "--tenant", w.name).status(t) })
}

func TestABackfillOfAScheduleRunsEachOfItsTimesOnceHoweverOftenItIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.scheduled(t, capture, "closing")
	from := time.Date(2025, 3, 1, 0, 30, 0, 0, time.UTC)
	backfill := func(hours int) {
		t.Helper()
		w.writ(t, "schedule", "backfill", "closing", "--tenant", w.name,
			"--from", from.Format(time.RFC3339), "--to", from.Add(time.Duration(hours)*time.Hour).Format(time.RFC3339)).succeeds(t)
		for hour := range hours {
			w.awaitState(t, fmt.Sprintf("schedule:closing:2025-03-01T%02d:00:00Z", hour+1), intent.Completed)
		}
	}
	backfill(3)
	w.provider.effects(t, 3)
	backfill(4) // the first three once more
	w.awaitOccurrences(t, 7)
	w.provider.effects(t, 4)
	w.provider.requests(t, 4)
}

// awaitOccurrences returns when so many workflows of the world's schedules have ended.
func (w *world) awaitOccurrences(t testing.TB, want int) {
	t.Helper()
	eventually(t, "every time was asked for", func(ctx context.Context) error {
		found, err := w.stack.temporal(t).CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = 'tool.schedule' AND WritTenant = '%s' AND ExecutionStatus = 'Completed'", w.name),
		})
		if err == nil && found.Count != int64(want) {
			err = fmt.Errorf("%d were", found.Count)
		}
		return err
	})
}

func TestATriggeredScheduleRunsNowAndShowsWhatItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.scheduled(t, capture, "closing")
	w.writ(t, "schedule", "trigger", "closing", "--tenant", w.name).succeeds(t)
	c := w.dial(t)
	eventually(t, "it has run", func(ctx context.Context) error {
		page, err := c.List(ctx, writ.ListFilter{Tenant: w.name})
		if err == nil && (len(page.Intents) != 1 || page.Intents[0].State != intent.Completed) {
			err = fmt.Errorf("the intents are %+v", page.Intents)
		}
		return err
	})
	w.provider.effects(t, 1)

	var mine writ.ScheduleSummary
	eventually(t, "it is listed", func(context.Context) error {
		p := w.writ(t, "schedule", "list")
		if p.status(t) != 0 {
			return fmt.Errorf("%s", p.transcript())
		}
		var list []writ.ScheduleSummary
		if err := json.Unmarshal(p.stdout.bytes(), &list); err != nil {
			return err
		}
		at := slices.IndexFunc(list, func(s writ.ScheduleSummary) bool { return s.Tenant == w.name })
		if at < 0 {
			return fmt.Errorf("the list is %+v", list)
		}
		mine = list[at]
		return nil
	})
	if mine.Name != "closing" || mine.Tool != capture.tool || !mine.Paused || mine.Note != "closing of the day" {
		t.Errorf("%+v", mine)
	}
}

func TestAScheduleIsSealedWherePayloadsAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings = []string{payloadKeys(oldKey)}
	w.startWorker(t)
	w.scheduled(t, capture, "closing")
	described, err := w.stack.temporal(t).WorkflowService().DescribeSchedule(t.Context(), &workflowservice.DescribeScheduleRequest{
		Namespace: client.DefaultNamespace, ScheduleId: "tool.schedule/" + w.name + "/closing",
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(described)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("pay_1")) {
		t.Error("the payload stands in the schedule")
	}
	w.writ(t, "schedule", "trigger", "closing", "--tenant", w.name).succeeds(t)
	w.provider.await(t, sandbox.StateAnswered, 1)
	w.provider.effects(t, 1)
}

func TestAScheduleThatCannotBeIsRefusedWithItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.scheduled(t, capture, "closing")
	create := []string{"schedule", "create", "--tenant", w.name, "--payload", capture.payload}
	for name, c := range map[string]struct {
		arguments []string
		code      intent.Code
		status    int
	}{
		"it exists":        {append(slices.Clone(create), "closing", capture.tool, "--every", "1h"), intent.CodeScheduleExists, 7},
		"no times":         {append(slices.Clone(create), "another", capture.tool), intent.CodeInvalidSchedule, 2},
		"a wrong cron":     {append(slices.Clone(create), "another", capture.tool, "--cron", "whenever"), intent.CodeInvalidSchedule, 2},
		"a slash":          {append(slices.Clone(create), "an/other", capture.tool, "--every", "1h"), intent.CodeInvalidSchedule, 2},
		"a part of second": {append(slices.Clone(create), "another", capture.tool, "--every", "1500ms"), intent.CodeInvalidSchedule, 2},
		"an unknown tool":  {append(slices.Clone(create), "another", "payments.imagine", "--every", "1h"), intent.CodeUnknownTool, 2},
		"a wrong payload": {[]string{"schedule", "create", "another", capture.tool, "--tenant", w.name, "--every", "1h", "--payload", `{"amount":1}`},
			intent.CodeInputSchema, 2},
		"no such schedule": {[]string{"schedule", "pause", "another", "--tenant", w.name}, intent.CodeScheduleNotFound, 2},
		"a backfill of no time": {[]string{"schedule", "backfill", "closing", "--tenant", w.name, "--from", "2026-03-02T00:00:00Z", "--to", "2026-03-01T00:00:00Z"},
			intent.CodeInvalidSchedule, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.writ(t, c.arguments...)
			status := p.status(t)
			var said struct{ Error struct{ Code intent.Code } }
			if err := json.Unmarshal(p.stdout.bytes(), &said); err != nil || status != c.status || said.Error.Code != c.code {
				t.Errorf("status %d, %+v, %v\n%s", status, said, err, p.transcript())
			}
		})
	}
	w.provider.effects(t, 0)
}
