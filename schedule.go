package writ

import (
	"context"
	"errors"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"writ/intent"
	"writ/tools"
	"writ/workflows"
)

// Schedule is a request that is made again and again, at the times of Every and of Cron.
type Schedule struct {
	// Name is the schedule's, unique in the tenant: in the grammar of names, without a slash,
	// at most 200 bytes. Required.
	Name string
	// Request is what is asked for each time. It has no request key, because each nominal time
	// has its own, made of name and time: what is done for one time is done once, also by a
	// backfill. Its payload has at most 64 KiB.
	Request Request
	// Every is how often, counted from the Unix epoch, and Offset how long after that; whole
	// seconds.
	Every, Offset time.Duration
	// Cron are cron expressions of five to seven fields, or @hourly and its like.
	Cron []string
	// TimeZone is the one of Cron, as in the IANA's database. Default: UTC.
	TimeZone string
	// CatchUp is how long after its time a request that was missed, because Temporal was away,
	// is still made. Default: a year; at least 10 s.
	CatchUp time.Duration
	// Paused: it starts paused. Note says why, or what it is for.
	Paused bool
	Note   string
}

// ScheduleSummary is a schedule as a list shows it.
type ScheduleSummary struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	Tool   string `json:"tool"`
	Paused bool   `json:"paused"`
	Note   string `json:"note,omitempty"`
	// Next are the next nominal times, UTC, at most ten; none while it is paused, as far as
	// Temporal says.
	Next []time.Time `json:"next"`
}

// CreateSchedule makes Temporal ask for the request at each time of the schedule. The error has
// code invalid_schedule, schedule_exists, or one of those of a request that cannot be made.
//
// Temporal keeps schedules, and PostgreSQL does not know them: a Temporal that lost its store
// has to be given them again. A request whose row is committed by then is not lost.
func (c *Client) CreateSchedule(ctx context.Context, s Schedule) error {
	if err := s.check(); err != nil {
		return err
	}
	p, err := s.Request.prepare(true, min(c.maxPayload, intent.MaxInline))
	if err != nil {
		return err
	}
	tool, err := c.takes(ctx, p)
	if err != nil {
		return err
	}
	request := p.request
	request.RequestKey = ""
	labels := request.Labels()
	_, err = c.temporal.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   workflows.ScheduleID(labels.Tenant, s.Name),
		Spec: s.spec(),
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.ScheduleID(labels.Tenant, s.Name), Workflow: workflows.TypeScheduled, TaskQueue: tool.TaskQueue,
			WorkflowTaskTimeout: workflows.TaskTimeout, Args: []any{workflows.Scheduled{Schedule: s.Name, Request: request}},
			StaticSummary:         s.Name + ": " + labels.Tool + " for " + labels.Tenant,
			TypedSearchAttributes: workflows.ScheduleAttributes(labels),
		},
		// A start for one time never waits for that of another.
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL, CatchupWindow: s.CatchUp, Paused: s.Paused, Note: s.Note,
		TypedSearchAttributes: workflows.ScheduleAttributes(labels),
	})
	return scheduleError(err, labels.Tenant, s.Name)
}

// takes returns the tool of the request, whose input schema takes the payload.
func (c *Client) takes(ctx context.Context, p prepared) (Tool, error) {
	tool, err := c.Tool(ctx, p.request.Tool)
	if err != nil {
		return Tool{}, err
	}
	schema, err := tools.CompileSchema(tool.Behaviour.InputSchema)
	if err != nil {
		return Tool{}, err
	}
	if p.payload.FromText && !schema.WantsObject() {
		return Tool{}, p.payload.NotObject()
	}
	if err := schema.Validate(p.payload.Canonical); err != nil {
		return Tool{}, intent.Errorf(intent.CodeInputSchema, "%s does not take this payload: %w", tool.Name, err)
	}
	return tool, nil
}

func (s Schedule) check() error {
	if err := checkScheduleName(s.Name); err != nil {
		return err
	}
	switch {
	case s.Every == 0 && len(s.Cron) == 0:
		return intent.Errorf(intent.CodeInvalidSchedule, "the schedule %s has no times; give it an interval or a cron expression", s.Name)
	case s.Every < 0 || s.Every%time.Second != 0:
		return intent.Errorf(intent.CodeInvalidSchedule, "the interval %s is not a number of whole seconds", s.Every)
	case s.Offset < 0 || s.Offset%time.Second != 0 || s.Offset != 0 && s.Offset >= s.Every:
		return intent.Errorf(intent.CodeInvalidSchedule, "the offset %s is not a number of whole seconds below the interval", s.Offset)
	case s.CatchUp != 0 && s.CatchUp < minCatchUp:
		return intent.Errorf(intent.CodeInvalidSchedule, "CatchUp is %s; choose at least %s, or 0 for the default", s.CatchUp, minCatchUp)
	case s.Request.RequestKey != "":
		return intent.Errorf(intent.CodeInvalidSchedule, "the request of a schedule has a request key of its own for each time; leave %.40q out", s.Request.RequestKey)
	}
	return checkNote(s.Note)
}

// minCatchUp is the shortest window that Temporal knows.
const minCatchUp = 10 * time.Second

func checkScheduleName(name string) error {
	if strings.Contains(name, "/") || len(name) > intent.MaxScheduleName {
		return intent.Errorf(intent.CodeInvalidSchedule, "the name of a schedule has no slash and at most %d bytes", intent.MaxScheduleName)
	}
	return intent.CheckName("schedule", name)
}

