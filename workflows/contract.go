package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

const (
	// Type is the workflow type of an intent.
	Type = "tool.execute"
	// QueryStatus asks a running workflow for its activities.Progress.
	QueryStatus = "status"
	// UpdateAccepted answers when the intent is committed, or rejected, with an Accepted.
	UpdateAccepted = "accepted"
	// SignalWake asks a running workflow to read its row again: somebody decided, a hold was
	// lifted, or late evidence came. It carries nothing, because the row has everything.
	SignalWake = "wake"
)

// How soon a lost worker is noticed by the workflow that it was working on.
const (
	// TaskTimeout is the workflow task timeout.
	TaskTimeout = 3 * time.Second
	// StickyTimeout is how long a workflow task waits for the worker that has the workflow
	// in its cache.
	StickyTimeout = time.Second
)

// Result is the workflow's result: a reference, never a caller's data.
type Result struct {
	IntentID intent.ID `json:"intent_id"`
	// State is where the intent ended or was parked; empty if the request was rejected.
	State     intent.State          `json:"state,omitempty"`
	Rejection *activities.Rejection `json:"rejection,omitempty"`
	// DecidedAgain is the generation whose refusal was decided on again for the run's request; 0:
	// none. Whoever joined a run that did not has to ask again.
	DecidedAgain int `json:"decided_again,omitempty"`
}

// Accepted is the answer of UpdateAccepted, with the members of Result.
type Accepted struct {
	State        intent.State          `json:"state,omitempty"`
	Rejection    *activities.Rejection `json:"rejection,omitempty"`
	DecidedAgain int                   `json:"decided_again,omitempty"`
}

// ID returns the workflow id of an intent.
func ID(id intent.ID) string { return Type + "/" + id.String() }

// The search attributes by which intents are found in the Temporal UI, all keywords.
var (
	attributeTool       = temporal.NewSearchAttributeKeyKeyword("WritTool")
	attributeTenant     = temporal.NewSearchAttributeKeyKeyword("WritTenant")
	attributeState      = temporal.NewSearchAttributeKeyKeyword("WritState")
	attributeRequestKey = temporal.NewSearchAttributeKeyKeyword("WritRequestKey")

	searchAttributes = []temporal.SearchAttributeKeyKeyword{attributeTool, attributeTenant, attributeState, attributeRequestKey}
)

// stateSubmitted is the WritState of a workflow that has not taken its first step.
const stateSubmitted = "submitted"

// StartOptions are the options under which every door starts, or joins, the workflow of
// an intent: one run at a time, and a new one whenever there is a reason, because a run
// reads the row first and repeats nothing.
func StartOptions(id intent.ID, taskQueue string, labels activities.Labels) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       ID(id),
		TaskQueue:                taskQueue,
		WorkflowTaskTimeout:      TaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            fmt.Sprintf("%s for %s, request key %s", labels.Tool, labels.Tenant, labels.RequestKey),
		TypedSearchAttributes:    temporal.NewSearchAttributes(attributes(labels, stateSubmitted)...),
	}
}

// Wake tells the workflow of a row that there is something new on it, or starts it if none
// runs. The row has been committed by then; if this fails, recovery does it again.
func Wake(ctx context.Context, c client.Client, row outbox.Row) error {
	labels := activities.Labels{Tool: row.Tool, Tenant: row.Tenant, RequestKey: row.RequestKey}
	return WakeID(ctx, c, row.ID, row.TaskQueue, labels, row.Traceparent)
}

// WakeID is Wake for a row of which only these are known.
func WakeID(ctx context.Context, c client.Client, id intent.ID, taskQueue string, labels activities.Labels, traceparent string) error {
	in := activities.Input{IntentID: id, Traceparent: traceparent}
	_, err := c.SignalWithStartWorkflow(ctx, ID(id), SignalWake, nil, StartOptions(id, taskQueue, labels), Type, in)
	return err
}

func attributes(l activities.Labels, state string) []temporal.SearchAttributeUpdate {
	return []temporal.SearchAttributeUpdate{
		attributeTool.ValueSet(l.Tool),
		attributeTenant.ValueSet(l.Tenant),
		attributeRequestKey.ValueSet(string(l.RequestKey)),
		attributeState.ValueSet(state),
	}
}

// RegisterSearchAttributes makes the search attributes known to the namespace, unless they
// are. It must have returned before a worker polls: a workflow task that uses an unknown
// attribute fails. It is called again whenever the namespace may be another one, because
// Temporal's store was replaced: then no workflow can be started that has them.
func RegisterSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	_, err := RestoreSearchAttributes(ctx, c, namespace)
	return err
}

// RestoreSearchAttributes is RegisterSearchAttributes for who wants to know whether some were
// missing.
func RestoreSearchAttributes(ctx context.Context, c client.Client, namespace string) (missed bool, err error) {
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return false, fmt.Errorf("list search attributes: %w", err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, key := range searchAttributes {
		if _, ok := known.GetCustomAttributes()[key.GetName()]; !ok {
			missing[key.GetName()] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	// Another worker that starts at the same moment may have been first.
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return true, fmt.Errorf("register search attributes: %w", err)
	}
	return true, nil
}
