package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
)

// TypeScheduled is the workflow type that a Temporal Schedule starts at each of its times.
const TypeScheduled = "tool.schedule"

// Scheduled is the input of a tool.schedule workflow, in JSON.
type Scheduled struct {
	// Schedule is the schedule's name, unique in its tenant.
	Schedule string `json:"schedule"`
	// Request is what is asked for each time; its request key is derived from the time.
	Request activities.Request `json:"request"`
}

// Occurrence is the result of a tool.schedule workflow: the intent of one time.
type Occurrence struct {
	IntentID   intent.ID         `json:"intent_id"`
	RequestKey intent.RequestKey `json:"request_key"`
}

// ScheduleID returns the id under which Temporal keeps a tenant's schedule. The name of a
// schedule has no slash, so two pairs never have the same id.
func ScheduleID(tenant, name string) string { return scheduleIDs + tenant + "/" + name }

// ScheduleOf returns whose schedule the id is, and its name; ok is false for one that is not
// Writ's.
func ScheduleOf(id string) (tenant, name string, ok bool) {
	rest, ok := strings.CutPrefix(id, scheduleIDs)
	end := strings.LastIndexByte(rest, '/')
	if !ok || end < 0 {
		return "", "", false
	}
	return rest[:end], rest[end+1:], true
}

// scheduleIDs is how the ids of all schedules begin.
const scheduleIDs = TypeScheduled + "/"

// The attribute by which Temporal tells a workflow the nominal time that it was started for,
// which is the same however late, and however often, it is started for that time. See
// https://docs.temporal.io/schedule.
var attributeNominalTime = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

// codeNotScheduled is the type of the failure of a run that no schedule has started.
const codeNotScheduled = "not_scheduled"

// ScheduleAttributes are the search attributes of a schedule.
func ScheduleAttributes(l activities.Labels) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(attributeTool.ValueSet(l.Tool), attributeTenant.ValueSet(l.Tenant))
}

// ScheduledTool is the tool that they name; "" if it cannot be read.
func ScheduledTool(found *commonpb.SearchAttributes) (tool string) {
	_ = converter.GetDefaultDataConverter().FromPayload(found.GetIndexedFields()[attributeTool.GetName()], &tool)
	return tool
}

// ToolSchedule starts the intent of one time of a schedule and ends: the next time does not
// wait for it. The request key is made of the schedule and its nominal time, so a backfill, a
// trigger or a second start for the same time is the same intent, and PostgreSQL decides that
// it runs once.
func ToolSchedule(ctx workflow.Context, in Scheduled) (Occurrence, error) {
	nominal, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(attributeNominalTime)
	if !ok {
		return Occurrence{}, temporal.NewNonRetryableApplicationError(
			TypeScheduled+" is started by a schedule, which tells it the time; start "+Type+" instead", codeNotScheduled, nil)
	}
	request := in.Request
	request.RequestKey, request.Detached = intent.ScheduledRequestKey(in.Schedule, nominal), true
	tenant := request.Context.Tenant
	started := Occurrence{IntentID: intent.IntentID(tenant, request.RequestKey), RequestKey: request.RequestKey}
	labels := activities.Labels{Tool: request.Tool, Tenant: tenant, RequestKey: request.RequestKey}
	ctx = workflow.WithChildOptions(ctx, childOptions(started.IntentID, labels))
	child := workflow.ExecuteChildWorkflow(ctx, Type, activities.Input{IntentID: started.IntentID, Request: &request})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	var running *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &running) {
		err = nil // somebody asked for the same time before
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("started %s for %s", ID(started.IntentID), nominal.UTC().Format(time.RFC3339)))
	return started, err
}

// childOptions are StartOptions for the workflow of an intent that outlives its schedule's.
func childOptions(id intent.ID, labels activities.Labels) workflow.ChildWorkflowOptions {
	o := StartOptions(id, "", labels)
	return workflow.ChildWorkflowOptions{
		WorkflowID:            o.ID, // on the task queue of the schedule, which is the tool's
		WorkflowTaskTimeout:   o.WorkflowTaskTimeout,
		WorkflowIDReusePolicy: o.WorkflowIDReusePolicy,
		StaticSummary:         o.StaticSummary,
		TypedSearchAttributes: o.TypedSearchAttributes,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
	}
}
