package integration

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"

	"writ"
	"writ/tools"
)

// config connects the library to the world.
func (w *world) config() writ.Config {
	return writ.Config{
		DatabaseURL: w.database,
		Temporal:    client.Options{HostPort: w.stack.TemporalAddress, Namespace: w.stack.TemporalNamespace},
		Logger:      slog.New(slog.DiscardHandler),
	}
}

// dial returns a client of the library.
func (w *world) dial(t testing.TB) *writ.Client {
	t.Helper()
	c, err := writ.Dial(t.Context(), w.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// host runs a worker with the test's own tools in this process and returns when it polls.
// The worker stops when the test ends, or before that with what is returned.
func (w *world) host(t testing.TB, list ...tools.Tool) (stop func()) {
	t.Helper()
	return w.hostWith(t, writ.WorkerConfig{}, list...)
}

// hostWith is host with what else the worker's configuration says.
func (w *world) hostWith(t testing.TB, cfg writ.WorkerConfig, list ...tools.Tool) (stop func()) {
	t.Helper()
	cfg.Config, cfg.TaskQueue = w.config(), w.name
	worker, err := writ.NewWorker(t.Context(), cfg, list...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended: %v", err)
		}
	})
	t.Cleanup(stop)
	select {
	case <-worker.Ready():
	case err := <-ended:
		ended <- err
		t.Fatalf("the worker did not start: %v", err)
	}
	return stop
}
