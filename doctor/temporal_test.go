package doctor_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// temporal answers what an examination asks. A real one, which cannot be made ill at will,
// is examined by the tests of real processes.
type temporal struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer

	namespace  string
	attributes map[string]enumspb.IndexedValueType
	// workers are who asks for workflow tasks and for activities, by task queue.
	workers map[string][]string
	// halfWorkers ask for workflow tasks only.
	halfWorkers map[string][]string
	// hangs names the calls that are never answered.
	hangs map[string]bool
}

func newTemporal() *temporal {
	keyword := enumspb.INDEXED_VALUE_TYPE_KEYWORD
	return &temporal{
		namespace:  "payments",
		attributes: map[string]enumspb.IndexedValueType{"WritTool": keyword, "WritTenant": keyword, "WritState": keyword, "WritRequestKey": keyword},
		workers:    map[string][]string{"q-1": {"1@a", "2@a"}},
	}
}

// serve starts the server and returns a client of it.
func (s *temporal) serve(t *testing.T) client.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, s)
	operatorservice.RegisterOperatorServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return dial(t, listener.Addr().String())
}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answer waits for ever where the call hangs.
func (s *temporal) answer(ctx context.Context, call string) error {
	if !s.hangs[call] {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *temporal) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{ServerVersion: "1.32.1"}, s.answer(ctx, "GetSystemInfo")
}

func (s *temporal) DescribeNamespace(ctx context.Context, r *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	if r.GetNamespace() != s.namespace {
		return nil, serviceerror.ToStatus(serviceerror.NewNamespaceNotFound(r.GetNamespace())).Err()
	}
	return &workflowservice.DescribeNamespaceResponse{
		NamespaceInfo: &namespacepb.NamespaceInfo{
			Name: s.namespace, State: enumspb.NAMESPACE_STATE_REGISTERED,
			Capabilities: &namespacepb.NamespaceInfo_Capabilities{SyncUpdate: true},
		},
		Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(72 * time.Hour)},
	}, s.answer(ctx, "DescribeNamespace")
}

func (s *temporal) ListSearchAttributes(ctx context.Context, _ *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: s.attributes}, s.answer(ctx, "ListSearchAttributes")
}

func (s *temporal) DescribeTaskQueue(ctx context.Context, r *workflowservice.DescribeTaskQueueRequest) (*workflowservice.DescribeTaskQueueResponse, error) {
	queue := r.GetTaskQueue().GetName()
	pollers := s.workers[queue]
	if r.GetTaskQueueType() == enumspb.TASK_QUEUE_TYPE_WORKFLOW {
		pollers = append(pollers, s.halfWorkers[queue]...)
	}
	answer := &workflowservice.DescribeTaskQueueResponse{}
	for _, identity := range pollers {
		answer.Pollers = append(answer.Pollers, &taskqueuepb.PollerInfo{Identity: identity, LastAccessTime: timestamppb.Now()})
	}
	return answer, s.answer(ctx, "DescribeTaskQueue")
}