func (s Schedule) spec() client.ScheduleSpec {
	spec := client.ScheduleSpec{CronExpressions: s.Cron, TimeZoneName: s.TimeZone}
	if s.Every > 0 {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: s.Every, Offset: s.Offset}}
	}
	return spec
}

// Schedules lists the schedules of all tenants, as Temporal's visibility has them.
func (c *Client) Schedules(ctx context.Context) ([]ScheduleSummary, error) {
	pages, err := c.temporal.ScheduleClient().List(ctx, client.ScheduleListOptions{})
	if err != nil {
		return nil, temporalStartError(err)
	}
	list := []ScheduleSummary{}
	for pages.HasNext() {
		entry, err := pages.Next()
		if err != nil {
			return nil, temporalStartError(err)
		}
		tenant, name, ok := workflows.ScheduleOf(entry.ID)
		if !ok {
			continue
		}
		v := ScheduleSummary{
			Name: name, Tenant: tenant, Tool: workflows.ScheduledTool(entry.SearchAttributes), Paused: entry.Paused, Note: entry.Note, Next: []time.Time{},
		}
		for _, at := range entry.NextActionTimes {
			v.Next = append(v.Next, at.UTC())
		}
		list = append(list, v)
	}
	return list, nil
}

// PauseSchedule stops a schedule from asking; what it would have asked for meanwhile is not made
// up for. The errors of this and the following methods have code schedule_not_found.
func (c *Client) PauseSchedule(ctx context.Context, tenant, name, note string) error {
	return c.withSchedule(ctx, tenant, name, note, func(h client.ScheduleHandle) error {
		return h.Pause(ctx, client.SchedulePauseOptions{Note: note})
	})
}

// ResumeSchedule lets a schedule that was paused go on with its next time.
func (c *Client) ResumeSchedule(ctx context.Context, tenant, name, note string) error {
	return c.withSchedule(ctx, tenant, name, note, func(h client.ScheduleHandle) error {
		return h.Unpause(ctx, client.ScheduleUnpauseOptions{Note: note})
	})
}

// TriggerSchedule asks for the request now; its nominal time is this second.
func (c *Client) TriggerSchedule(ctx context.Context, tenant, name string) error {
	return c.withSchedule(ctx, tenant, name, "", func(h client.ScheduleHandle) error {
		return h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL})
	})
}

// BackfillSchedule asks for the requests of all nominal times from one moment to another, at
// once. What was done for one of them is not done again. The error is invalid_schedule for a time
// that has not passed, or lies before 1970.
func (c *Client) BackfillSchedule(ctx context.Context, tenant, name string, from, to time.Time) error {
	if err := checkBackfill(from, to, time.Now()); err != nil {
		return err
	}
	return c.withSchedule(ctx, tenant, name, "", func(h client.ScheduleHandle) error {
		return h.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{
			{Start: from, End: to, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL},
		}})
	})
}

// checkBackfill refuses what Temporal takes without a word and does nothing for.
func checkBackfill(from, to, now time.Time) error {
	const clocksDiffer = time.Minute
	switch {
	case !from.Before(to):
		return intent.Errorf(intent.CodeInvalidSchedule, "a backfill from %s to %s has no time in it", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	case to.After(now.Add(clocksDiffer)):
		return intent.Errorf(intent.CodeInvalidSchedule, "a backfill is of times that have passed, and %s has not; end it earlier", to.UTC().Format(time.RFC3339))
	case from.Before(time.Unix(0, 0)):
		return intent.Errorf(intent.CodeInvalidSchedule, "a schedule has no times before 1970, and the backfill begins at %s; begin it later", from.UTC().Format(time.RFC3339))
	}
	return nil
}

// DeleteSchedule ends a schedule. The intents that it asked for are not touched.
func (c *Client) DeleteSchedule(ctx context.Context, tenant, name string) error {
	return c.withSchedule(ctx, tenant, name, "", func(h client.ScheduleHandle) error { return h.Delete(ctx) })
}

func (c *Client) withSchedule(ctx context.Context, tenant, name, note string, do func(client.ScheduleHandle) error) error {
	if err := intent.CheckName("tenant", tenant); err != nil {
		return err
	}
	if err := checkScheduleName(name); err != nil {
		return err
	}
	if err := checkNote(note); err != nil {
		return err
	}
	return scheduleError(do(c.temporal.ScheduleClient().GetHandle(ctx, workflows.ScheduleID(tenant, name))), tenant, name)
}

func scheduleError(err error, tenant, name string) error {
	var absent *serviceerror.NotFound
	var invalid *serviceerror.InvalidArgument
	switch {
	case err == nil:
		return nil
	case errors.Is(err, temporal.ErrScheduleAlreadyRunning):
		return intent.Errorf(intent.CodeScheduleExists, "tenant %s has a schedule %s; delete it first or choose another name", tenant, name)
	case errors.As(err, &absent):
		return intent.Errorf(intent.CodeScheduleNotFound, "tenant %s has no schedule %s; `writ schedule list` shows all", tenant, name)
	case errors.As(err, &invalid):
		return intent.Errorf(intent.CodeInvalidSchedule, "Temporal does not take the schedule: %w", err)
	}
	return temporalStartError(err)
}
