package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"

	"writ"
	"writ/policy"
	"writ/tools/sample"
)

// startWorker starts a worker that hosts the sample tools and waits until it
// polls for work.
func (s *Stack) startWorker(ctx context.Context) error {
	provider := cmp.Or(s.addresses.ProviderURL, s.options.ProviderURL)
	if provider == "" {
		return &Error{
			code: CodeProviderMissing,
			message: "the worker's sample tools call a provider: set WRIT_PROVIDER_URL to one that runs, " +
				"leave --no-provider out, or add --no-worker",
		}
	}
	tools, err := sample.Tools(sample.Config{ProviderURL: provider})
	if err != nil {
		return fmt.Errorf("make the sample tools: %w", err)
	}
	worker, err := writ.NewWorker(ctx, writ.WorkerConfig{
		Config: writ.Config{
			DatabaseURL: s.addresses.DatabaseURL,
			Temporal:    client.Options{HostPort: s.addresses.TemporalAddress, Namespace: Namespace},
			Logger:      s.options.Logger,
		},
		TaskQueue: s.options.TaskQueue,
		Gates:     policy.Gates{Development: true},
	}, tools...)
	if err != nil {
		return fmt.Errorf("set up the worker: %w", err)
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := worker.Run(running)
		if running.Err() == nil {
			s.fail(fmt.Errorf("the worker ended by itself: %w", err))
		}
		ended <- err
	}()
	end := func(ctx context.Context) error {
		stop()
		return within(ctx, func() error { return <-ended })
	}
	select {
	case <-worker.Ready():
		s.started("the worker", end)
		s.addresses.Worker = true
		s.addresses.ProviderURL = provider
		return nil
	case err := <-ended:
		stop()
		return fmt.Errorf("start the worker: %w", err)
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), end(context.WithoutCancel(ctx)))
	}
}
