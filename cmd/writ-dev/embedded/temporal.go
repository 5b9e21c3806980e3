package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/temporal"
	"google.golang.org/protobuf/types/known/durationpb"

	"writ/internal/loopback"
)

const (
	// pollInterval is the time between two looks at something that is not ready yet.
	pollInterval = 50 * time.Millisecond
	// retention is how long Temporal shows a closed workflow.
	retention = 90 * 24 * time.Hour
)

// TemporalOptions say how the server runs.
type TemporalOptions struct {
	Store     Store
	Port      int       // of the frontend, on 127.0.0.1
	Namespace string    // is registered unless it exists
	Log       io.Writer // receives the server's log as JSON lines
	LogLevel  string    // debug, info, warn or error; empty means warn
}

// Temporal is a running server.
type Temporal struct {
	server  temporal.Server
	address string
}

// StartTemporal starts the server and returns when its namespace can be used.
// The error is a [*loopback.PortError] when the port is taken. After an error
// nothing runs.
func StartTemporal(ctx context.Context, options TemporalOptions) (*Temporal, error) {
	if err := loopback.Claim(options.Port); err != nil {
		return nil, err
	}
	logger, err := newLogger(options.Log, options.LogLevel)
	if err != nil {
		return nil, err
	}
	if err := options.Store.prepare(logger); err != nil {
		return nil, err
	}
	configuration, hosts, err := configure(options.Store, options.Port)
	if err != nil {
		return nil, err
	}
	defer maskTelemetry()()
	server, err := temporal.NewServer(
		temporal.WithConfig(configuration),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithDynamicConfigClient(tuning()),
	)
	if err != nil {
		return nil, fmt.Errorf("set up Temporal: %w", err)
	}
	started := &Temporal{server: server, address: loopback.Address(options.Port)}
	if err := server.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start Temporal: %w", err), server.Stop())
	}
	if err := started.awaitNamespace(ctx, options.Namespace); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for Temporal: %w", err), server.Stop())
	}
	return started, nil
}

// Address returns the frontend's host and port.
func (t *Temporal) Address() string { return t.address }

// Stop ends the server.
func (t *Temporal) Stop() error { return t.server.Stop() }

// maskTelemetry keeps the server from the standard telemetry variables until
// it has started, and returns what puts them back. They are meant for Writ;
// the server would refuse to start with an exporter or a protocol that it does
// not know, and it offers no other way to tell it.
func maskTelemetry() (restore func()) {
	const variable = "OTEL_TRACES_EXPORTER"
	value, was := os.LookupEnv(variable)
	if !was {
		return func() {}
	}
	_ = os.Unsetenv(variable)
	return func() { _ = os.Setenv(variable, value) }
}

// awaitNamespace registers the namespace as soon as the server answers, and
// returns when workflows can be looked up in it: then the frontend, a shard of
// history and the visibility store work.
func (t *Temporal) awaitNamespace(ctx context.Context, namespace string) error {
	var last error
	for {
		if last = t.tryNamespace(ctx, namespace); last == nil {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		}
	}
}

func (t *Temporal) tryNamespace(ctx context.Context, namespace string) error {
	connection, err := client.DialContext(ctx, client.Options{
		HostPort:  t.address,
		Namespace: namespace,
		Logger:    sdklog.NewStructuredLogger(quiet),
	})
	if err != nil {
		return err
	}
	defer connection.Close()
	service := connection.WorkflowService()
	_, err = service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        namespace,
		WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	_, err = connection.DescribeWorkflowExecution(ctx, "readiness", "")
	var notFound *serviceerror.NotFound
	if err != nil && !errors.As(err, &notFound) {
		return err
	}
	_, err = service.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace})
	return err
}
