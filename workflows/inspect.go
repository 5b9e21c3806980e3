package workflows

import (
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Inspector reads what the workflows of this package rest on. It judges nothing and changes
// nothing. Its errors are Temporal's own.
type Inspector struct {
	client    client.Client
	namespace string
}

// NewInspector returns an inspector of the namespace.
func NewInspector(c client.Client, namespace string) *Inspector {
	return &Inspector{client: c, namespace: namespace}
}

// ServerVersion returns the version of Temporal, as "1.32.1".
func (i *Inspector) ServerVersion(ctx context.Context) (string, error) {
	info, err := i.client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return "", fmt.Errorf("ask Temporal what it is: %w", err)
	}
	return info.GetServerVersion(), nil
}

// Namespace is what Temporal says of a namespace.
type Namespace struct {
	// Usable: it is registered, and neither deprecated nor deleted.
	Usable bool
	// Retention is for how long Temporal shows a workflow that ended.
	Retention time.Duration
	// Updates says that it takes the update that an acceptance waits for.
	Updates bool
}

// Namespace describes the namespace.
func (i *Inspector) Namespace(ctx context.Context) (Namespace, error) {
	described, err := i.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: i.namespace})
	if err != nil {
		return Namespace{}, fmt.Errorf("describe the namespace: %w", err)
	}
	info := described.GetNamespaceInfo()
	return Namespace{
		Usable:    info.GetState() == enumspb.NAMESPACE_STATE_REGISTERED,
		Retention: described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(),
		Updates:   info.GetCapabilities().GetSyncUpdate(),
	}, nil
}

// SearchAttributes returns Writ's search attributes that the namespace does not know, and
// those that it knows as something else than a keyword.
func (i *Inspector) SearchAttributes(ctx context.Context) (missing, mistyped []string, err error) {
	known, err := i.client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: i.namespace})
	if err != nil {
		return nil, nil, fmt.Errorf("list search attributes: %w", err)
	}
	for _, key := range searchAttributes {
		switch kind, ok := known.GetCustomAttributes()[key.GetName()]; {
		case !ok:
			missing = append(missing, key.GetName())
		case kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD:
			mistyped = append(mistyped, key.GetName())
		}
	}
	return missing, mistyped, nil
}

// Polled is who took work from a task queue of late.
type Polled struct {
	// Workers names those that asked for workflow tasks as well as for activities.
	Workers []string
	// Last is when one of them asked last, by Temporal's clock. A worker that finds no work
	// asks again every minute.
	Last time.Time
}

// Polled returns the workers that Temporal has seen at the task queue in the last minutes.
// It remembers them for about five.
func (i *Inspector) Polled(ctx context.Context, queue string) (Polled, error) {
	seen := map[enumspb.TaskQueueType]map[string]time.Time{}
	for _, kind := range []enumspb.TaskQueueType{enumspb.TASK_QUEUE_TYPE_WORKFLOW, enumspb.TASK_QUEUE_TYPE_ACTIVITY} {
		described, err := i.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: i.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind,
		})
		if err != nil {
			return Polled{}, fmt.Errorf("describe task queue %s: %w", queue, err)
		}
		seen[kind] = map[string]time.Time{}
		for _, poller := range described.GetPollers() {
			seen[kind][poller.GetIdentity()] = poller.GetLastAccessTime().AsTime()
		}
	}
	var p Polled
	for worker, last := range seen[enumspb.TASK_QUEUE_TYPE_WORKFLOW] {
		if _, both := seen[enumspb.TASK_QUEUE_TYPE_ACTIVITY][worker]; !both {
			continue
		}
		p.Workers = append(p.Workers, worker)
		if last.After(p.Last) {
			p.Last = last
		}
	}
	slices.Sort(p.Workers)
	return p, nil
}
